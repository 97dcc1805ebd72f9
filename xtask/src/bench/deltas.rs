//! How long a piece of an answer takes from the socket to the face: a server writes the moment into each
//! piece, the program prints it as an event, and the reader looks at the clock.

use super::{Report, Stage};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

/// Pieces of one answer, as fast as a quick model writes.
const PIECES: usize = 600;
const PAUSE: Duration = Duration::from_millis(4);

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let home = stage.home("deltas", &format!("http://{}/v1", listener.local_addr()?))?;
    let began = Instant::now();
    let server = thread::spawn(move || serve(&listener, began));
    let mut program = stage
        .command(&home, &["-z", "hi", "--stream-json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let out = program.stdout.take().context("no output")?;
    let mut ages = Vec::new();
    for line in BufReader::new(out).lines() {
        let line = line?;
        let now = began.elapsed().as_nanos();
        ages.extend(written_at(&line).map(|at| now.saturating_sub(at) as f64 / 1e6));
    }
    ensure!(program.wait()?.success(), "the program failed");
    server.join().ok().context("the server panicked")??;
    ensure!(ages.len() > PIECES / 2, "only {} pieces arrived", ages.len());
    ages.sort_by(f64::total_cmp);
    report.limit("a delta, median", ages[ages.len() / 2], "ms", 1.0)?;
    report.limit("a delta, 99 of 100", ages[ages.len() * 99 / 100], "ms", 1.0)
}

/// The newest moment an event's text holds, nanoseconds.
fn written_at(line: &str) -> Option<u128> {
    let event: Value = serde_json::from_str(line).ok()?;
    let text = event["text"]
        .as_str()
        .filter(|_| event["type"] == "message_delta")?;
    text.split_whitespace().next_back()?.parse().ok()
}

/// Answers one request.
fn serve(listener: &TcpListener, began: Instant) -> Result<()> {
    let (mut client, _) = listener.accept()?;
    client.set_nodelay(true)?;
    read_request(&client)?;
    client.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")?;
    for _ in 0..PIECES {
        thread::sleep(PAUSE);
        let text = format!("{} ", began.elapsed().as_nanos());
        let chunk =
            json!({"id": "1", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
        client.write_all(format!("data: {chunk}\n\n").as_bytes())?;
    }
    let end = json!({"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    client.write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())?;
    Ok(())
}

fn read_request(client: &TcpStream) -> Result<()> {
    let mut reader = BufReader::new(client);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok(())
}
