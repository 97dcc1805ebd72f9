//! Why a call had no answer.

use std::time::Duration;

/// Why a program could not be had, or what it answered instead of a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PeerError {
    /// The program could not be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program's name.
        program: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It died too often; it is not started again before `left` has passed.
    #[error("{program} died too often and is left alone for {} s; last: {last}", left.as_secs().max(1))]
    Resting {
        /// The program's name.
        program: String,
        /// Time until the next start.
        left: Duration,
        /// How it ended the last time.
        last: String,
    },
    /// No answer came in time. The program goes on; a late answer is dropped.
    #[error("{program} did not answer \"{method}\" within {} s", within.as_secs_f32())]
    Late {
        /// The program's name.
        program: String,
        /// What was called.
        method: String,
        /// The bound that passed.
        within: Duration,
    },
    /// The program ended, or broke the protocol and was ended, while something was waited for.
    #[error("{program} {how}")]
    Died {
        /// The program's name.
        program: String,
        /// How it ended, and the last lines it said on standard error, secrets masked.
        how: String,
    },
    /// The program answered with an error.
    #[error("{program} refused \"{method}\": {message} ({code})")]
    Refused {
        /// The program's name.
        program: String,
        /// What was called.
        method: String,
        /// JSON-RPC's error code.
        code: i64,
        /// What the program says about it, secrets masked.
        message: String,
    },
    /// Too many messages wait to be read by the program.
    #[error("{program} does not read what it is sent")]
    Busy {
        /// The program's name.
        program: String,
    },
    /// [`Peer::stop`](crate::Peer::stop) was called.
    #[error("{program} was stopped")]
    Stopped {
        /// The program's name.
        program: String,
    },
}

impl PeerError {
    /// Whether the program does not know the method: what is optional is left out then.
    pub fn is_unknown_method(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == crate::METHOD_NOT_FOUND)
    }
}
