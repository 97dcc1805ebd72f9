use super::*;

fn no_tls() -> Tls {
    crate::fetch::tests::plain_tls()
}

fn read(name: &str, fixture: &str) -> Vec<(String, String, String)> {
    let backend = BACKENDS.iter().find(|backend| backend.name == name).unwrap();
    let found = (backend.read)(&serde_json::from_str(fixture).unwrap());
    hits(found, 5)
        .into_iter()
        .map(|hit| (hit.title, hit.url, hit.description))
        .collect()
}

#[test]
fn every_services_answer_becomes_the_same_results() {
    for (name, fixture, description) in [
        (
            "brave",
            include_str!("../../fixtures/brave.json"),
            "At this point, we have completed a fairly comprehensive tour of async Rust & Tokio.",
        ),
        (
            "tavily",
            include_str!("../../fixtures/tavily.json"),
            "At this point, we have completed a tour of async Rust.",
        ),
        (
            "exa",
            include_str!("../../fixtures/exa.json"),
            "a tour of async Rust … how futures are polled",
        ),
        (
            "searxng",
            include_str!("../../fixtures/searxng.json"),
            "a tour of async Rust",
        ),
    ] {
        let found = read(name, fixture);
        assert_eq!(found.len(), 2, "{name}: only web pages are results");
        assert_eq!(found[0].0, "Async in depth | Tokio", "{name}");
        assert_eq!(found[0].1, "https://tokio.rs/tokio/tutorial/async", "{name}");
        assert_eq!(found[0].2, description, "{name}");
        assert_eq!(found[1].1, "https://rust-lang.github.io/async-book/", "{name}");
    }
}

#[test]
fn without_a_key_there_is_no_service_and_the_chosen_one_says_what_it_lacks() {
    let none = |_: &str| None;
    assert!(Search::choose("", none, no_tls()).unwrap().is_none());
    let error = Search::choose("brave-free", none, no_tls()).err().unwrap();
    assert!(error.contains("BRAVE_SEARCH_API_KEY is not set"), "{error}");
    let error = Search::choose("firecrawl", none, no_tls()).err().unwrap();
    assert!(error.contains("tavily, exa, searxng, brave"), "{error}");
    let keys = |name: &str| {
        ["BRAVE_SEARCH_API_KEY", "EXA_API_KEY"]
            .contains(&name)
            .then(|| "k".to_owned())
    };
    assert_eq!(Search::choose("", keys, no_tls()).unwrap().unwrap().name(), "exa");
    assert_eq!(
        Search::choose("brave", keys, no_tls()).unwrap().unwrap().name(),
        "brave"
    );
}

#[tokio::test]
async fn the_request_is_worded_as_the_service_wants_it() {
    let cases = [
        (
            "brave",
            "BRAVE_SEARCH_API_KEY",
            "get /res/v1/web/search?q=rust+async&count=3 ",
            "x-subscription-token: k1",
        ),
        (
            "tavily",
            "TAVILY_API_KEY",
            "post /search ",
            "authorization: bearer k1",
        ),
        ("exa", "EXA_API_KEY", "post /search ", "x-api-key: k1"),
    ];
    for (name, variable, line, header) in cases {
        let fixture = match name {
            "brave" => include_str!("../../fixtures/brave.json"),
            "tavily" => include_str!("../../fixtures/tavily.json"),
            _ => include_str!("../../fixtures/exa.json"),
        };
        let server = crate::fetch::tests::Server::json(fixture).await;
        let lookup = |asked: &str| (asked == variable).then(|| "k1".to_owned());
        let search = Search::choose("", lookup, no_tls())
            .unwrap()
            .unwrap()
            .at(&server.base());
        let found = search.search("rust async", 3).await.unwrap();
        assert_eq!(found[1].position, 2);
        let asked = server.requests().remove(0).to_ascii_lowercase();
        assert!(asked.starts_with(line), "{asked}");
        assert!(asked.contains(header), "{asked}");
    }
}

#[tokio::test]
async fn a_refused_key_is_named_by_its_variable_and_never_repeated() {
    let key = "tvly-dev-abcdefghijklmnopqrstuvwxyz012345";
    let server = crate::fetch::tests::Server::answering(&format!(
        "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n{{\"detail\":\"bad key {key}\"}}"
    ))
    .await;
    let search = Search::choose("tavily", |_| Some(key.to_owned()), no_tls())
        .unwrap()
        .unwrap();
    let error = search
        .at(&server.base())
        .search("x", 1)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("check TAVILY_API_KEY"), "{error}");
    assert!(!error.contains("ghijklmnop"), "{error}");
}
