//! Exa: `POST /search`, key in `x-api-key`, results with `highlights` when they are asked for.

use serde_json::{Value, json};

use super::{Backend, carrying, listed};

pub(super) const ROW: Backend = Backend {
    name: "exa",
    also: &[],
    variable: "EXA_API_KEY",
    base: "https://api.exa.ai",
    most: 100,
    ask: |client, asked| {
        let request = client
            .post(format!("{}/search", asked.base))
            .header("x-api-key", asked.secret);
        carrying(
            request,
            &json!({
                "query": asked.query, "numResults": asked.limit, "type": "auto",
                "contents": {"highlights": true},
            }),
        )
    },
    read: |answer| listed(answer, "/results", words),
};

/// The highlights of a result, else its summary, else its text.
fn words(one: &Value) -> String {
    let highlights = one["highlights"].as_array().into_iter().flatten();
    let highlights: Vec<&str> = highlights.filter_map(Value::as_str).collect();
    if !highlights.is_empty() {
        return highlights.join(" … ");
    }
    let text = one["summary"].as_str().or(one["text"].as_str());
    text.unwrap_or_default().to_owned()
}
