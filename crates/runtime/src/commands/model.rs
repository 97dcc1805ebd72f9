//! `/model`

use talaria_context::meter::Meter;
use talaria_types::Task;

use super::{Command, CommandError};
use crate::gauge::Gauge;
use crate::models::Models;
use crate::session::Session;
use crate::{approval_judge, setup};

pub(super) const COMMAND: Command = Command {
    names: &["model"],
    args: "[NAME [--provider P] [--global]]",
    help: "say which model is asked, or ask another one from the next turn on",
    run: |session, args| Box::pin(model(session, args)),
};

/// What was typed behind the name of the command.
#[derive(Debug, Default, PartialEq)]
struct Asked<'a> {
    model: Option<&'a str>,
    provider: Option<&'a str>,
    /// Future sessions too.
    global: bool,
}

impl<'a> Asked<'a> {
    fn read(args: &'a str) -> Result<Self, CommandError> {
        let mut asked = Self::default();
        let mut words = args.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--global" => asked.global = true,
                "--provider" => {
                    let provider = words.next().ok_or_else(|| refused("--provider needs a name"))?;
                    asked.provider = Some(provider);
                }
                flag if flag.starts_with("--") => return Err(refused(&format!("there is no option {flag}"))),
                name if asked.model.is_none() => asked.model = Some(name),
                more => return Err(refused(&format!("one model is enough; {more:?} is a second"))),
            }
        }
        match asked.model {
            None if asked.provider.is_some() || asked.global => Err(refused("which model?")),
            _ => Ok(asked),
        }
    }
}

fn refused(why: &str) -> CommandError {
    CommandError::Refused(format!(
        "{why}; as in /model NAME --provider P; nothing was changed"
    ))
}

async fn model(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let asked = Asked::read(args)?;
    let Some(name) = asked.model else {
        return Ok(told(session).await);
    };
    let mut loaded = session.shared.loaded.clone();
    loaded.choose_model(name, asked.provider);
    let (base, _) = setup::base(&loaded);
    let (chain, warnings) = setup::chain(&loaded, &base).map_err(|error| refused(&error.to_string()))?;
    for warning in warnings {
        session.sink.warn(warning);
    }
    let compression = &loaded.config.compression;
    session.models = Models::new(chain, compression.threshold, compression.min_tokens);
    // What was counted and repaired belongs to the model before.
    let mut meter = std::mem::replace(&mut session.gauge, Gauge::new(name, Meter::default())).meter;
    meter.change_model();
    session.gauge = Gauge::new(name, meter);
    session.rewrites = session.stored_repairs();
    session.kept_repairs.clone_from(&session.rewrites);
    let judge = approval_judge::judge(
        session
            .shared
            .auxiliary(Task::Approval)
            .unwrap_or_else(|| session.models.current().clone()),
        session.shared.auxiliary_timeout(Task::Approval),
        session.judged.clone(),
    );
    session.executor.session().grants().set_judge(judge);
    let kept = if asked.global { keep(session, &asked)? } else { "" };
    Ok(format!("{}{kept}", told(session).await))
}

/// Writes the choice down for future sessions.
fn keep(session: &Session, asked: &Asked<'_>) -> Result<&'static str, CommandError> {
    let home = &session.shared.loaded.home;
    let pairs = [("model.default", asked.model), ("model.provider", asked.provider)];
    for (key, value) in pairs {
        if let Some(value) = value {
            talaria_config::set(home, key, value)
                .map_err(|error| CommandError::Refused(format!("this session only: {error}")))?;
        }
    }
    Ok("\nwritten to config.yaml")
}

/// The model in words: its name, who serves it, how much it takes.
async fn told(session: &Session) -> String {
    let (_, window) = session.models.setup().await;
    let identity = session.models.current().provider.identity();
    format!(
        "model   {} of {}\nwindow  {} tokens",
        identity.model, identity.provider, window.tokens
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_a_name_with_options_anywhere() {
        let asked = Asked::read("--provider zai glm-5 --global").unwrap();
        assert_eq!(
            (asked.model, asked.provider, asked.global),
            (Some("glm-5"), Some("zai"), true)
        );
        assert_eq!(Asked::read("").unwrap(), Asked::default());
        for wrong in ["--provider", "a b", "--fast a", "--global", "--provider zai"] {
            assert!(Asked::read(wrong).is_err(), "{wrong}");
        }
    }
}
