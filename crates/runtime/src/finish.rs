//! What happens after a turn's last step: ⑧ to ⑫, a list of calls.

use std::sync::PoisonError;

use talaria_recovery::Failure;
use talaria_store::{StoreError, UsageRow};
use talaria_turn::{Ending, Kind, Outcome};
use talaria_types::{ErrorKind, ExitReason, RecoveryCount, Task, TurnError, TurnResult};

use crate::clock;
use crate::session::Session;

impl Session {
    /// Takes over what a turn leaves and says what came of it. Every turn ends here.
    ///
    /// # Errors
    /// When the tokens cannot be written.
    pub(crate) fn finish(&mut self, ending: &Ending) -> Result<TurnResult, StoreError> {
        self.keep(ending);
        self.write_usage()?;
        self.count_judged()?;
        self.count_side_calls()?;
        self.account_delegated()?;
        self.keep_meter()?;
        self.keep_repairs()?;
        self.keep_consent();
        self.known_rows = self.store().session(&self.id)?.map_or(0, |row| row.message_count);
        Ok(self.result(ending))
    }

    /// The conversation and what was learned about the provider.
    fn keep(&mut self, ending: &Ending) {
        let rows = ending.talk.entries().iter();
        self.history = rows
            .filter_map(|entry| match entry.kind {
                Kind::Row(id) => Some((id, entry.message.clone())),
                Kind::Unsaved | Kind::Scaffold => None,
            })
            .collect();
        self.rewrites.clone_from(&ending.rewrites);
    }

    /// What was allowed for good goes into the configuration.
    fn keep_consent(&self) {
        let new = self.executor.session().grants().newly_permanent();
        if new.is_empty() {
            return;
        }
        let list = self.config().command_allowlist.iter().chain(&new);
        let list = serde_json::to_string(&list.collect::<Vec<_>>()).unwrap_or_default();
        if let Err(error) = talaria_config::set(&self.shared.loaded.home, "command_allowlist", &list) {
            self.sink.warn(format!(
                "what was allowed for good could not be written down: {error}"
            ));
        }
    }

    /// What judging dangerous commands has cost.
    fn count_judged(&mut self) -> Result<(), StoreError> {
        let bill = {
            let mut judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *judged)
        };
        let model = self
            .shared
            .auxiliary(Task::Approval)
            .unwrap_or_else(|| self.models.current().clone());
        self.account_side(Task::Approval, &bill, &model)?;
        let shared = self.shared.clone();
        match shared.known_extensions() {
            Some(extensions) => {
                let own = shared.auxiliary(Task::Mcp);
                let model = own.unwrap_or_else(|| self.models.current().clone());
                self.account_side(Task::Mcp, &extensions.sampled(), &model)
            }
            None => Ok(()),
        }
    }

    /// The turn's tokens, on the session's row.
    fn write_usage(&mut self) -> Result<(), StoreError> {
        let bills = std::mem::take(&mut self.unwritten);
        if !self.stored {
            return Ok(());
        }
        for (identity, bill) in bills {
            let row = UsageRow {
                task: Task::Main.as_str().to_owned(),
                model: identity.model,
                billing: (identity.provider, identity.base_url, String::new()),
                calls: bill.calls,
                usage: bill.usage,
                cost_usd: bill.usd(),
            };
            self.store().add_usage(&self.id, &row, clock::now())?;
            if let Some(nest) = &self.shared.nest {
                nest.purse.wrote(bill.known_usd());
            }
        }
        Ok(())
    }

    fn result(&mut self, ending: &Ending) -> TurnResult {
        let identity = self.models.current().provider.identity().clone();
        let spent = std::mem::take(&mut self.spent);
        let told = told(&ending.outcome);
        TurnResult {
            final_response: told.text,
            session_id: self.id.clone(),
            root_session_id: self.root.clone(),
            completed: told.exit_reason == ExitReason::TextResponse,
            failed: told.failed,
            partial: told.partial,
            interrupted: told.exit_reason == ExitReason::Interrupted,
            exit_reason: told.exit_reason,
            error: told.error,
            api_calls: ending.tally.api_calls,
            compressions: ending.tally.compactions,
            model: identity.model,
            provider: identity.provider,
            usage: ending.tally.usage,
            usage_by_task: std::mem::take(&mut self.side_usage),
            estimated_cost_usd: spent.usd(),
            cost_status: spent.status().to_owned(),
            recoveries: recoveries(ending),
            warnings: self.sink.take_warnings(),
        }
    }

    /// The result of a turn that the store or its surroundings kept from running.
    pub(crate) fn failed_result(&mut self, error: TurnError) -> TurnResult {
        let identity = self.models.current().provider.identity().clone();
        let spent = std::mem::take(&mut self.spent);
        let interrupted = error.kind == ErrorKind::Interrupted;
        TurnResult {
            final_response: None,
            session_id: self.id.clone(),
            root_session_id: self.root.clone(),
            completed: false,
            failed: !interrupted,
            partial: false,
            interrupted,
            exit_reason: if interrupted {
                ExitReason::Interrupted
            } else {
                ExitReason::Error
            },
            error: Some(error),
            api_calls: 0,
            compressions: 0,
            model: identity.model,
            provider: identity.provider,
            usage: talaria_types::Usage::default(),
            usage_by_task: std::mem::take(&mut self.side_usage),
            estimated_cost_usd: spent.usd(),
            cost_status: spent.status().to_owned(),
            recoveries: Vec::new(),
            warnings: self.sink.take_warnings(),
        }
    }
}

