//! What servers give, and under which names.

use serde_json::json;
use talaria_types::{Content, Effect, Part};

use crate::rig::Rig;

#[tokio::test]
async fn tools_resources_and_prompts_are_called_by_their_full_names() {
    let rig = Rig::peer().await;
    assert_eq!(rig.warnings, Vec::<String>::new());
    let names = rig
        .registry
        .select(&["peer".to_owned()], &[], 200_000)
        .unwrap()
        .names;
    for name in [
        "mcp__peer__echo",
        "mcp__peer__get_sum",
        "mcp__peer__read_resource",
        "mcp__peer__get_prompt",
    ] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    assert!(
        rig.text("echo", json!({"text": "hello"}))
            .await
            .contains("\nhello\n")
    );
    assert!(
        rig.text("list_resources", json!({}))
            .await
            .contains("peer://note")
    );
    assert!(
        rig.text("read_resource", json!({"uri": "peer://note"}))
            .await
            .contains("a note")
    );
    assert!(rig.text("list_prompts", json!({})).await.contains("greet"));
    let prompt = rig
        .text(
            "get_prompt",
            json!({"name": "greet", "arguments": {"who": "Ada"}}),
        )
        .await;
    assert!(prompt.contains("[user]") && prompt.contains("Ada"), "{prompt}");
}

#[tokio::test]
async fn a_picture_is_a_picture_for_the_model() {
    let rig = Rig::peer().await;
    let result = rig.call("mcp__peer__picture", json!({})).await;
    let Content::Parts(parts) = &result.content else {
        panic!("{result:?}")
    };
    assert!(
        matches!(&parts[1], Part::Image(image) if image.media_type == "image/png"),
        "{parts:?}"
    );
}

#[tokio::test]
async fn structured_content_is_not_told_twice_and_an_error_is_one() {
    let rig = Rig::peer().await;
    let sum = rig.text("get_sum", json!({"a": 2, "b": 40})).await;
    assert_eq!(sum.matches("42").count(), 1, "{sum}");
    let failed = rig.call("mcp__peer__fail", json!({})).await;
    assert!(
        !failed.ok && failed.content.text().contains("the disk is full"),
        "{failed:?}"
    );
}

#[tokio::test]
async fn orders_in_a_result_stay_inside_of_their_frame() {
    let rig = Rig::peer().await;
    let text = rig.text("inject", json!({})).await;
    assert!(
        text.starts_with("<untrusted source=\"MCP server peer\">"),
        "{text}"
    );
    assert!(
        text.ends_with("</untrusted>") && text.matches("</untrusted>").count() == 1,
        "{text}"
    );
    assert!(text.find("rm -rf").unwrap() < text.find("</untrusted>").unwrap());
}

#[tokio::test]
async fn a_long_result_is_cut_and_kept_in_a_file() {
    let rig = Rig::peer().await;
    let text = rig.text("long", json!({})).await;
    assert!(text.len() < 200_000, "{}", text.len());
    let kept = std::fs::read_dir(rig.home.path().join("cache/tool-results"))
        .unwrap()
        .count();
    assert_eq!(kept, 1);
}

#[tokio::test]
async fn a_server_gets_none_of_this_programs_variables_but_the_harmless_ones_and_its_own() {
    let rig = Rig::new(json!({"command": crate::rig::PEER, "env": {"PEER_KEY": "x"}})).await;
    let names = rig.text("environment", json!({})).await;
    assert!(
        names.contains("PATH") && names.contains("PEER_KEY") && !names.contains("CARGO"),
        "{names}"
    );
}

#[tokio::test]
async fn what_only_reads_may_be_repeated_and_the_rest_is_written_down_first() {
    let rig = Rig::peer().await;
    rig.text("get_sum", json!({"a": 1, "b": 1})).await;
    rig.text("echo", json!({"text": "x"})).await;
    assert_eq!(
        *rig.person.effects.lock().unwrap(),
        [Effect::Read, Effect::Execute]
    );
}

#[tokio::test]
async fn a_tool_that_only_runs_as_a_task_is_run_as_one() {
    let rig = Rig::peer().await;
    let text = rig.text("tasky", json!({})).await;
    assert!(text.contains("task \"t-1\" is done"), "{text}");
}

#[tokio::test]
async fn tools_that_a_server_comes_to_have_are_found_and_called() {
    let rig = Rig::peer().await;
    let before = rig.executor.session().id();
    assert!(rig.text("grow", json!({})).await.contains("grown"));
    // The list is asked for beside the call.
    let mut text = String::new();
    for _ in 0..200 {
        let args = json!({"name": "mcp__peer__newcomer", "arguments": {}});
        text = rig.call("tool_call", args).await.content.text().into_owned();
        if text.contains("hello") {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(text.contains("hello from the newcomer"), "{text}");
    let found = rig.call("tool_search", json!({"query": "newcomer"})).await;
    assert!(found.content.text().contains("mcp__peer__newcomer"), "{found:?}");
    assert_eq!(before, rig.executor.session().id());
}
