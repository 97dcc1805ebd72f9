//! Skills as turns use them.

use serde_json::{Value, json};
use talaria_runtime::Open;
use talaria_types::{Event, Op};

use crate::rig::{Rig, Talk};

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn write(rig: &Rig, name: &str, body: &str) {
    let folder = rig.home.path().join("skills").join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!("---\nname: {name}\ndescription: Does {name}\n---\n\n{body}\n");
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
}

async fn command(talk: &mut Talk, name: &str, args: &str) -> String {
    talk.handle.send(Op::Command {
        name: name.to_owned(),
        args: args.to_owned(),
    });
    let told = talk.until(|event| matches!(event, Event::Status { .. } | Event::Warning { .. }));
    match told.await {
        Event::Status { text } | Event::Warning { text } => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_is_a_command_that_runs_a_turn() {
    let rig = Rig::new(json!([text("hello")]));
    write(&rig, "greeter", "Greet with MAGNOLIA.");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    command(&mut talk, "greeter", "in French").await;
    let request = &rig.server.main_requests()[0];
    assert!(request.says("Greet with MAGNOLIA.") && request.says("in French"));
    assert!(
        request.messages()[0]["content"]
            .to_string()
            .contains("greeter: Does greeter")
    );
    let usage = std::fs::read_to_string(rig.home.path().join("skills/.usage.json")).unwrap();
    assert!(usage.contains("\"use_count\": 1"), "{usage}");
    assert!(
        command(&mut talk, "no-such", "")
            .await
            .contains("there is no command")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_write_approval_a_change_of_a_skill_waits_for_the_person() {
    let call = json!({"tool_calls": [{"name": "skill_manage", "args": {
        "action": "patch", "name": "greeter", "old_string": "MAGNOLIA", "new_string": "LILY"}}]});
    let rig = Rig::with_config(&json!([call, text("done")]), "skills:\n  write_approval: true\n");
    write(&rig, "greeter", "Greet with MAGNOLIA.");
    let file = rig.home.path().join("skills/greeter/SKILL.md");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("change it").await;
    assert!(std::fs::read_to_string(&file).unwrap().contains("MAGNOLIA"));
    let waiting = command(&mut talk, "skills", "pending").await;
    let id = waiting.split_whitespace().next().unwrap();
    assert!(waiting.contains("patch greeter"));
    command(&mut talk, "skills", &format!("approve {id}")).await;
    assert!(std::fs::read_to_string(&file).unwrap().contains("LILY"));
    assert_eq!(command(&mut talk, "skills", "pending").await, "nothing waits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_skill_that_is_written_in_a_session_does_not_change_its_prompt() {
    let call = json!({"tool_calls": [{"name": "skill_manage", "args": {"action": "create", "name": "notes",
        "content": "---\nname: notes\ndescription: Keep notes\n---\n\nUse a list.\n"}}]});
    let rig = Rig::new(json!([call, text("done"), text("more"), text("fresh")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("make it").await;
    talk.turn("go on").await;
    Talk::open(&engine, Open::New).await.turn("anew").await;
    let requests = rig.server.main_requests();
    let system = |place: usize| requests[place].messages()[0]["content"].to_string();
    assert_eq!(system(0), system(2));
    assert!(!system(2).contains("Keep notes") && system(3).contains("notes: Keep notes"));
}
