//! One compression, from the cuts to the compressed rows.

use std::sync::{Arc, OnceLock};

use talaria_types::{Completion, Message, MessageId, ModelRequest, Role, StoredMessage, Task, ToolChoice};

use super::anchors::{self, Anchor};
use super::assemble::{Assembly, assemble};
use super::boundary::{Bounds, Fate, Tail, cuts, newest_request};
use super::digest::digest;
use super::prune::{drop_duplicates, excerpt, shorten, strip_old_images};
use super::reply::{self, Rejected, Sections};
use super::rows::{Conversation, Row, text_of};
use super::slices::{Sizes, Slices};
use super::summarize::{self, Record};
use super::{Budget, Compressed, Guidance, NothingToHide, WrittenBy};
use crate::compose::compose;
use crate::tokens::{Counter, quick};

/// Hiding less than this is not worth a call.
const SMALLEST_HIDDEN: u64 = 400;

/// One compression in the making.
///
/// It is plain data: the caller sends what [`Plan::request`] says and gives the
/// answer to [`Plan::accept`], as often as it takes.
#[derive(Debug)]
pub struct Plan {
    conversation: Conversation,
    bounds: Bounds,
    budget: Budget,
    guidance: Guidance,
    tokens_before: u64,
    slices: Slices,
    /// The summary of the slices before the current one.
    draft: Option<String>,
    /// The hidden rows, masked; made when first needed.
    record: OnceLock<Vec<Record>>,
}

/// What an accepted answer leads to.
#[derive(Debug)]
pub enum Accepted {
    /// The middle has another slice: ask again.
    Next,
    /// The compressed conversation.
    Done(Box<Compressed>),
}

/// Plans a compression: phases 1 and 2.
///
/// `history` is what the session would send, oldest first.
pub fn plan(history: &[StoredMessage], budget: &Budget, guidance: Guidance) -> Result<Plan, NothingToHide> {
    let mut conversation = Conversation::read(history);
    if !conversation.says_something() {
        return Err(NothingToHide::Empty);
    }
    let tokens_before = conversation.tokens();
    let mut bounds = shorten_and_cut(&mut conversation, budget);
    let hidden = hidden_originally(&conversation.rows, &bounds);
    let hides = bounds.count(Fate::Hidden) > 0 && hidden >= SMALLEST_HIDDEN;
    let all = conversation.rows.len();
    if !hides {
        conversation = Conversation::whole(history);
        bounds = shorten_and_cut(&mut conversation, budget);
        // Without a summary there is no before and behind it.
        bounds.fates.fill(Fate::Tail);
    }
    let plan = Plan {
        conversation,
        bounds,
        budget: budget.clone(),
        guidance,
        tokens_before,
        slices: Slices::new(hides),
        draft: None,
        record: OnceLock::new(),
    };
    let left = plan
        .without_summary()
        .map(|shortened| shortened.tokens_after + tokens_before / 10);
    if left.is_none_or(|left| left < tokens_before) {
        return Ok(plan);
    }
    Err(if hidden == 0 {
        NothingToHide::AllProtected(all)
    } else {
        NothingToHide::TooLittle(hidden)
    })
}

fn shorten_and_cut(conversation: &mut Conversation, budget: &Budget) -> Bounds {
    let (rows, at) = (&mut conversation.rows, conversation.summary_at);
    drop_duplicates(rows);
    let mut bounds = cuts(rows, at, budget, Tail::Generous);
    // The head is weighed as it will be sent.
    shorten(rows, |index| bounds.is(index, Fate::Head));
    if !fits(rows, &bounds, budget) {
        bounds = cuts(rows, at, budget, Tail::Strict);
    }
    shrink_to_fit(rows, &mut bounds, budget);
    shorten(rows, |index| !bounds.is(index, Fate::Tail));
    strip_old_images(rows, |index| !bounds.is(index, Fate::Hidden));
    bounds
}

/// What the hidden rows weighed before they were shortened.
fn hidden_originally(rows: &[Row], bounds: &Bounds) -> u64 {
    let hidden = rows
        .iter()
        .enumerate()
        .filter(|(index, _)| bounds.is(*index, Fate::Hidden));
    hidden.map(|(_, row)| row.original_tokens).sum()
}

fn fits(rows: &[Row], bounds: &Bounds, budget: &Budget) -> bool {
    let kept = bounds.tokens(rows, Fate::Head) + bounds.tokens(rows, Fate::Tail);
    let summary = budget.summary(bounds.tokens(rows, Fate::Hidden)) + budget.anchors();
    kept + summary <= budget.target()
}

/// When head and tail alone are too much: giant results of the tail become
/// excerpts, then the head goes, then every result of the tail does, the newest last.
fn shrink_to_fit(rows: &mut [Row], bounds: &mut Bounds, budget: &Budget) {
    let giant = (budget.tail() / 4).max(500);
    shrink_results(rows, bounds, budget, giant);
    if !fits(rows, bounds, budget) {
        bounds.drop_head();
    }
    let mut least = giant / 2;
    while !fits(rows, bounds, budget) && least >= 60 {
        shrink_results(rows, bounds, budget, least);
        least /= 2;
    }
}

