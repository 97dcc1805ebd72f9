//! Tavily: `POST /search`, key as bearer, results with `content`.

use serde_json::json;

use super::{Backend, carrying, listed};

pub(super) const ROW: Backend = Backend {
    name: "tavily",
    also: &[],
    variable: "TAVILY_API_KEY",
    base: "https://api.tavily.com",
    most: 20,
    ask: |client, asked| {
        let request = client
            .post(format!("{}/search", asked.base))
            .bearer_auth(asked.secret);
        carrying(
            request,
            &json!({"query": asked.query, "max_results": asked.limit, "search_depth": "basic"}),
        )
    },
    read: |answer| {
        listed(answer, "/results", |one| {
            one["content"].as_str().unwrap_or_default().to_owned()
        })
    },
};
