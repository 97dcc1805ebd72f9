//! The order in which a command is decided about.
//!
//! 1. The hard list blocks, whatever else holds.
//! 2. `approvals.deny` blocks.
//! 3. `--yolo`, `/yolo` and the mode `off` allow.
//! 4. What is not dangerous, or was allowed before, runs.
//! 5. In the mode `smart` a model judges, where there is one.
//! 6. The person is asked; without anyone to ask the command is denied.

use talaria_types::{ApprovalAnswer, ApprovalRequest};
use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::grants::SmartVerdict;
use super::normalize::visible;
use super::{Danger, Grants, Mode, Surroundings, Verdict, deny, judge};
use crate::{Host, ToolContext, ToolSession, ToolSettings};

/// Decides about commands of one call.
pub struct Gate<'a> {
    settings: &'a ToolSettings,
    grants: &'a Grants,
    host: &'a dyn Host,
    folder: String,
    session: &'a ToolSession,
    call: &'a str,
    cancel: &'a CancellationToken,
}

/// Why a command does not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// `blocked`, `denied` or `interrupted`.
    pub status: &'static str,
    /// What the model is told.
    pub message: String,
}

/// Keeps a model from trying the same thing in other words.
const NO_RETRY: &str = "Do not retry it, rephrase it or reach the same end another way; tell the user what you wanted to do and why.";

impl<'a> Gate<'a> {
    /// The gate of a running call.
    pub fn of(cx: &'a ToolContext<'_>) -> Self {
        Self {
            settings: cx.session.settings(),
            grants: cx.session.grants(),
            host: cx.host,
            folder: cx.session.cwd().to_string_lossy().into_owned(),
            session: cx.session,
            call: &cx.call.id,
            cancel: cx.cancel,
        }
    }

    /// Whether `command` of `tool` may run; asks the person where that is needed.
    ///
    /// # Errors
    /// When it may not, with what the model is told.
    pub async fn check(&self, tool: &str, command: &str) -> Result<(), Refusal> {
        let home = std::env::home_dir().map(|home| home.to_string_lossy().into_owned());
        let own_home = self.settings.home.to_string_lossy();
        let program = std::env::current_exe().ok();
        let program = program.as_deref().and_then(std::path::Path::file_name);
        let surroundings = Surroundings {
            own_home: Some(&own_home),
            own_program: program.and_then(std::ffi::OsStr::to_str),
            folder: Some(&self.folder),
            home: home.as_deref(),
            sudo_password: std::env::var_os("SUDO_PASSWORD").is_some(),
        };
        let made = self.session.made_files();
        let disk = Disk {
            around: surroundings,
            made: &made,
        };
        let verdict = judge(command, surroundings).and(disk.look(command));
        // What it writes may be run by a later one.
        self.session.makes_files(disk.writes(command));
        let dangers = match verdict {
            Verdict::Block(reason) => {
                return Err(blocked(&format!(
                    "this command {reason}, and such commands never run"
                )));
            }
            Verdict::Allow => Vec::new(),
            Verdict::Ask(dangers) => dangers,
        };
        if let Some(pattern) = deny::denied(command, &self.settings.deny) {
            return Err(blocked(&format!(
                "the user's configuration denies commands like {pattern:?}"
            )));
        }
        if self.settings.yolo || self.grants.is_yolo() || self.settings.approval_mode == Mode::Off {
            return Ok(());
        }
        let allowed = |danger: &Danger| self.grants.allow(*danger, &self.settings.allowlist);
        let open: Vec<Danger> = dangers.into_iter().filter(|danger| !allowed(danger)).collect();
        if open.is_empty() || self.is_listed(command) {
            return Ok(());
        }
        tokio::select! {
            decision = self.decide(tool, command, &open) => decision,
            () = self.cancel.cancelled() => Err(Refusal {
                status: "interrupted",
                message: "interrupted by the user before this command was approved; it was not run".into(),
            }),
        }
    }

