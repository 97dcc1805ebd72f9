//! What fills a session's window, measured by what decides about compressing it.

use serde::Serialize;
use talaria_context::view::{self, ContextView};
use talaria_store::StoreError;
use talaria_types::SessionId;

use crate::session::Session;
use crate::{Engine, EngineError};

/// What a session's next request would be, as `talaria sessions context --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionContext {
    /// The session, the live end of its lineage.
    pub session_id: SessionId,
    /// The model it would be sent to.
    pub model: String,
    /// Who serves it.
    pub provider: String,
    /// What fills its window.
    #[serde(flatten)]
    pub view: ContextView,
}

impl SessionContext {
    /// The view as text for people.
    pub fn render(&self) -> String {
        format!(
            "{}  {} of {}\n{}",
            self.session_id,
            self.model,
            self.provider,
            self.view.render()
        )
    }
}

impl Engine {
    /// What fills the window of a stored session; asks no model.
    ///
    /// # Errors
    /// When the session is unknown or cannot be read.
    pub async fn context(&self, name: &str) -> Result<SessionContext, EngineError> {
        let mut session = self.opened(name).await?;
        Ok(session.context().await?)
    }
}

impl Session {
    /// What fills the window now.
    pub(crate) async fn context(&mut self) -> Result<SessionContext, StoreError> {
        let (setup, _) = self.models.setup().await;
        if self.system.is_none() {
            self.rebuild_prompt(setup.plan.window);
        }
        let (history, compressions) = if self.stored {
            (
                self.store().live(&self.id)?,
                self.store().compactions(&self.id)?.len() as u64,
            )
        } else {
            (Vec::new(), 0)
        };
        let request = self.whole_request(&history);
        let plan = self.gauge.meter.bounded(setup.plan);
        let tokens = self.gauge.size(&request, &plan);
        let parts = view::shares(&request, self.gauge.counter(), tokens);
        let meter = &self.gauge.meter;
        let paused = if !self.may_compact() {
            Some("compression.enabled is false".to_owned())
        } else if meter.is_paused() {
            Some("it is paused: the last two compressions freed less than 10 % each".to_owned())
        } else {
            None
        };
        let identity = self.models.current().provider.identity();
        Ok(SessionContext {
            session_id: self.id.clone(),
            model: identity.model.clone(),
            provider: identity.provider.clone(),
            view: ContextView {
                reported: meter.last_reported().is_some(),
                paused,
                compressions,
                ..ContextView::new(parts, &plan, tokens, meter.last_call())
            },
        })
    }
}
