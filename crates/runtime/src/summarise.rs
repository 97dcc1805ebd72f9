//! Asks a model for the summary of a compression: the auxiliary one, then the
//! session's own.

use std::sync::Arc;
use std::time::Duration;

use talaria_context::compress::{Accepted, Compressed, Plan};
use talaria_recovery::{ErrorKind, Failure};
use talaria_types::{Completion, ModelRequest, Usage};
use tokio_util::sync::CancellationToken;

use crate::bill::Bill;
use crate::models::Model;

/// The most requests one model gets for one compression; a long middle takes several.
const MOST_REQUESTS: u32 = 24;

/// What asking came to.
pub(crate) enum Summarised {
    /// A compressed conversation, and what the person should know about how it came to be.
    Done(Box<Compressed>, Option<String>),
    /// No model gave a summary; what each said.
    Failed(Vec<String>, Option<ErrorKind>),
    /// The person stopped it.
    Interrupted,
}

/// Asks one model after the other.
pub(crate) struct Summariser<'a> {
    pub(crate) models: Vec<Arc<Model>>,
    /// The session's own prefix with the question behind it, and the model it was
    /// sent to before: asked first.
    pub(crate) prefix: Option<(Arc<Model>, ModelRequest)>,
    /// What the provider counted for that request.
    pub(crate) prefix_usage: Option<Usage>,
    pub(crate) timeout: Duration,
    pub(crate) cancel: &'a CancellationToken,
    /// What the requests cost.
    pub(crate) bill: Bill,
    /// Who wrote the summary.
    pub(crate) author: Option<Arc<Model>>,
}

/// The person stopped it.
struct Interrupted;

/// Why one model gave none.
enum Unwritten {
    Interrupted,
    Because(String, Option<ErrorKind>),
}

impl Summariser<'_> {
    /// The summary of a plan.
    pub(crate) async fn write(&mut self, plan: &mut Plan) -> Summarised {
        let mut reasons = Vec::new();
        let mut last = None;
        if let Some((model, request)) = self.prefix.take() {
            match self.ask_behind_prefix(&model, &request, plan).await {
                Ok(Some(compressed)) => {
                    self.author = Some(model);
                    return Summarised::Done(Box::new(compressed), None);
                }
                // The record is another question: it may be answered where this one was not.
                Ok(None) => {}
                Err(Interrupted) => return Summarised::Interrupted,
            }
        }
        for model in self.models.clone() {
            match self.ask(&model, plan).await {
                Ok(compressed) => {
                    let rescued = reasons.first().map(|reason| {
                        format!(
                            "the summary model failed ({reason}); the session's own model wrote the summary"
                        )
                    });
                    self.author = Some(model);
                    return Summarised::Done(Box::new(compressed), rescued);
                }
                Err(Unwritten::Interrupted) => return Summarised::Interrupted,
                Err(Unwritten::Because(reason, kind)) => {
                    let name = &model.provider.identity().model;
                    tracing::warn!(model = %name, "no summary: {reason}");
                    reasons.push(format!("{name}: {reason}"));
                    last = kind;
                }
            }
        }
        Summarised::Failed(reasons, last)
    }

    /// The summary as an addition to what the session itself sends. Nothing when the
    /// answer was no summary or the request does not suit the provider.
    async fn ask_behind_prefix(
        &mut self,
        model: &Arc<Model>,
        request: &ModelRequest,
        plan: &mut Plan,
    ) -> Result<Option<Compressed>, Interrupted> {
        let answer = match self.send(model, request).await {
            Ok(answer) => answer,
            Err(failure) if failure.kind == ErrorKind::Interrupted => return Err(Interrupted),
            Err(failure) => {
                tracing::info!(kind = ?failure.kind, "no summary behind the session's prefix: {}", failure.message);
                return Ok(None);
            }
        };
        self.prefix_usage = answer.usage;
        match plan.accept_prefix(&answer) {
            Ok(compressed) => Ok(Some(compressed)),
            Err(rejected) => {
                tracing::info!("no summary behind the session's prefix: {rejected}");
                Ok(None)
            }
        }
    }

    async fn ask(&mut self, model: &Arc<Model>, plan: &mut Plan) -> Result<Compressed, Unwritten> {
        let mut refused: Option<ModelRequest> = None;
        for _ in 0..MOST_REQUESTS {
            let Some(request) = plan.request() else { break };
            if refused.as_ref() == Some(&request) {
                // What was refused is never sent again unchanged.
                if plan.shrink(None) {
                    continue;
                }
                break;
            }
            let answer = match self.send(model, &request).await {
                Ok(answer) => answer,
                Err(failure) if too_long(&failure) && plan.shrink(failure.limits.window) => {
                    refused = Some(request);
                    continue;
                }
                Err(failure) if failure.kind == ErrorKind::Interrupted => return Err(Unwritten::Interrupted),
                Err(failure) => return Err(Unwritten::Because(failure.message, Some(failure.kind))),
            };
            match plan.accept(&answer) {
                Ok(Accepted::Done(compressed)) => return Ok(*compressed),
                Ok(Accepted::Next) => {}
                Err(rejected) => return Err(Unwritten::Because(rejected.to_string(), None)),
            }
        }
        Err(Unwritten::Because(
            "the summary took too many requests".to_owned(),
            None,
        ))
    }

    async fn send(&mut self, model: &Arc<Model>, request: &ModelRequest) -> Result<Completion, Failure> {
        let quiet = |_| {};
        let call = model.provider.complete(request, &quiet, self.cancel);
        let answer = match tokio::time::timeout(self.timeout, call).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("no summary within {} s", self.timeout.as_secs());
                Err(Failure::new(
                    ErrorKind::Timeout,
                    talaria_recovery::Phase::Body,
                    text,
                ))
            }
        };
        self.bill
            .add(model, answer.as_ref().ok().and_then(|answer| answer.usage));
        answer
    }
}

fn too_long(failure: &Failure) -> bool {
    matches!(
        failure.kind,
        ErrorKind::ContextOverflow | ErrorKind::PayloadTooLarge
    )
}
