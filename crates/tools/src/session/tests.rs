use serde_json::json;
use talaria_types::Content;

use super::*;

fn session() -> Arc<ToolSession> {
    ToolSession::for_user(
        ToolSettings::for_folder("/users/u/.hermes", "/project"),
        "/users/u".into(),
    )
}

fn result(tool: &str, text: impl std::fmt::Display) -> Arc<Message> {
    Arc::new(Message::tool("id", tool, text.to_string()))
}

#[test]
fn paths_are_made_absolute_without_dots() {
    let session = session();
    for (path, full) in [
        ("a/b", "/project/a/b"),
        ("./a/../b", "/project/b"),
        ("../../../x", "/x"),
        ("/etc/../x", "/x"),
        ("~", "/users/u"),
        ("~/n", "/users/u/n"),
        (".", "/project"),
    ] {
        assert_eq!(session.absolute(Path::new(path)), Path::new(full), "{path}");
    }
}

#[test]
fn the_todo_list_is_there_again_after_a_resume() {
    let session = session();
    let old = json!({"todos": [{"id": "0", "content": "old", "status": "pending"}], "summary": {}});
    let new = json!({"todos": [{"id": "1", "content": "first", "status": "completed"},
        {"id": "2", "content": "second", "status": "pending"}], "summary": {}});
    let history = [
        result("todo", old),
        result("todo", format!("{new}\n\n[Tool loop warning: x]")),
        result("terminal", "{}"),
    ];
    session.hydrate(&history);
    assert_eq!(
        session.todo_snapshot().unwrap(),
        "[Your active task list was preserved across context compression]\n- [ ] 2. second (pending)"
    );
}

#[test]
fn a_snapshot_is_read_back_when_the_results_are_gone() {
    let session = session();
    session.todo().replace(vec![
        Entry {
            id: "a".into(),
            content: "look (twice)\nat it".into(),
            status: "in_progress".into(),
        },
        Entry {
            id: "b".into(),
            content: "write".into(),
            status: "bogus".into(),
        },
        Entry {
            id: "c".into(),
            content: "done".into(),
            status: "completed".into(),
        },
    ]);
    let snapshot = session.todo_snapshot().unwrap();
    let user = Arc::new(Message::user(Content::Text(format!(
        "summary\n\n{snapshot}\n\nand then"
    ))));
    let other = self::session();
    other.hydrate(&[result("todo", "[todo] updated task list"), user]);
    assert_eq!(other.todo_snapshot().unwrap(), snapshot);
}

#[test]
fn entries_are_merged_by_id_and_odd_ones_made_sound() {
    let mut list = TodoList::default();
    let entry = |id: &str, content: &str, status: &str| Entry {
        id: id.into(),
        content: content.into(),
        status: status.into(),
    };
    list.replace(vec![
        entry("1", "first", "in_progress"),
        entry("", "", ""),
        entry("1", "again", "Completed"),
    ]);
    assert_eq!(
        list.entries(),
        [
            entry("1", "again", "completed"),
            entry("?", "(no description)", "pending")
        ]
    );
    list.merge(vec![entry("1", "", "pending"), entry("2", "new", "in-progress")]);
    assert_eq!(list.entries()[0], entry("1", "again", "pending"));
    assert_eq!(list.entries()[2], entry("2", "new", "in_progress"));
}

#[test]
fn nothing_is_carried_over_when_all_is_done() {
    let session = session();
    assert_eq!(session.todo_snapshot(), None);
    session.todo().replace(vec![Entry {
        id: "1".into(),
        content: "x".into(),
        status: "cancelled".into(),
    }]);
    assert_eq!(session.todo_snapshot(), None);
}

#[test]
fn settings_that_are_kept_from_commands_are_not_hidden_in_results() {
    let mut settings = ToolSettings::for_folder("/users/u/.hermes", "/project");
    // Any variable that is always there stands for one of the program's own.
    settings.secret_env = vec!["PATH".to_owned()];
    let session = ToolSession::new(settings);
    let path = std::env::var("PATH").unwrap();
    assert_eq!(session.mask().text(&path, crate::mask::Mode::Code), path);
    session.hide_secrets(["word-of-a-server".to_owned()]);
    assert_eq!(
        session
            .mask()
            .text("a word-of-a-server b", crate::mask::Mode::Code),
        "a *** b"
    );
}
