//! The tools that look outside, in whole turns: what the model reads, what it costs, and what is refused.

use serde_json::{Value, json};
use talaria_runtime::Open;
use talaria_testkit::Pages;
use talaria_types::{Event, Op};

use crate::rig::{Rig, Talk};

/// Pages of this machine may be read.
pub(crate) const PRIVATE: &str = "security:\n  allow_private_urls: true\n";
/// Another model looks at pictures.
pub(crate) const EYES: &str = "auxiliary:\n  vision:\n    model: eyes\n";

/// Searches go to these pages.
pub(crate) fn searxng(rig: &Rig, pages: &Pages) {
    let line = format!("SEARXNG_URL={}\n", pages.url(""));
    std::fs::write(rig.home.path().join(".env"), line).unwrap();
}

/// Puts a picture into the working folder.
pub(crate) fn picture(rig: &Rig, name: &str) {
    std::fs::write(rig.home.work().join(name), b"\x89PNG\r\n\x1a\n and a few dots").unwrap();
}

fn asks(tool: &str, args: &Value) -> Value {
    json!([{"tool_calls": [{"name": tool, "args": args}]}, {"text": "done"}])
}

fn extracts(urls: &[String]) -> Value {
    asks("web_extract", &json!({ "urls": urls }))
}

/// What the tool gave, as the model reads it.
fn told(rig: &Rig) -> Value {
    let results = rig.server.main_requests()[1].texts("tool");
    serde_json::from_str(&results[0]).unwrap_or_else(|error| panic!("{error}: {results:?}"))
}

