//! `clarify`: a question to the person.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use talaria_types::{Effect, Question};

use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// Answers that are offered at most; the person may always give another.
const CHOICES: usize = 4;

/// See the module.
pub(crate) struct Clarify;

/// Arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The question
    question: String,
    /// Up to four answers to choose from; the user may give another
    #[serde(default)]
    choices: Option<Vec<String>>,
}

/// What the model reads.
#[derive(Serialize)]
struct Answer<'a> {
    question: &'a str,
    choices_offered: &'a [String],
    user_response: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

impl Tool for Clarify {
    const NAME: &'static str = "clarify";
    const DESCRIPTION: &'static str = "Ask the user a question when the task cannot be done well without the answer. \
        Do not ask for what you can find out or decide yourself";
    const EFFECT: Effect = Effect::Ask;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(ask(args, cx))
    }
}

async fn ask(args: Args, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
    let text = args.question.trim().to_owned();
    if text.is_empty() {
        return Err(ToolError::BadArguments("question is empty".to_owned()));
    }
    if !cx.host.can_ask() {
        return Err(ToolError::Failed(
            "there is nobody to ask; decide by your own judgement, say what you assumed, and go on"
                .to_owned(),
        ));
    }
    let mut choices: Vec<String> = args.choices.unwrap_or_default();
    choices.retain(|choice| !choice.trim().is_empty());
    choices.truncate(CHOICES);
    let question = Question {
        id: cx.call.id.clone(),
        text: text.clone(),
        choices: choices.clone(),
    };
    let response = tokio::select! {
        biased;
        () = cx.cancel.cancelled() => return Err(ToolError::Interrupted),
        response = cx.host.ask(question) => response,
    };
    let answer = Answer {
        question: &text,
        choices_offered: &choices,
        user_response: response.as_deref(),
        note: response
            .is_none()
            .then_some("the user did not answer in time; decide yourself and say what you assumed"),
    };
    Ok(ToolOutput::json(
        &answer,
        "[clarify] asked user a question".to_owned(),
    ))
}
