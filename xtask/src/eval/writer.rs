//! Who writes the summaries: an extractor without any idea of facts, a model that is no help, or a real one.

use super::corpus::SplitSentences;
use anyhow::Result;
use std::sync::Arc;
use talaria_context::compress::{ANCHORS_HEADING, HEADINGS, is_summary};
use talaria_context::tokens::quick;
use talaria_llm::Provider;
use talaria_providers::{ProviderRequest, connect, resolve};
use talaria_types::{Completion, ModelRequest, Role};

/// Words in which demands are made; any model would carry such sentences over.
const DEMANDS: [&str; 6] = ["never", "always", "must", "不要", "必须", "永远"];

/// Answers requests for summaries.
pub(crate) enum Writer {
    /// Takes first sentences, evenly over the record, until the length is reached.
    Extractor,
    /// Thirteen headings and nothing under them.
    BareHeadings,
    /// A real one.
    Model(Arc<dyn Provider>, Box<tokio::runtime::Runtime>),
}

/// A model by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
}

impl Writer {
    /// A real model, its key from the environment as the program reads it.
    pub(crate) fn connect(named: &Named) -> Result<Self> {
        let asked = ProviderRequest {
            provider: named.provider.clone(),
            model: named.model.clone(),
            base_url: named.base_url.clone(),
            ..ProviderRequest::default()
        };
        let endpoint = resolve(&asked, &|name: &str| std::env::var(name).ok())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self::Model(connect(endpoint), Box::new(runtime)))
    }

    pub(crate) fn answer(&mut self, request: &ModelRequest) -> Result<Completion> {
        let text = match self {
            Self::Extractor => extract(&Seen::of(request)),
            Self::BareHeadings => sections(|_| "-".to_owned()),
            Self::Model(provider, runtime) => {
                let quiet = |_| {};
                let cancel = tokio_util::sync::CancellationToken::new();
                let answer = runtime.block_on(provider.complete(request, &quiet, &cancel));
                return answer
                    .map_err(|failure| anyhow::anyhow!("the model gave no summary: {}", failure.message));
            }
        };
        Ok(Completion {
            text,
            ..Completion::default()
        })
    }
}

/// What a request shows of the conversation.
#[derive(Debug, Default)]
struct Seen {
    tokens: u64,
    /// Lines of the checkpoint so far.
    previous: Vec<String>,
    /// Who spoke and what was said, oldest first.
    rows: Vec<(Role, String)>,
}

impl Seen {
    fn of(request: &ModelRequest) -> Self {
        let mut seen = Self::default();
        let Some((question, before)) = request.messages.split_last() else {
            return seen;
        };
        let question = question.content.text();
        seen.tokens = wanted(&question);
        for message in before {
            let text = message.content.text();
            if is_summary(message) {
                seen.checkpoint(&text);
            } else {
                let calls: String = message
                    .tool_calls
                    .iter()
                    .map(|call| call.arguments.as_str())
                    .collect();
                seen.rows.push((message.role, format!("{text} {calls}")));
            }
        }
        if let Some(checkpoint) = between(&question, "<checkpoint>", "</checkpoint>") {
            seen.checkpoint(checkpoint);
        }
        if let Some(record) = between(&question, "<record>", "</record>") {
            seen.record(record);
        }
        seen
    }

    fn checkpoint(&mut self, text: &str) {
        let body = text.split(ANCHORS_HEADING).next().unwrap_or(text);
        let lines = body.lines().map(str::trim).filter(|line| line.starts_with("- "));
        self.previous.extend(lines.map(str::to_owned));
    }

    fn record(&mut self, record: &str) {
        for line in record.lines() {
            let role = match line.split([' ', ']']).next() {
                Some("[USER") => Some(Role::User),
                Some("[ASSISTANT") => Some(Role::Assistant),
                Some("[TOOL") => Some(Role::Tool),
                _ => None,
            };
            match (role, line.split_once("]: ")) {
                (Some(role), Some((_, said))) => self.rows.push((role, said.to_owned())),
                _ => {
                    if let Some((_, text)) = self.rows.last_mut() {
                        text.push('\n');
                        text.push_str(line);
                    }
                }
            }
        }
    }
}

/// The length that is asked for, from "about N tokens".
fn wanted(question: &str) -> u64 {
    let after = question.split_once("about ").map_or("", |(_, after)| after);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(2_000)
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    rest.rsplit_once(close).map(|(inner, _)| inner)
}

/// Half of the length for what the checkpoint said, newest first; an eighth for demands; the rest for the first
/// sentences of rows, evenly spread.
fn extract(seen: &Seen) -> String {
    let sentences: Vec<(Role, &str)> = seen
        .rows
        .iter()
        .filter_map(|(role, text)| text.sentences().next().map(|sentence| (*role, sentence)))
        .collect();
    let demands = seen
        .rows
        .iter()
        .filter(|(role, _)| *role == Role::User)
        .flat_map(|(_, text)| text.sentences())
        .filter(|sentence| DEMANDS.iter().any(|word| sentence.to_lowercase().contains(word)));
    let demands = within(demands.map(line), seen.tokens / 8);
    let mut previous = within(seen.previous.iter().rev().cloned(), seen.tokens / 2);
    previous.reverse();
    let used = |lines: &[String]| lines.iter().map(|text| quick(text)).sum::<u64>();
    let left = seen.tokens.saturating_sub(used(&demands) + used(&previous));
    let size: u64 = sentences.iter().map(|(_, sentence)| quick(sentence) + 3).sum();
    let step = (size.div_ceil(left.max(1))).max(1) as usize;
    let told = within(
        sentences.iter().step_by(step).map(|(_, sentence)| line(sentence)),
        left,
    );
    let request = sentences.iter().rev().find(|(role, _)| *role == Role::User);
    sections(|heading| match heading {
        "Active Task" => request.map_or_else(|| "None".to_owned(), |(_, sentence)| line(sentence)),
        "Constraints & Preferences" => some(&demands),
        "Completed Actions" => some(&previous),
        "Critical Context" => some(&told),
        _ => "None".to_owned(),
    })
}

fn line(sentence: &str) -> String {
    let cut: String = sentence.chars().take(200).collect();
    format!("- {}", cut.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn some(lines: &[String]) -> String {
    if lines.is_empty() {
        "None".to_owned()
    } else {
        lines.join("\n")
    }
}

fn within(lines: impl Iterator<Item = String>, most: u64) -> Vec<String> {
    let mut used = 0;
    lines
        .take_while(|text| {
            used += quick(text);
            used <= most
        })
        .collect()
}

fn sections(body: impl Fn(&str) -> String) -> String {
    let sections: Vec<String> = HEADINGS
        .iter()
        .map(|heading| format!("## {heading}\n{}", body(heading)))
        .collect();
    sections.join("\n\n")
}