/// An outcome as a result tells it.
struct Told {
    text: Option<String>,
    exit_reason: ExitReason,
    failed: bool,
    partial: bool,
    error: Option<TurnError>,
}

fn told(outcome: &Outcome) -> Told {
    let plain = |text: Option<String>, exit_reason| Told {
        text,
        exit_reason,
        failed: false,
        partial: false,
        error: None,
    };
    match outcome {
        Outcome::Replied { text } => plain(Some(text.clone()), ExitReason::TextResponse),
        Outcome::Partial { text, why } => Told {
            text: Some(text.clone()),
            exit_reason: ExitReason::PartialStream,
            failed: true,
            partial: true,
            error: Some(error(ErrorKind::IncompleteStream, why)),
        },
        Outcome::TurnLimit { summary } => Told {
            text: summary.clone(),
            exit_reason: ExitReason::TurnLimit,
            failed: false,
            partial: true,
            error: Some(error(
                ErrorKind::TurnLimit,
                "the turn's model calls are spent (agent.max_turns)",
            )),
        },
        Outcome::Interrupted { text } => Told {
            text: text.clone(),
            exit_reason: ExitReason::Interrupted,
            failed: false,
            partial: text.is_some(),
            error: Some(error(ErrorKind::Interrupted, "the turn was interrupted")),
        },
        Outcome::Refused { text } => failed(
            Some(text.clone()),
            ExitReason::Refused,
            error(ErrorKind::Refused, text),
        ),
        Outcome::Empty { explanation } => failed(
            None,
            ExitReason::EmptyAnswer,
            error(ErrorKind::EmptyAnswer, explanation),
        ),
        Outcome::GuardrailHalt { text } => failed(
            Some(text.clone()),
            ExitReason::GuardrailHalt,
            error(ErrorKind::TurnLimit, text),
        ),
        Outcome::SpendLimit { text } => {
            failed(None, ExitReason::SpendLimit, error(ErrorKind::SpendLimit, text))
        }
        Outcome::Overflow(failure) => failed(None, ExitReason::ContextOverflow, of_failure(failure)),
        Outcome::Failed(failure) => failed(None, ExitReason::Error, of_failure(failure)),
    }
}

fn failed(text: Option<String>, exit_reason: ExitReason, error: TurnError) -> Told {
    Told {
        text,
        exit_reason,
        failed: true,
        partial: false,
        error: Some(error),
    }
}

fn error(kind: ErrorKind, message: &str) -> TurnError {
    TurnError {
        kind,
        message: message.to_owned(),
        status: None,
        hint: None,
    }
}

fn of_failure(failure: &Failure) -> TurnError {
    failure.to_turn_error()
}

fn recoveries(ending: &Ending) -> Vec<RecoveryCount> {
    let fired = ending.tally.recoveries.iter();
    fired
        .map(|(row, times)| RecoveryCount {
            row: row.clone(),
            times: *times,
        })
        .collect()
}
