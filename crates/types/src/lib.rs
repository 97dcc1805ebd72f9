//! The words every floor shares.
//!
//! Plain data and nothing else: no I/O, no clock, no randomness, no policy. A
//! [`Message`] is one row of a conversation, a [`ModelRequest`] is what a model
//! is asked, a [`Completion`] is what it answered, an [`Event`] is what a front
//! end is told, an [`Op`] is what a front end asks for, and a [`TurnResult`] is
//! what is left when a turn has ended.

mod completion;
mod error;
mod event;
mod ids;
mod message;
mod model;
mod op;
mod request;
mod result;
mod time;
mod tool;

pub use completion::{Completion, Delta, FinishReason, Usage};
pub use error::{ErrorKind, TurnError};
pub use event::{Anchors, CompactionReport, Envelope, Event, Trigger};
pub use ids::{MessageId, ParseMessageIdError, SessionId, TurnId};
pub use message::{Content, ImagePart, ImageSource, Message, Part, Reasoning, Role, StoredMessage};
pub use model::{ApiMode, ModelIdentity};
pub use op::{ApprovalAnswer, ApprovalRequest, Op, Question};
pub use request::{ModelRequest, Rewrite, Task, ToolChoice};
pub use result::{ExitReason, RecoveryCount, TurnResult};
pub use time::Timestamp;
pub use tool::{Effect, ToolCall, ToolResult, ToolSpec};
