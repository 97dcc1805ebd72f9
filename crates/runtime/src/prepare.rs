//! What happens before a turn's first step: ① to ⑦, a list of calls.

use std::sync::Arc;

use jiff::tz::TimeZone;
use talaria_context::prompt;
use talaria_store::{CallJournal, CallState, NewSession, StoreError};
use talaria_turn::Setup;
use talaria_types::{Content, Effect, Message, Role};

use crate::boundary::Boundary;
use crate::clock;
use crate::delegate;
use crate::project;
use crate::session::Session;

/// A turn that may begin.
pub(crate) struct Prepared {
    pub(crate) setup: Setup,
    pub(crate) prompt: Message,
}

impl Session {
    /// Makes the session ready for a turn in which the person says `content`.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub(crate) async fn prepare(&mut self, content: Content) -> Result<Prepared, StoreError> {
        self.models.begin_turn();
        self.gauge.begin_turn();
        if let Some(curated) = &self.shared.curated {
            curated.begin_turn(self.id.as_str());
        }
        let (model, window) = self.models.setup().await;
        self.answer_open_calls()?;
        self.ensure_prompt(window.tokens)?;
        self.ensure_row()?;
        self.tell_of_processes()?;
        self.take_back()?;
        let setup = Setup {
            system: self.system.clone().unwrap_or_default(),
            note: self.note(),
            tools: self.tools.clone(),
            model,
            max_calls: self.config().agent.max_turns,
            rewrites: self.rewrites.clone(),
        };
        Ok(Prepared {
            setup,
            prompt: Message::user(content),
        })
    }

    /// What background processes did since the model last looked.
    fn tell_of_processes(&mut self) -> Result<(), StoreError> {
        let notices = self.executor.session().processes().take_notices();
        if notices.is_empty() {
            return Ok(());
        }
        let rows: Vec<Arc<Message>> = notices
            .into_iter()
            .map(|text| Arc::new(Message::user(text)))
            .collect();
        let ids = self.store().append(&self.id, &rows, clock::now())?;
        self.history.extend(ids.into_iter().zip(rows));
        Ok(())
    }

    /// ④ The system prompt: the stored one byte for byte, unless the person
    /// changed the model.
    fn ensure_prompt(&mut self, window: u64) -> Result<(), StoreError> {
        let identity = self.models.current().provider.identity().clone();
        let skills = self.preloaded_skills().unwrap_or_default();
        let fits = |text: &Arc<str>| {
            prompt::fits(text, &identity.model, &identity.provider) && text.contains(skills.trim())
        };
        if self.system.as_ref().is_some_and(fits) {
            return Ok(());
        }
        self.rebuild_prompt(window);
        if self.stored {
            let prompt = self.system.clone().unwrap_or_default();
            self.store().set_system_prompt(&self.id, &prompt)?;
            self.store()
                .set_model(&self.id, &identity.model, &self.model_config())?;
        }
        Ok(())
    }

    /// Builds the prompt from what its files say now. Bytes that come out the
    /// same stay the same.
    pub(crate) fn rebuild_prompt(&mut self, window: u64) {
        self.renew_tools(window);
        let identity = self.models.current().provider.identity().clone();
        let built = prompt::build(&project::prompt_parts(self, &identity, window));
        for warning in built.warnings {
            self.sink.warn(warning);
        }
        if self.system.as_deref() != Some(built.text.as_str()) {
            self.system = Some(built.text.into());
        }
    }

    /// ① The session's row, once its prompt exists.
    fn ensure_row(&mut self) -> Result<(), StoreError> {
        if self.exact {
            return self.branch_off();
        }
        if self.stored {
            return self.store().reopen(&self.id);
        }
        let new = self.new_row(None);
        self.store().create_session(&new)?;
        self.stored = true;
        Ok(())
    }

    /// The first turn in a segment opened as it was starts a branch of it.
    fn branch_off(&mut self) -> Result<(), StoreError> {
        let from = self.id.clone();
        self.id = clock::fresh_session_id();
        let mut new = self.new_row(Some(from.clone()));
        new.model_config["_branched_from"] = from.as_str().into();
        self.store().branch(&from, &new)?;
        self.exact = false;
        self.stored = true;
        self.history = live(self)?;
        self.arrived(&from, Boundary::BranchedOff);
        Ok(())
    }

    pub(crate) fn new_row(&mut self, parent: Option<talaria_types::SessionId>) -> NewSession {
        let identity = self.models.current().provider.identity().clone();
        NewSession {
            id: self.id.clone(),
            source: self.shared.options.source.clone(),
            parent: parent.or_else(|| self.shared.nest.as_ref().map(|nest| nest.parent.clone())),
            model: identity.model,
            model_config: self.model_config(),
            system_prompt: self.system.as_deref().unwrap_or_default().to_owned(),
            cwd: Some(self.shared.options.cwd.display().to_string()),
            title: self.title.take(),
            started_at: clock::now(),
            billing: (identity.provider, identity.base_url, String::new()),
        }
    }

    fn model_config(&self) -> serde_json::Value {
        let mut config = serde_json::json!({
            "max_iterations": self.config().agent.max_turns,
            "max_tokens": self.config().model.max_tokens,
        });
        if let (Some(nest), Some(config)) = (&self.shared.nest, config.as_object_mut()) {
            config.extend(nest.marks());
        }
        config
    }

    /// A call whose end was not seen gets an honest result: never silence, never
    /// a silent repeat.
    fn answer_open_calls(&mut self) -> Result<(), StoreError> {
        let unanswered = self.unanswered_calls();
        if unanswered.is_empty() {
            return Ok(());
        }
        let journal = self.store().open_calls(&self.id)?;
        let rows: Vec<Arc<Message>> = unanswered
            .iter()
            .map(|(id, name)| {
                let entry = journal.iter().find(|entry| entry.call_id == *id);
                let of_subagents = || delegate::lost_result(self.store(), &self.id, id);
                match (name == "delegate_task").then(of_subagents).flatten() {
                    Some(text) => Arc::new(Message::tool(id, name, text)),
                    None => Arc::new(honest_result(id, name, entry, &self.shared.zone)),
                }
            })
            .collect();
        let ids = self.store().append(&self.id, &rows, clock::now())?;
        self.history.extend(ids.into_iter().zip(rows));
        Ok(())
    }

    /// Calls of the newest assistant message that no row answers.
    fn unanswered_calls(&self) -> Vec<(String, String)> {
        let is_caller = |message: &Arc<Message>| !message.tool_calls.is_empty();
        let Some(place) = self.history.iter().rposition(|(_, message)| is_caller(message)) else {
            return Vec::new();
        };
        let after = &self.history[place + 1..];
        if after.iter().any(|(_, message)| message.role != Role::Tool) {
            // The conversation went on since; composing repairs what is missing there.
            return Vec::new();
        }
        let answered = |id: &str| {
            after
                .iter()
                .any(|(_, message)| message.tool_call_id.as_deref() == Some(id))
        };
        let calls = self.history[place].1.tool_calls.iter();
        calls
            .filter(|call| !answered(&call.id))
            .map(|call| (call.id.clone(), call.name.clone()))
            .collect()
    }
}

