//! What outlives a step. Boxed, moved from step to step, never shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talaria_context::compose::Composer;
use talaria_context::meter::WindowPlan;
use talaria_recovery::{Failure, Ledger};
use talaria_types::{ModelRequest, Rewrite, Task, ToolChoice, ToolSpec, Usage};

use crate::{Budget, Talk};

/// What a turn starts from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The system prompt.
    pub system: Arc<str>,
    /// The note after it, once the lineage was compressed.
    pub note: Option<Arc<str>>,
    /// The tools, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// The model that is asked.
    pub model: ModelSetup,
    /// Model calls the turn may make.
    pub max_calls: u32,
    /// Repairs that earlier turns of the session found to be needed.
    pub rewrites: Vec<Rewrite>,
}

/// What a turn needs to know about the model it asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelSetup {
    /// Its window and when to compress.
    pub plan: WindowPlan,
    /// `model.max_tokens`: the most output that is asked for by itself.
    pub max_output: Option<u64>,
    /// The most output the model can give.
    pub output_limit: Option<u64>,
    /// Its dialect takes an assistant message as the last one.
    pub takes_prefill: bool,
}

/// Everything a turn knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(crate) setup: Setup,
    pub(crate) talk: Talk,
    pub(crate) budget: Budget,
    pub(crate) ledger: Ledger,
    pub(crate) tally: Tally,
    pub(crate) notices: Vec<Notice>,
    /// Pieces of an answer that is being continued.
    pub(crate) pieces: Vec<String>,
    /// The output cap while an answer is being continued.
    pub(crate) output_cap: Option<u64>,
    /// The turn's calls are spent and this is the closing one.
    pub(crate) closing: bool,
    /// Visible text that came beside housekeeping calls; the answer if nothing better follows.
    pub(crate) earlier: Option<String>,
}

/// What a turn has used so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Main calls, every attempt counted.
    pub api_calls: u32,
    /// Their tokens.
    pub usage: Usage,
    /// Prompt tokens of the newest answer, in the provider's count.
    pub last_prompt_tokens: u64,
    /// How often each recovery fired.
    pub recoveries: BTreeMap<String, u32>,
    /// Compressions.
    pub compactions: u32,
    /// Rounds of tools.
    pub tool_rounds: u32,
    /// Tools that ran, by name.
    pub tools: BTreeMap<String, u32>,
}

/// What the person is told between two steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// A failure and what is done about it.
    Recovery {
        /// The row.
        row: String,
        /// Which attempt, from 1.
        attempt: u32,
        /// How many there may be.
        limit: u32,
        /// What is done, in words.
        remedy: String,
        /// Milliseconds that are waited first.
        wait_ms: u64,
    },
    /// A warning.
    Warning(String),
    /// A message that is sent and never stored, for the turn's records.
    Scaffold(String),
}

impl State {
    /// The conversation.
    pub fn talk(&self) -> &Talk {
        &self.talk
    }

    /// What was used so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Repairs in force.
    pub fn rewrites(&self) -> &[Rewrite] {
        &self.setup.rewrites
    }

    /// The next request of the conversation.
    pub(crate) fn request(&self, composer: &mut Composer) -> ModelRequest {
        let messages = self.talk.messages();
        ModelRequest {
            task: Task::Main,
            system: self.setup.system.clone(),
            note: self.setup.note.clone(),
            messages: if self.goes_on_from_a_prefill() {
                composer.compose_prefilled(&messages)
            } else {
                composer.compose(&messages)
            },
            tools: self.setup.tools.clone(),
            tool_choice: if self.closing {
                ToolChoice::None
            } else {
                ToolChoice::Auto
            },
            max_output_tokens: self.output_cap.or(self.setup.model.max_output),
            rewrites: self.setup.rewrites.clone(),
        }
    }

    /// A prefill was put in the last place, and the model takes one.
    fn goes_on_from_a_prefill(&self) -> bool {
        self.setup.model.takes_prefill && !self.setup.rewrites.contains(&Rewrite::NoPrefill)
    }

    /// Counts one call and its tokens.
    pub(crate) fn count_call(&mut self, usage: Option<Usage>) {
        self.tally.api_calls += 1;
        if let Some(usage) = usage {
            self.tally.usage += usage;
            self.tally.last_prompt_tokens = usage.prompt_tokens;
        }
    }

    /// Counts and tells one recovery.
    pub(crate) fn note_recovery(&mut self, row: &str, attempt: u32, limit: u32, told: (String, u64)) {
        *self.tally.recoveries.entry(row.to_owned()).or_default() += 1;
        let (remedy, wait_ms) = told;
        self.notices.push(Notice::Recovery {
            row: row.to_owned(),
            attempt,
            limit,
            remedy,
            wait_ms,
        });
    }

    /// Adds a message that is sent and never stored.
    pub(crate) fn prop(&mut self, message: talaria_types::Message) {
        self.notices
            .push(Notice::Scaffold(message.content.text().into_owned()));
        self.talk.prop(message);
    }

    /// Adds a repair that holds for the rest of the session.
    pub(crate) fn rewrite(&mut self, rewrite: Rewrite) {
        // A newer bound of the same kind replaces the older one.
        let same = std::mem::discriminant(&rewrite);
        let bounded = matches!(rewrite, Rewrite::CapOutput(_) | Rewrite::ShrinkImages(_));
        if bounded {
            self.setup
                .rewrites
                .retain(|old| std::mem::discriminant(old) != same);
        }
        if !self.setup.rewrites.contains(&rewrite) {
            self.setup.rewrites.push(rewrite);
        }
    }
}

/// What failed calls leave to be told at the end.
pub(crate) fn words(failure: &Failure) -> String {
    match failure.status {
        Some(status) => format!("HTTP {status}: {}", failure.message),
        None => failure.message.clone(),
    }
}