fn shrink_results(rows: &mut [Row], bounds: &Bounds, budget: &Budget, tokens: u64) {
    for index in 0..rows.len() {
        if fits(rows, bounds, budget) {
            return;
        }
        if bounds.is(index, Fate::Tail) && rows[index].role() == Role::Tool {
            excerpt(&mut rows[index], tokens);
        }
    }
}

impl Plan {
    /// What to send next; nothing when no summary is needed and
    /// [`Plan::without_summary`] has the result.
    pub fn request(&self) -> Option<ModelRequest> {
        let slice = self.slices.current(self.record(), &self.summary_sizes())?;
        let text = summarize::prompt(&slice, &self.prompt_parts());
        Some(self.request_of(vec![Arc::new(Message::user(text))]))
    }

    /// The same question as an addition to what the session itself sends, so that
    /// the provider's cache pays for nearly all of it.
    ///
    /// `session` is the session's last request: its prompt and tools are sent as
    /// they are. Nothing when the prefix holds a secret, is too large for the
    /// window, or only shortening is needed.
    pub fn prefix_request(&self, session: &ModelRequest, history: &[StoredMessage]) -> Option<ModelRequest> {
        if !self.slices.is_needed() || self.draft.is_some() {
            return None;
        }
        let end = self.last_hidden_index()? + 1;
        let mut rows: Vec<Arc<Message>> = history
            .iter()
            .take(end)
            .map(|row| Arc::clone(&row.message))
            .collect();
        let secret = talaria_redact::finds(&session.system)
            || rows.iter().any(|message| summarize::holds_secret(message));
        let counted: u64 = rows.iter().map(|row| Counter::quick_message(row)).sum();
        let room = self
            .budget
            .own(self.budget.summariser_window as f64 * 0.9 - self.budget.overhead as f64);
        if secret || counted + 2 * self.summary_tokens() > room {
            return None;
        }
        rows.push(Arc::new(Message::user(summarize::prefix_instruction(
            &self.prompt_parts(),
        ))));
        let mut request = self.request_of(compose(&rows));
        request.system = Arc::clone(&session.system);
        request.note = session.note.clone();
        request.tools = Arc::clone(&session.tools);
        request.rewrites.clone_from(&session.rewrites);
        Some(request)
    }

    /// Takes a model's answer: phases 3 and 4. The plan is unchanged when it is refused.
    pub fn accept(&mut self, answer: &Completion) -> Result<Accepted, Rejected> {
        let sections = reply::read(answer, &self.citable())?;
        if !self.slices.is_last() {
            self.draft = Some(sections.render());
            self.slices.advance();
            return Ok(Accepted::Next);
        }
        let compressed = self.assembled(sections, WrittenBy::Model)?;
        Ok(Accepted::Done(Box::new(compressed)))
    }

    /// Takes the answer to [`Plan::prefix_request`], which covers the whole hidden part.
    pub fn accept_prefix(&mut self, answer: &Completion) -> Result<Compressed, Rejected> {
        let sections = reply::read(answer, &self.citable())?;
        self.assembled(sections, WrittenBy::Model)
    }

    /// The summariser refused a request as too long: the next one is smaller.
    /// `limit` is its window, where the refusal named it. `false` when it cannot
    /// be made smaller.
    pub fn shrink(&mut self, limit: Option<u64>) -> bool {
        if let Some(limit) = limit {
            self.budget.summariser_window = self.budget.summariser_window.min(limit);
        }
        self.slices.shrink(limit)
    }

    /// The result when shortening alone was enough.
    pub fn without_summary(&self) -> Option<Compressed> {
        (!self.slices.is_needed()).then(|| {
            let assembly = Assembly {
                summary: None,
                written_by: WrittenBy::Nobody,
                ..self.assembly(&[])
            };
            assemble(&assembly)
        })
    }

    /// No model could write the summary. `must_fit` says that the history cannot be
    /// sent as it is: then this program writes one itself. Otherwise there is nothing
    /// to apply, and the history stays as it is.
    pub fn give_up(&self, why: &str, must_fit: bool) -> Option<Compressed> {
        if !must_fit {
            return None;
        }
        if let Some(shortened) = self.without_summary() {
            return Some(shortened);
        }
        let (request, tokens) = (self.request_text(), self.summary_tokens());
        let sections = digest(self.record(), self.previous().as_deref(), &request, why, tokens);
        self.assembled(sections, WrittenBy::Digest).ok()
    }

    /// Tokens of the rows before, estimated, without system prompt and tools.
    pub fn tokens_before(&self) -> u64 {
        self.tokens_before
    }

    /// Tokens of the rows afterwards, as far as that can be said before there is a summary: with one of
    /// the length that is asked for and anchors up to their cap.
    pub fn expected_after(&self) -> u64 {
        if let Some(shortened) = self.without_summary() {
            return shortened.tokens_after;
        }
        let rows = &self.conversation.rows;
        let kept = self.bounds.tokens(rows, Fate::Head) + self.bounds.tokens(rows, Fate::Tail);
        (kept + self.summary_tokens() + self.budget.anchors()).min(self.tokens_before)
    }

