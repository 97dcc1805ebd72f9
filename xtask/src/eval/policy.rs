//! What a compression does, by policy.

use super::{seed, writer::Writer};
use anyhow::{Result, bail};
use std::sync::Arc;
use talaria_context::compress::{
    self, ANCHORS_HEADING, Accepted, AnchorRecord, Budget, Compressed, END_MARKER, Guidance, Plan,
};
use talaria_types::{Completion, Content, Message, MessageId, ModelRequest, StoredMessage, Task, ToolChoice};

/// One way to deal with a full window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Nothing is ever hidden, whatever the window.
    None,
    /// The first rows and the newest ones; the middle is dropped.
    Cut,
    /// The algorithm that the original describes: head of three, tail, summary.
    Seed,
    /// Ours, with the anchor index taken out.
    NoAnchors,
    /// Ours with a model that answers with bare headings.
    BareHeadings,
    /// Ours.
    Ours,
}

impl Policy {
    pub(crate) const ALL: [Self; 6] = [
        Self::None,
        Self::Cut,
        Self::Seed,
        Self::NoAnchors,
        Self::BareHeadings,
        Self::Ours,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "nothing hidden",
            Self::Cut => "head and tail",
            Self::Seed => "the seed's",
            Self::NoAnchors => "ours, no anchors",
            Self::BareHeadings => "ours, bare headings",
            Self::Ours => "ours",
        }
    }
}

/// One row of a compressed session and the row it was.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) message: Arc<Message>,
    pub(crate) from: Option<MessageId>,
}

/// What a compression made, and what it took.
#[derive(Debug, Default)]
pub(crate) struct Made {
    pub(crate) rows: Vec<Row>,
    /// Tokens of the summary requests, how many of them the cache had, and of their answers.
    pub(crate) asked: u64,
    pub(crate) cached: u64,
    pub(crate) answered: u64,
    /// The facts this compression knew, for the next one.
    pub(crate) known: Vec<AnchorRecord>,
}

/// Compresses `history`; nothing where the policy never does.
pub(crate) fn compress(
    policy: Policy,
    history: &[StoredMessage],
    budget: &Budget,
    (known, writer): (&[AnchorRecord], &mut Writer),
) -> Result<Option<Made>> {
    match policy {
        Policy::None => Ok(None),
        Policy::Cut => Ok(Some(seed::cut(history, budget))),
        Policy::Seed => seed::compress(history, budget, writer).map(Some),
        Policy::NoAnchors => ours(history, budget, (known, writer)).map(|made| Some(without_anchors(made))),
        Policy::BareHeadings | Policy::Ours => ours(history, budget, (known, writer)).map(Some),
    }
}

fn ours(
    history: &[StoredMessage],
    budget: &Budget,
    (known, writer): (&[AnchorRecord], &mut Writer),
) -> Result<Made> {
    let guidance = Guidance {
        known: known.to_vec(),
        ..Guidance::default()
    };
    let mut plan = match compress::plan(history, budget, guidance) {
        Ok(plan) => plan,
        Err(nothing) => bail!("nothing to compress: {nothing}"),
    };
    let mut made = Made::default();
    let compressed = summarised(&mut plan, history, writer, &mut made)?;
    made.rows = compressed
        .rows
        .iter()
        .map(|row| Row {
            message: row.message.clone(),
            from: row.from.map(|(_, origin)| origin),
        })
        .collect();
    made.known = compressed.anchor_records;
    Ok(made)
}

/// As the engine asks: behind the session's own prefix, else in slices of a record.
fn summarised(
    plan: &mut Plan,
    history: &[StoredMessage],
    writer: &mut Writer,
    made: &mut Made,
) -> Result<Compressed> {
    if let Some(shortened) = plan.without_summary() {
        return Ok(shortened);
    }
    if let Some(request) = plan.prefix_request(&session_request(), history) {
        let answer = made.ask(writer, &request, true)?;
        if let Ok(compressed) = plan.accept_prefix(&answer) {
            return Ok(compressed);
        }
    }
    for _ in 0..24 {
        let Some(request) = plan.request() else { break };
        let answer = made.ask(writer, &request, false)?;
        match plan.accept(&answer) {
            Ok(Accepted::Done(compressed)) => return Ok(*compressed),
            Ok(Accepted::Next) => {}
            Err(_) => break,
        }
    }
    match plan.give_up("no summary was accepted", true) {
        Some(digest) => Ok(digest),
        None => bail!("neither a summary nor a digest could be made"),
    }
}

/// What the session sends beside its messages; its size stands in the budget.
fn session_request() -> ModelRequest {
    ModelRequest {
        task: Task::Main,
        system: Arc::from(""),
        note: None,
        messages: Vec::new(),
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    }
}

impl Made {
    /// Asks for a summary. All but the question of a prefix was sent by the session before.
    pub(crate) fn ask(
        &mut self,
        writer: &mut Writer,
        request: &ModelRequest,
        prefix: bool,
    ) -> Result<Completion> {
        use talaria_context::tokens::{Counter, quick};
        let sizes = request
            .messages
            .iter()
            .map(|message| Counter::quick_message(message));
        let (asked, question) = sizes.fold((0, 0), |(sum, _), size| (sum + size, size));
        self.asked += asked;
        if prefix {
            self.cached += asked - question;
        }
        let answer = writer.answer(request)?;
        self.answered += quick(&answer.text);
        Ok(answer)
    }
}

fn without_anchors(mut made: Made) -> Made {
    for row in &mut made.rows {
        if !compress::is_summary(&row.message) {
            continue;
        }
        let text = row.message.content.text().into_owned();
        let start = text.find(&format!("\n{ANCHORS_HEADING}\n"));
        let end = text.rfind(END_MARKER);
        if let (Some(start), Some(end)) = (start, end) {
            row.message = Arc::new(Message {
                content: Content::Text(format!("{}\n\n{}", text[..start].trim_end(), &text[end..])),
                ..Message::clone(&row.message)
            });
        }
    }
    made
}
