//! Whether a command may run.
//!
//! [`judge`] is pure: it reads a command with the shell's grammar and says
//! whether it is harmless, belongs to dangerous [`FAMILIES`], or is one of the
//! few that never run ([`HARDLINE`]). [`Gate`] adds what the configuration and
//! the person say, in a fixed order. Files have a check of their
//! own: [`protected_write`].
//!
//! This is a guard against mistakes of the model, not a sandbox: a program
//! that a command runs is not looked into.

mod deny;
mod disk;
mod families;
mod gate;
mod grants;
mod hardline;
mod matchers;
mod normalize;
mod own;
mod path;
mod readers;
mod shell;
mod targets;

#[cfg(test)]
mod disguises;
#[cfg(test)]
mod tests;

pub use families::{FAMILIES, Family};
pub use gate::{Gate, Refusal};
pub use grants::{Grants, SmartJudge, SmartVerdict};
pub use hardline::{HARDLINE, Hardline};
pub(crate) use normalize::visible;
pub use path::{protected_write, protected_write_for};

pub(crate) use shell::{Call, Scene, last_program, takes_commands};

/// `approvals.mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every dangerous command is asked for.
    Manual,
    /// A model judges first; what it is unsure of is asked for.
    #[default]
    Smart,
    /// Nothing is asked for; the hard list still holds.
    Off,
}

/// Where a command would run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// The folder it starts in.
    pub folder: Option<&'a str>,
    /// The user's home.
    pub home: Option<&'a str>,
    /// This program's own home.
    pub own_home: Option<&'a str>,
    /// The name this program runs under.
    pub own_program: Option<&'a str>,
    /// Whether the person has given a password for `sudo`.
    pub sudo_password: bool,
}

/// What there is to say of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is harmless, as far as can be seen.
    Allow,
    /// It is dangerous in these ways.
    Ask(Vec<Danger>),
    /// It never runs, for this reason.
    Block(&'static str),
}

/// One way in which a command is dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Danger {
    /// Under this name consent is kept.
    pub key: &'static str,
    /// What the person is told.
    pub reason: &'static str,
    /// Whether consent may be kept at all.
    pub may_keep: bool,
}

/// Judges `command`.
pub fn judge(command: &str, surroundings: Surroundings<'_>) -> Verdict {
    let command = normalize::normalize(command);
    let mut scene = Scene::read(&command, surroundings.folder, surroundings.home);
    scene.know(own::Own::new(surroundings.own_home, surroundings.own_program));
    if let Some(reason) = hardline::blocked(&scene) {
        return Verdict::Block(reason);
    }
    if !surroundings.sudo_password && scene.calls.iter().any(reads_password) {
        return Verdict::Block("gives sudo a password that the user has not provided");
    }
    let mut dangers: Vec<Danger> = families::found(&scene)
        .iter()
        .map(|family| Danger {
            key: family.key,
            reason: family.description,
            may_keep: true,
        })
        .collect();
    if let Some(reason) = scene.unreadable {
        // Consent to one command that nobody could read is no consent to the next.
        dangers.push(Danger {
            key: "unreadable",
            reason,
            may_keep: false,
        });
    }
    if dangers.is_empty() {
        Verdict::Allow
    } else {
        Verdict::Ask(dangers)
    }
}

/// `sudo -S`: a password is piped in, that is, guessed.
fn reads_password(call: &Call) -> bool {
    call.sudo_options
        .iter()
        .any(|option| match option.strip_prefix("--") {
            Some(long) => long == "stdin",
            None => option.contains('S'),
        })
}
