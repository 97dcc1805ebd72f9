//! SearXNG: `GET /search?format=json` of a server of one's own.

use super::{Backend, listed};

pub(super) const ROW: Backend = Backend {
    name: "searxng",
    also: &["searx"],
    variable: "SEARXNG_URL",
    base: "",
    most: 100,
    ask: |client, asked| client.get(asked.url("/search", &[("q", asked.query), ("format", "json")])),
    read: |answer| {
        listed(answer, "/results", |one| {
            one["content"].as_str().unwrap_or_default().to_owned()
        })
    },
};
