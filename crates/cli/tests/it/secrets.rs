//! Secrets planted everywhere, and everything the program keeps or shows looked through for them.
//!
//! `TALARIA_CASES=200 cargo test planted` plants more.

use serde_json::{Value, json};
use talaria_testkit::{MockServer, Mutator, Planted, Scenario, TempHome, planted};

use crate::program::{append, run};

fn cases() -> u64 {
    let asked = std::env::var("TALARIA_CASES").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(6)
}

/// What a case plants, and the home in which it happens.
struct Case {
    planted: Vec<Planted>,
    home: TempHome,
    session: String,
    _server: MockServer,
}

const FILLER: &str = "The herons stood in the shallow water and waited for the tide to turn. ";

/// A conversation in which the person, a file, a command, the model and a summary all tell secrets.
fn converse(seed: u64) -> Case {
    let mut random = Mutator::new(seed);
    let planted: Vec<Planted> = (0..6).map(|_| planted(&mut random)).collect();
    let [typed, filed, printed, said, summarised, argued] =
        <[Planted; 6]>::try_from(planted.clone()).unwrap();
    let call = |name: &str, arguments: Value| json!({"tool_calls": [{"name": name, "arguments": arguments}]});
    let steps = json!([
        call("read_file", json!({"path": "notes.txt"})),
        call("terminal", json!({"command": "cat printed.txt; cat printed.txt >&2"})),
        {"text": format!("I saw {} there. {}", said.text, FILLER.repeat(20))},
        call("search_files", json!({"pattern": "heron", "path": "."})),
        {"text": FILLER.repeat(80)},
        {"text": FILLER.repeat(80)},
        call("session_search", json!({"query": "herons"})),
        call("recall", json!({"query": "herons"})),
        call("recall", json!({"ids": [1, 2, 3, 4, 5]})),
        {"text": "Done."},
    ]);
    let headings = talaria_context::compress::HEADINGS.iter();
    let mut summary: String = headings
        .map(|heading| format!("## {heading}\nHerons.\n\n"))
        .collect();
    summary.push_str(&format!("Keys: {}, and {}.", summarised.text, typed.text));
    let scenario = json!({
        "steps": steps,
        "tasks": {"summary": [{"text": summary}], "title": [{"text": "Herons"}]},
    });
    let server = MockServer::start(Scenario::from_value(scenario).unwrap()).unwrap();
    let home = TempHome::pointing_at(&server).unwrap();
    append(
        &home,
        "approvals:\n  mode: \"off\"\nauxiliary:\n  title_generation:\n    enabled: false\n",
    );
    std::fs::create_dir_all(home.work()).unwrap();
    let write = |name: &str, secret: &Planted| {
        let text = format!("a heron\n{}\n{FILLER}\n", secret.text);
        std::fs::write(home.work().join(name), text).unwrap();
    };
    write("notes.txt", &filed);
    write("printed.txt", &printed);
    let first = format!("about herons, with {} in it", typed.text);
    let session = run(&home, &["-z", &first, "--json"]).ok().json()["session_id"]
        .as_str()
        .unwrap()
        .to_owned();
    for prompt in [
        format!("more herons, {}", argued.text),
        "and more herons".to_owned(),
        "herons again".to_owned(),
    ] {
        run(&home, &["-c", "-z", &prompt]).ok();
    }
    let compressed = run(&home, &["compress", &session, "--json"]).ok().json();
    assert_eq!(compressed["compressed"], true, "{compressed}");
    run(&home, &["-c", "-z", "what was it about the herons?"]).ok();
    Case {
        planted,
        home,
        session,
        _server: server,
    }
}

/// What the database keeps besides what the person and the model said themselves.
fn kept(home: &TempHome) -> Vec<(&'static str, String)> {
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let queries = [
        (
            "results of tools",
            "SELECT content FROM messages WHERE role = 'tool'",
        ),
        (
            "summaries",
            "SELECT content FROM messages WHERE content LIKE '%## Active Task%'",
        ),
        ("compactions", "SELECT summary || anchors FROM compactions"),
        ("state", "SELECT key || coalesce(value, '') FROM state_meta"),
        ("journal", "SELECT coalesce(result, '') FROM tool_journal"),
    ];
    queries
        .into_iter()
        .flat_map(|(what, query)| {
            let mut statement = connection.prepare(query).unwrap();
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            rows.map(|row| (what, row.unwrap())).collect::<Vec<_>>()
        })
        .collect()
}

/// What the program shows and writes.
fn shown(case: &Case) -> Vec<(&'static str, String)> {
    let session = case.session.as_str();
    let commands: [(&str, &[&str]); 9] = [
        ("export", &["sessions", "export", "--full", session, "--json"]),
        ("export as markdown", &["sessions", "export", "--format", "md"]),
        ("show", &["sessions", "show", session, "--full", "--json"]),
        ("show as text", &["sessions", "show", session, "--full"]),
        ("list", &["sessions", "list", "--json"]),
        ("lineage", &["sessions", "lineage", session, "--json"]),
        ("recall", &["recall", "1", "2", "3", "4", "5", "6", "7", "--json"]),
        ("search", &["search", "herons", "--json"]),
        (
            "context",
            &["sessions", "context", session, "--messages", "--json"],
        ),
    ];
    let mut shown: Vec<(&str, String)> = commands
        .into_iter()
        .map(|(what, args)| {
            let ran = run(&case.home, args);
            (what, ran.out + &ran.err)
        })
        .collect();
    for entry in std::fs::read_dir(case.home.path().join("logs"))
        .into_iter()
        .flatten()
        .flatten()
    {
        shown.push((
            "logs",
            String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned(),
        ));
    }
    shown
}

#[test]
fn no_planted_secret_is_kept_in_results_and_summaries_or_shown_by_any_command() {
    for seed in 1..=cases() {
        let case = converse(seed);
        let everything: Vec<_> = kept(&case.home).into_iter().chain(shown(&case)).collect();
        assert!(everything.iter().any(|(_, text)| text.contains("heron")));
        for (what, text) in everything {
            for secret in &case.planted {
                assert!(
                    !text.contains(&secret.middle),
                    "seed {seed}: {} is seen in {what}: {text}",
                    secret.text
                );
            }
        }
    }
}