/// What is known about a call that no row answers.
fn honest_result(id: &str, name: &str, journal: Option<&CallJournal>, zone: &TimeZone) -> Message {
    let Some(entry) = journal else {
        let text = "The program ended before this call's outcome was known. It only reads or was not started; \
                    run it again if you need its result.";
        return Message::tool(id, name, format!("[interrupted: {text}]"));
    };
    if let (CallState::Finished, Some(result)) = (entry.state, &entry.result) {
        return Message::clone(result);
    }
    let text = match (entry.state, entry.started_at) {
        (CallState::Started | CallState::Finished, Some(at)) => {
            let advice = match entry.effect {
                Effect::Read | Effect::Ask => "repeat it if you need its result",
                Effect::Write | Effect::Execute => "check what it did before you repeat it",
            };
            format!(
                "[interrupted: started at {}, outcome unknown, effect: {}; {advice}]",
                clock::time_in_words(at, zone),
                entry.effect.as_str()
            )
        }
        (CallState::Intended | CallState::Started | CallState::Finished, _) => {
            "[interrupted: the program ended before this call was started; nothing of it ran]".to_owned()
        }
    };
    Message::tool(id, name, text)
}

/// The live messages of a session's row.
pub(crate) fn live(session: &Session) -> Result<Vec<(talaria_types::MessageId, Arc<Message>)>, StoreError> {
    let rows = session.store().live(&session.id)?;
    Ok(rows.into_iter().map(|row| (row.id, row.message)).collect())
}
