//! Brave: `GET /res/v1/web/search`, key in `X-Subscription-Token`, results under `web`.

use super::{Backend, listed};

pub(super) const ROW: Backend = Backend {
    name: "brave",
    also: &["brave-free"],
    variable: "BRAVE_SEARCH_API_KEY",
    base: "https://api.search.brave.com",
    most: 20,
    ask: |client, asked| {
        client
            .get(asked.url(
                "/res/v1/web/search",
                &[("q", asked.query), ("count", &asked.limit.to_string())],
            ))
            .header("X-Subscription-Token", asked.secret)
            .header("Accept", "application/json")
    },
    read: |answer| {
        listed(answer, "/web/results", |one| {
            one["description"].as_str().unwrap_or_default().to_owned()
        })
    },
};
