//! Questions that tools ask a model of their own, and what they cost.
//!
//! A tool belongs to all sessions, a cost to one: what is spent is kept by session until that session counts it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use talaria_store::StoreError;
use talaria_types::{Content, Message, ModelRequest, Task, ToolChoice};
use tokio_util::sync::CancellationToken;

use crate::bill::Bill;
use crate::models::Model;
use crate::session::Session;

/// What calls of tools have cost and no session has counted yet.
#[derive(Clone, Default)]
pub(crate) struct SideCosts(Arc<Mutex<Vec<Spent>>>);

/// One call's cost.
struct Spent {
    session: String,
    task: Task,
    model: Arc<Model>,
    bill: Bill,
}

/// A model for one side task.
#[derive(Clone)]
pub(crate) struct SideModel {
    pub(crate) task: Task,
    pub(crate) model: Arc<Model>,
    pub(crate) patience: Duration,
    pub(crate) costs: SideCosts,
}

impl SideModel {
    /// Its name, for people.
    pub(crate) fn name(&self) -> &str {
        &self.model.provider.identity().model
    }

    /// Asks one question for a session. It has no tools and no past.
    ///
    /// # Errors
    /// When nothing of use came back; in words.
    pub(crate) async fn ask(
        &self,
        session: &str,
        question: Content,
        most_tokens: u64,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let request = ModelRequest {
            task: self.task,
            system: Arc::from(""),
            note: None,
            messages: vec![Arc::new(Message::user(question))],
            tools: Arc::from([]),
            tool_choice: ToolChoice::None,
            max_output_tokens: Some(most_tokens),
            rewrites: Vec::new(),
        };
        let quiet = |_| {};
        let call = self.model.provider.complete(&request, &quiet, cancel);
        let answered = tokio::time::timeout(self.patience, call).await;
        let usage = match &answered {
            Ok(Ok(completion)) => completion.usage,
            Ok(Err(_)) | Err(_) => None,
        };
        let mut bill = Bill::default();
        bill.add(&self.model, usage);
        self.costs.keep(Spent {
            session: session.to_owned(),
            task: self.task,
            model: self.model.clone(),
            bill,
        });
        match answered {
            Ok(Ok(completion)) if completion.text.trim().is_empty() => {
                Err(format!("{} answered with nothing", self.name()))
            }
            Ok(Ok(completion)) => Ok(completion.text.trim().to_owned()),
            Ok(Err(failure)) => Err(failure.message),
            Err(_) => Err(format!(
                "{} did not answer within {} s",
                self.name(),
                self.patience.as_secs()
            )),
        }
    }
}

impl SideCosts {
    fn keep(&self, spent: Spent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(spent);
    }

    fn of(&self, session: &str) -> Vec<Spent> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (own, others) = std::mem::take(&mut *kept)
            .into_iter()
            .partition(|spent| spent.session == session);
        *kept = others;
        own
    }
}

impl Session {
    /// Counts what this session's tools have asked of models.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn count_side_calls(&mut self) -> Result<(), StoreError> {
        for spent in self.shared.side_costs.of(self.id.as_str()) {
            self.account_side(spent.task, &spent.bill, &spent.model)?;
        }
        Ok(())
    }
}