fn offers(rig: &Rig, tool: &str) -> bool {
    let requests = rig.server.main_requests();
    let tools = requests[0].body["tools"].as_array().unwrap();
    tools.iter().any(|offered| offered["function"]["name"] == tool)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_come_as_markdown_each_in_its_frame_and_a_missing_one_costs_the_others_nothing() {
    let html = b"<html><head><title>Tea</title></head><body><nav>menu</nav><main><h1>Tea</h1>\
        <p>Oolong is <b>half</b> oxidised.</p></main></body></html>";
    let pages = Pages::serve(&[("/tea", "text/html; charset=utf-8", html)]).unwrap();
    let rig = Rig::with_config(&extracts(&[pages.url("/tea"), pages.url("/gone")]), PRIVATE);
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("read").await;
    assert!(result.completed);
    let told = told(&rig);
    let [tea, gone] = told["results"].as_array().unwrap().as_slice() else {
        panic!("{told}")
    };
    assert_eq!(
        (&tea["url"], &tea["title"], &tea["error"]),
        (&json!(pages.url("/tea")), &json!("Tea"), &Value::Null)
    );
    let content = tea["content"].as_str().unwrap();
    assert!(
        content.starts_with(&format!("<untrusted source=\"{}\">\n[", pages.url("/tea"))),
        "{content}"
    );
    assert!(content.contains("Oolong is **half** oxidised.") && content.ends_with("\n</untrusted>"));
    assert!(gone["error"].as_str().unwrap().contains("404"), "{gone}");
    assert!(
        !result.usage_by_task.contains_key("web_extract"),
        "a short page needs no summary"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_page_comes_as_a_summary_that_is_charged_as_a_side_task() {
    let page = "All about tea. ".repeat(1_000);
    let pages = Pages::serve(&[("/long", "text/plain", page.as_bytes())]).unwrap();
    let scenario =
        json!({"steps": extracts(&[pages.url("/long")]), "tasks": {"side": {"text": "It is about tea."}}});
    let rig = Rig::with_scenario(&scenario, PRIVATE);
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("read").await;
    let told = told(&rig);
    let content = told["results"][0]["content"].as_str().unwrap();
    assert!(
        content.contains("[Summary of 15") && content.contains("It is about tea."),
        "{content}"
    );
    assert!(!content.contains("All about tea. All about"), "{content}");
    assert!(
        result.usage_by_task.contains_key("web_extract"),
        "{:?}",
        result.usage_by_task
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_summary_a_long_page_is_cut_and_says_so() {
    let page = "All about tea. ".repeat(4_000);
    let pages = Pages::serve(&[("/long", "text/plain", page.as_bytes())]).unwrap();
    let more = format!(
        "{PRIVATE}auxiliary:\n  web_extract:\n    enabled: false\nweb:\n  extract_char_limit: 3000\n"
    );
    let rig = Rig::with_config(&extracts(&[pages.url("/long")]), &more);
    Talk::open(&rig.engine(), Open::New).await.turn("read").await;
    let told = told(&rig);
    let content = told["results"][0]["content"].as_str().unwrap();
    assert!(content.len() < 4_000 && content.contains("60"), "{content}");
    assert_eq!(rig.server.requests().len(), rig.server.main_requests().len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_this_machine_is_not_asked_for_and_the_reason_is_said() {
    let pages = Pages::serve(&[("/secret", "text/plain", b"keys")]).unwrap();
    let metadata = "http://169.254.169.254/latest/meta-data/".to_owned();
    let rig = Rig::new(extracts(&[pages.url("/secret"), metadata]));
    Talk::open(&rig.engine(), Open::New).await.turn("read").await;
    let told = told(&rig);
    let error = |index: usize| told["results"][index]["error"].as_str().unwrap().to_owned();
    assert!(
        error(0).contains("127.0.0.1") && error(0).contains("security.allow_private_urls"),
        "{told}"
    );
    assert!(error(1).contains("169.254.169.254"), "{told}");
    assert_eq!(pages.asked(), [] as [String; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_the_wait_for_a_page_that_never_comes() {
    let pages = Pages::silent().unwrap();
    let rig = Rig::with_config(&extracts(&[pages.url("/never")]), PRIVATE);
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt {
        content: "read".into(),
    });
    talk.until(|event| matches!(event, Event::ToolStarted { .. }))
        .await;
    talk.handle.send(Op::Interrupt);
    let (_, result) = talk.rest().await;
    assert!(result.interrupted);
    assert_eq!(rig.server.main_requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_gives_places_and_frames_what_they_say() {
    let found = json!({"results": [
        {"title": "Tea", "url": "https://example.net/tea", "content": "All about oolong."},
        {"title": "Not the web", "url": "file:///etc/passwd", "content": "x"},
        {"title": "More tea", "url": "https://example.net/more", "content": "Even more."},
    ]});
    let pages = Pages::serve(&[("/search", "application/json", found.to_string().as_bytes())]).unwrap();
    let rig = Rig::new(asks("web_search", &json!({"query": "green tea", "limit": 2})));
    searxng(&rig, &pages);
    Talk::open(&rig.engine(), Open::New).await.turn("search").await;
    let told = told(&rig);
    let hits = told["data"]["web"].as_array().unwrap();
    assert_eq!((told["success"] == true, hits.len()), (true, 2));
    assert_eq!(
        (&hits[0]["title"], &hits[0]["url"], &hits[0]["position"]),
        (&json!("Tea"), &json!("https://example.net/tea"), &json!(1))
    );
    assert_eq!(hits[1]["url"], "https://example.net/more");
    let says = hits[0]["description"].as_str().unwrap();
    assert!(
        says.starts_with("<untrusted source=\"https://example.net/tea\">") && says.contains("oolong"),
        "{says}"
    );
    let asked = pages.asked();
    assert!(asked[0].starts_with("/search?q=green"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_fails_says_what_to_do_and_costs_no_turn() {
    let pages = Pages::serve(&[("/search", "text/html", b"<html>no json here</html>")]).unwrap();
    let rig = Rig::new(asks("web_search", &json!({"query": "tea"})));
    searxng(&rig, &pages);
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("search").await;
    let told = told(&rig);
    assert!(
        result.completed && told["error"].as_str().unwrap().contains("searxng"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_work_is_not_offered() {
    let rig = Rig::new(json!([{"text": "done"}]));
    Talk::open(&rig.engine(), Open::New).await.turn("go").await;
    assert!(offers(&rig, "web_extract") && !offers(&rig, "web_search") && !offers(&rig, "vision_analyze"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_picture_is_described_by_the_model_that_sees_and_charged_as_a_side_task() {
    let steps = asks(
        "vision_analyze",
        &json!({"image_url": "cat.png", "question": "which animal?"}),
    );
    let scenario = json!({"steps": steps, "tasks": {"side": {"text": "A cat on a mat."}}});
    let rig = Rig::with_scenario(&scenario, EYES);
    picture(&rig, "cat.png");
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("look").await;
    let told = told(&rig);
    let analysis = told["analysis"].as_str().unwrap();
    assert!(
        told["success"] == true && analysis.starts_with("<untrusted source=\"cat.png, as eyes sees it\">"),
        "{told}"
    );
    assert!(analysis.contains("A cat on a mat."));
    assert!(
        result.usage_by_task.contains_key("vision"),
        "{:?}",
        result.usage_by_task
    );
    let requests = rig.server.requests();
    let side = requests.iter().find(|request| request.model == "eyes").unwrap();
    assert!(side.says("which animal?") && side.says("data:image/png;base64,"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_picture_is_refused_whatever_it_is_called() {
    let steps = asks(
        "vision_analyze",
        &json!({"image_url": "fake.png", "question": "?"}),
    );
    let rig = Rig::with_config(&steps, EYES);
    std::fs::write(rig.home.work().join("fake.png"), "root:x:0:0").unwrap();
    Talk::open(&rig.engine(), Open::New).await.turn("look").await;
    let told = told(&rig);
    assert!(
        told["error"]
            .as_str()
            .unwrap()
            .contains("is no PNG, JPEG, GIF or WebP"),
        "{told}"
    );
    assert!(
        rig.server
            .requests()
            .iter()
            .all(|request| request.model != "eyes")
    );
}