    /// Whether `tool`, which belongs to somebody else, may be called with `shown`; asks the person once
    /// for each tool. Consent is kept for the session, or for good in `command_allowlist`.
    ///
    /// # Errors
    /// When it may not, with what the model is told.
    pub async fn check_tool(&self, tool: &str, shown: &str, reason: &str) -> Result<(), Refusal> {
        let settings = self.settings;
        let off = settings.yolo || self.grants.is_yolo() || settings.approval_mode == Mode::Off;
        if off || self.grants.allows_tool(tool, &settings.allowlist) {
            return Ok(());
        }
        if !self.host.can_ask() {
            return Err(denied(&format!(
                "{tool} needs consent ({reason}) and there is nobody to ask; the user can allow it with --yolo, or for good by adding {tool} to command_allowlist"
            )));
        }
        let request = ApprovalRequest {
            id: format!("approval_{}", self.call),
            tool: tool.to_owned(),
            command: visible(&talaria_redact::redact(shown)),
            reason: visible(reason),
            may_always: true,
        };
        let answer = tokio::select! {
            answer = self.host.approve(request) => answer,
            () = self.cancel.cancelled() => return Err(Refusal {
                status: "interrupted",
                message: format!("interrupted by the user before {tool} was approved; it was not called"),
            }),
        };
        match answer {
            ApprovalAnswer::Once => {}
            ApprovalAnswer::Session => self.grants.grant_tool(tool, false),
            ApprovalAnswer::Always => self.grants.grant_tool(tool, true),
            ApprovalAnswer::Deny => {
                return Err(denied(&format!("the user did not approve {tool} ({reason})")));
            }
        }
        Ok(())
    }

    /// Whether the whole command stands in `command_allowlist`, or matches a pattern there.
    ///
    /// Only a command of one program: a pattern must not let through what is appended to it.
    fn is_listed(&self, command: &str) -> bool {
        let simple = !command.contains(['|', '&', ';', '<', '>', '`', '\n']) && !command.contains("$(");
        simple
            && self
                .settings
                .allowlist
                .iter()
                .any(|pattern| deny::matches(pattern, command.trim()))
    }

    async fn decide(&self, tool: &str, command: &str, open: &[Danger]) -> Result<(), Refusal> {
        let reason = open
            .iter()
            .map(|danger| danger.reason)
            .collect::<Vec<_>>()
            .join("; ");
        // A model may spare a person a question; where nobody could be asked it decides nothing.
        if self.settings.approval_mode == Mode::Smart
            && self.host.can_ask()
            && let Some(judge) = self.grants.judge()
        {
            match judge(command.to_owned(), reason.clone()).await {
                SmartVerdict::Approve => return Ok(()),
                SmartVerdict::Deny(why) => {
                    let why = if why.is_empty() { reason } else { why };
                    return Err(denied(&format!(
                        "the security reviewer refused this command ({why})"
                    )));
                }
                SmartVerdict::Escalate => {}
            }
        }
        if !self.host.can_ask() {
            return Err(denied(&format!(
                "this command is dangerous ({reason}) and there is nobody to approve it; the user can allow it with --yolo"
            )));
        }
        let request = ApprovalRequest {
            id: format!("approval_{}", self.call),
            tool: tool.to_owned(),
            command: visible(&talaria_redact::redact(command)),
            reason: visible(&reason),
            may_always: open.iter().all(|danger| danger.may_keep),
        };
        match self.host.approve(request).await {
            ApprovalAnswer::Once => {}
            ApprovalAnswer::Session => open.iter().for_each(|danger| self.grants.grant(*danger, false)),
            ApprovalAnswer::Always => open.iter().for_each(|danger| self.grants.grant(*danger, true)),
            ApprovalAnswer::Deny => {
                return Err(denied(&format!(
                    "the user did not approve this command ({reason})"
                )));
            }
        }
        Ok(())
    }
}

fn blocked(why: &str) -> Refusal {
    Refusal {
        status: "blocked",
        message: format!("BLOCKED: {why}. {NO_RETRY}"),
    }
}

fn denied(why: &str) -> Refusal {
    Refusal {
        status: "denied",
        message: format!("DENIED: {why}. It was not run. {NO_RETRY}"),
    }
}
