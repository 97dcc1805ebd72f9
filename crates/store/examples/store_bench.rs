//! Measures the store against raw SQLite in the same process and prints JSON, one object a line.
//!
//! `cargo run --release --example store_bench -p talaria-store [-- DIR [MESSAGES]]`; with a number, only
//! searching among so many is measured. Each figure stands
//! beside the floor it is measured against, in rounds that alternate, so that a
//! machine that drifts does not decide.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for a terminal that may stop at any failure"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;
use serde_json::{Value, json};
use talaria_store::{NewSession, SearchQuery, SessionStore, SqliteStore};
use talaria_types::{Message, SessionId, Timestamp, ToolCall};

fn main() {
    let dir = std::env::args()
        .nth(1)
        .map_or_else(|| std::env::temp_dir().join("store_bench"), Into::into);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    let asked = std::env::args().nth(2).and_then(|count| count.parse().ok());
    if let Some(count) = asked {
        search(&dir, &corpus(count));
        return;
    }
    let corpus = corpus(100_000);
    append(&dir, &corpus[..10_000]);
    load(&dir);
    search(&dir, &corpus);
    open(&dir);
}

fn say(name: &str, value: &Value) {
    println!("{}", json!({ "bench": name, "result": value }));
}

/// A small generator, the same numbers every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const WORDS: &str = "the of to and in is it for on with as at by from request response server client file path line \
    function value return config session message token model tool call result output input buffer thread process query \
    index table cache memory disk network timeout retry parse build test deploy release branch commit merge review \
    patch update install package module import class method object string number list dict set key map filter reduce \
    async await stream chunk event handler queue worker job task schedule cron user prompt answer summary context window";
const CJK: &str = "我们需要检查系统的配置文件并且更新服务器上运行程序版本然后测试结果是否正确如果失败就回滚";

/// Messages of an agent at work: `error` in a quarter of them, 部署 and 数据库 in one of a hundred, `zyxwquark` in seven.
fn corpus(count: usize) -> Vec<Arc<Message>> {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let characters: Vec<char> = CJK.chars().collect();
    let mut numbers = Numbers(2);
    (0..count)
        .map(|index| Arc::new(message(index, &words, &characters, &mut numbers)))
        .collect()
}

fn message(index: usize, words: &[&str], characters: &[char], numbers: &mut Numbers) -> Message {
    let length = [60, 150, 300, 500, 1000][numbers.below(5) as usize];
    let mut text = String::new();
    while text.len() < length {
        let word = words[numbers.below(words.len() as u64) as usize];
        match numbers.below(100) {
            0..4 => text.push_str(&format!("{word}_{} ", numbers.below(10_000))),
            4..7 => text.push_str(&format!("/srv/{word}/{word}_{}.py ", numbers.below(100))),
            7..14 => text.push_str(&format!("{word}. ")),
            _ => text.push_str(&format!("{word} ")),
        }
    }
    if numbers.chance(25) {
        text.push_str("error");
    }
    if [777, 9001, 20_000, 45_678, 60_606, 77_777, 99_990].contains(&index) {
        text.push_str(" zyxwquark");
    }
    if numbers.chance(5) {
        text.push(' ');
        text.extend((0..40).map(|_| characters[numbers.below(characters.len() as u64) as usize]));
    }
    if numbers.chance(1) {
        text.push_str(" 开始部署到生产环境");
    }
    if numbers.chance(1) {
        text.push_str(" 迁移数据库完成");
    }
    match index % 6 {
        0 => Message::user(text),
        2 | 4 => Message::tool(format!("call_{}", index - 1), "terminal", text),
        5 => Message::assistant(text),
        _ => {
            let mut message = Message::assistant(text);
            let word = words[numbers.below(words.len() as u64) as usize];
            message.tool_calls.push(ToolCall {
                id: format!("call_{index}"),
                name: "terminal".into(),
                arguments: json!({ "command": format!("ls {word}") }).to_string(),
                extra: serde_json::Map::new(),
            });
            message
        }
    }
}

fn new(id: &str) -> NewSession {
    NewSession {
        id: SessionId::new(id),
        source: "cli".into(),
        parent: None,
        model: "mock".into(),
        model_config: json!({}),
        system_prompt: "You are an agent. ".repeat(400),
        cwd: None,
        title: None,
        started_at: Timestamp(1.0),
        billing: Default::default(),
    }
}