    /// Ids of the originals that would be hidden, oldest first.
    pub fn hidden(&self) -> Vec<MessageId> {
        self.hidden_rows().map(|row| row.origin).collect()
    }

    fn hidden_rows(&self) -> impl Iterator<Item = &Row> {
        let hidden = self.conversation.rows.iter().enumerate();
        hidden
            .filter(|(index, _)| self.bounds.is(*index, Fate::Hidden))
            .map(|(_, row)| row)
    }

    /// Tokens of what the summary stands for, earlier summaries included.
    fn replaced_tokens(&self) -> u64 {
        let earlier: u64 = self
            .conversation
            .previous
            .iter()
            .map(|handoff| handoff.tokens)
            .sum();
        earlier + hidden_originally(&self.conversation.rows, &self.bounds)
    }

    fn last_hidden_index(&self) -> Option<usize> {
        self.hidden_rows().last().map(|row| row.index)
    }

    fn record(&self) -> &[Record] {
        self.record
            .get_or_init(|| self.hidden_rows().map(Record::of).collect())
    }

    fn request_of(&self, messages: Vec<Arc<Message>>) -> ModelRequest {
        ModelRequest {
            task: Task::Compression,
            system: Arc::from(""),
            note: None,
            messages,
            tools: Arc::from([]),
            tool_choice: ToolChoice::None,
            max_output_tokens: Some(self.max_output()),
            rewrites: Vec::new(),
        }
    }

    /// Twice what is asked for: a cut summary is a lost call, and thinking counts too.
    fn max_output(&self) -> u64 {
        let asked = self.summary_tokens();
        (asked * 2)
            .clamp(1_000, 20_000)
            .min((self.budget.summariser_window / 3).max(500))
    }

    fn summary_tokens(&self) -> u64 {
        self.budget
            .summary(hidden_originally(&self.conversation.rows, &self.bounds))
    }

    fn summary_sizes(&self) -> Sizes {
        let fixed = summarize::fixed_tokens(&self.prompt_parts()) + self.max_output();
        Sizes {
            window: self.budget.summariser_window,
            fixed,
        }
    }

    fn prompt_parts(&self) -> summarize::PromptParts<'_> {
        summarize::PromptParts {
            previous: self.draft.clone().or_else(|| self.previous()),
            tokens: self.summary_tokens(),
            guidance: &self.guidance,
        }
    }

    /// What earlier compressions left, masked.
    fn previous(&self) -> Option<String> {
        let bodies: Vec<&str> = self
            .conversation
            .previous
            .iter()
            .map(|handoff| handoff.body.as_str())
            .collect();
        let body = bodies.join("\n\n");
        (!body.is_empty()).then(|| talaria_redact::redact(&body).into_owned())
    }

    /// The newest request, as long as nobody has answered it.
    fn request_text(&self) -> String {
        let rows = &self.conversation.rows;
        if rows
            .last()
            .is_some_and(|row| row.role() == Role::Assistant && !row.has_calls())
        {
            return String::new();
        }
        let request = newest_request(rows).map(|range| &rows[range]).unwrap_or_default();
        let said: Vec<_> = request.iter().map(|row| text_of(&row.message.content)).collect();
        said.join("\n\n")
    }

    /// Ids that a summary may cite.
    fn citable(&self) -> Vec<MessageId> {
        let mut ids: Vec<MessageId> = self.hidden_rows().map(|row| row.origin).collect();
        for handoff in &self.conversation.previous {
            ids.extend(reply::cited(&handoff.body));
            ids.extend(handoff.anchors.iter().map(|anchor| anchor.id));
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn assembled(&self, mut sections: Sections, by: WrittenBy) -> Result<Compressed, Rejected> {
        sections.set_active_task(&self.request_text());
        let body = sections.render();
        let listed = self
            .conversation
            .previous
            .iter()
            .flat_map(|handoff| handoff.anchors.iter().cloned());
        let known = anchors::known(&self.guidance.known, listed);
        let found: Vec<Anchor> = anchors::best(anchors::collect(known, self.record()));
        let assembly = Assembly {
            summary: Some(body),
            written_by: by,
            ..self.assembly(&found)
        };
        let compressed = assemble(&assembly);
        let (before, after) = (compressed.tokens_before, compressed.tokens_after);
        let summary = compressed.summary.as_deref().map_or(0, quick);
        if after >= before || summary >= self.replaced_tokens() {
            return Err(Rejected::LongerThanReplaced { before, after });
        }
        Ok(compressed)
    }

    fn assembly<'a>(&'a self, anchors: &'a [Anchor]) -> Assembly<'a> {
        Assembly {
            rows: &self.conversation.rows,
            bounds: &self.bounds,
            summary: None,
            written_by: WrittenBy::Nobody,
            anchors,
            anchor_tokens: self.budget.anchors(),
            todo: self.guidance.todo.as_deref(),
            tokens_before: self.tokens_before,
        }
    }
}