fn store(dir: &Path, name: &str) -> SqliteStore {
    SqliteStore::open(&dir.join(name), &dir.join("images")).unwrap()
}

/// One transaction a message, full sync; the floor writes the same columns into the same tables and indexes.
fn append(dir: &Path, messages: &[Arc<Message>]) {
    let chunk = messages.len() / 5;
    let ours = store(dir, "append.db");
    ours.create_session(&new("s")).unwrap();
    drop(store(dir, "floor.db"));
    let floor = Connection::open(dir.join("floor.db")).unwrap();
    floor
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
        .unwrap();
    floor
        .execute(
            "INSERT INTO sessions (id, source, started_at, system_prompt) VALUES ('s', 'cli', 1, ?1)",
            ["You are an agent. ".repeat(400)],
        )
        .unwrap();
    let (mut own, mut raw) = (0.0, 0.0);
    for part in messages.chunks(chunk) {
        let start = Instant::now();
        for message in part {
            ours.append(
                &SessionId::new("s"),
                std::slice::from_ref(message),
                Timestamp(2.0),
            )
            .unwrap();
        }
        own += start.elapsed().as_secs_f64();
        raw += append_raw(&floor, part);
    }
    let content: usize = messages.iter().map(|message| message.content.text().len()).sum();
    drop(ours);
    let checkpoint = Connection::open(dir.join("append.db")).unwrap();
    checkpoint
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let bytes = std::fs::metadata(dir.join("append.db")).unwrap().len();
    say(
        "append",
        &json!({
            "messages": messages.len(), "per_second": messages.len() as f64 / own,
            "floor_per_second": messages.len() as f64 / raw, "ratio": raw / own,
            "content_bytes": content, "database_bytes": bytes, "size_ratio": bytes as f64 / content as f64,
        }),
    );
}

fn append_raw(floor: &Connection, part: &[Arc<Message>]) -> f64 {
    let rows: Vec<_> = part
        .iter()
        .map(|message| {
            let calls =
                (!message.tool_calls.is_empty()).then(|| serde_json::to_string(&message.tool_calls).unwrap());
            (
                message.role.as_str(),
                message.content.text(),
                &message.tool_call_id,
                calls,
                &message.tool_name,
            )
        })
        .collect();
    let start = Instant::now();
    let mut begin = floor.prepare("BEGIN IMMEDIATE").unwrap();
    let mut commit = floor.prepare("COMMIT").unwrap();
    let mut insert = floor
        .prepare("INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp) VALUES ('s', ?1, ?2, ?3, ?4, ?5, 0)")
        .unwrap();
    let mut update = floor
        .prepare("UPDATE sessions SET message_count = message_count + 1 WHERE id = 's'")
        .unwrap();
    for (role, content, id, calls, name) in &rows {
        begin.execute([]).unwrap();
        insert
            .execute(rusqlite::params![role, content, id, calls, name])
            .unwrap();
        update.execute([]).unwrap();
        commit.execute([]).unwrap();
    }
    start.elapsed().as_secs_f64()
}

/// Loading the 10 000 messages against a raw SELECT whose JSON is parsed.
fn load(dir: &Path) {
    let ours = store(dir, "append.db");
    let raw = Connection::open(dir.join("append.db")).unwrap();
    let session = SessionId::new("s");
    let (mut own, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        let start = Instant::now();
        assert_eq!(ours.live(&session).unwrap().len(), 10_000);
        own.push(start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        assert_eq!(load_raw(&raw), 10_000);
        floor.push(start.elapsed().as_secs_f64() * 1e3);
    }
    pair("load", own, floor, json!({ "unit": "ms" }));
}

fn load_raw(raw: &Connection) -> usize {
    let mut statement = raw
        .prepare_cached("SELECT id, role, content, tool_call_id, tool_calls, tool_name, timestamp FROM messages WHERE session_id = 's' AND active = 1 ORDER BY id")
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut kept = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let calls: Option<String> = row.get(4).unwrap();
        kept.push((
            row.get::<_, i64>(0).unwrap(),
            row.get::<_, String>(1).unwrap(),
            row.get::<_, Option<String>>(2).unwrap(),
            row.get::<_, Option<String>>(3).unwrap(),
            calls.map(|calls| serde_json::from_str::<Value>(&calls).unwrap()),
            row.get::<_, Option<String>>(5).unwrap(),
            row.get::<_, f64>(6).unwrap(),
        ));
    }
    kept.len()
}

fn pair(name: &str, mut own: Vec<f64>, mut floor: Vec<f64>, extra: Value) {
    let mut ratios: Vec<f64> = own.iter().zip(&floor).map(|(own, floor)| own / floor).collect();
    let middle = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let mut result = json!({ "ours": middle(&mut own), "floor": middle(&mut floor), "ratio": middle(&mut ratios), "worst": own.last() });
    if let (Value::Object(result), Value::Object(extra)) = (&mut result, extra) {
        result.extend(extra);
    }
    say(name, &result);
}

fn search(dir: &Path, corpus: &[Arc<Message>]) {
    let ours = store(dir, "search.db");
    let start = Instant::now();
    let sessions = std::iter::once(&corpus[..10_000]).chain(corpus[10_000..].chunks(200));
    for (index, messages) in sessions.enumerate() {
        let id = format!("s{index}");
        ours.create_session(&new(&id)).unwrap();
        ours.append(&SessionId::new(&id), messages, Timestamp(index as f64))
            .unwrap();
    }
    say(
        "fill",
        &json!({ "messages": corpus.len(), "seconds": start.elapsed().as_secs_f64() }),
    );
    let raw = Connection::open(dir.join("search.db")).unwrap();
    let words = "SELECT rowid, snippet(messages_fts, 0, '', '', '…', 40) FROM messages_fts WHERE messages_fts MATCH ?1 ORDER BY rank LIMIT 20";
    let runs = "SELECT rowid, snippet(messages_fts_trigram, 0, '', '', '…', 40) FROM messages_fts_trigram WHERE messages_fts_trigram MATCH ?1 ORDER BY rank LIMIT 20";
    let like = "SELECT id, substr(content, 1, 120) FROM messages WHERE content LIKE '%' || ?1 || '%' ORDER BY timestamp DESC LIMIT 20";
    for (name, query, sql, pattern) in [
        ("search_rare", "zyxwquark", words, "zyxwquark"),
        ("search_common", "error", words, "error"),
        ("search_two_words", "error deploy", words, "error deploy"),
        ("search_phrase", "\"file path\"", words, "\"file path\""),
        ("search_absent", "nowhereword", words, "nowhereword"),
        ("search_cjk2_like", "部署", like, "部署"),
        ("search_cjk3_trigram", "数据库", runs, "\"数据库\""),
        ("search_mixed", "error 部署", words, "error"),
    ] {
        let (mut own, mut floor, mut total) = (Vec::new(), Vec::new(), 0);
        for _ in 0..21 {
            let start = Instant::now();
            let query = SearchQuery {
                text: query.into(),
                limit: 20,
                ..SearchQuery::default()
            };
            total = ours.search(&query).unwrap().total;
            own.push(start.elapsed().as_secs_f64() * 1e3);
            let start = Instant::now();
            let mut statement = raw.prepare_cached(sql).unwrap();
            let rows = statement
                .query_map([pattern], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
                })
                .unwrap();
            rows.collect::<rusqlite::Result<Vec<_>>>().unwrap();
            floor.push(start.elapsed().as_secs_f64() * 1e3);
        }
        pair(name, own, floor, json!({ "unit": "ms", "total": total }));
    }
    let start = Instant::now();
    let listed = ours
        .list(&talaria_store::ListFilter {
            limit: Some(20),
            ..Default::default()
        })
        .unwrap()
        .len();
    say(
        "list",
        &json!({ "ms": start.elapsed().as_secs_f64() * 1e3, "listed": listed }),
    );
}

fn open(dir: &Path) {
    let mut times: Vec<f64> = (0..20)
        .map(|_| {
            let start = Instant::now();
            drop(store(dir, "search.db"));
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let start = Instant::now();
    drop(store(dir, "fresh.db"));
    say(
        "open",
        &json!({ "ms": times[10], "fresh_ms": start.elapsed().as_secs_f64() * 1e3 }),
    );
}
