//! `chat`, `-z`, and no command at all: talking.

use std::io::{IsTerminal, Read};
use std::os::fd::AsFd;

use clap::Args;

use super::Row;
use crate::args::{self, Root, TurnFlags};
use crate::exit::{Failure, Outcome};
use crate::face::{self, Asked, Manner};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "chat",
    about: "Talk: one turn with -q, an interactive session without",
    define: Chat::augment_args,
    run: |place, root, matches| {
        let chat: Chat = args::read(matches)?;
        if chat.query.is_some() && root.prompt().is_some() {
            return Err(Failure::usage("there are two prompts").hint("give one of -z TEXT and -q TEXT"));
        }
        let flags = chat.turn.over(root.turn);
        talk(
            place,
            &flags,
            chat.query.or(root.oneshot).or(root.query),
            if chat.quiet { Manner::Quiet } else { Manner::Chat },
        )
    },
};

#[derive(Args, Debug)]
struct Chat {
    /// Run one turn with this prompt, then exit.
    #[arg(short, long, value_name = "TEXT")]
    query: Option<String>,

    /// With -q: nothing but warnings and errors on stderr.
    #[arg(short = 'Q', long)]
    quiet: bool,

    #[command(flatten)]
    turn: TurnFlags,
}

/// `talaria` without a command, with or without `-z` or `-q`.
pub(super) fn bare(place: &Place, root: Root) -> Outcome {
    let manner = if root.oneshot.is_some() {
        Manner::Quiet
    } else {
        Manner::Chat
    };
    talk(place, &root.turn, root.oneshot.or(root.query), manner)
}

fn talk(place: &Place, flags: &TurnFlags, prompt: Option<String>, manner: Manner) -> Outcome {
    let outcome = attempt(place, flags, prompt, manner);
    if let Err(failure) = &outcome {
        let result = failure.as_result();
        if flags.json {
            output::json(&result);
        } else if flags.stream_json {
            output::json(&serde_json::json!({
                "type": "turn_finished", "result": result, "session_id": null, "turn_id": null, "seq": 1,
            }));
        }
    }
    outcome
}

fn attempt(place: &Place, flags: &TurnFlags, prompt: Option<String>, manner: Manner) -> Outcome {
    let terminal = std::io::stdin().is_terminal();
    let structured = flags.json || flags.stream_json;
    if prompt.is_none() && terminal && !structured {
        return face::converse(place, flags);
    }
    let prompt = match prompt {
        Some(text) => with_piped(text)?,
        None => piped()?,
    };
    if prompt.trim().is_empty() && flags.image.is_empty() {
        return Err(Failure::usage("the prompt is empty")
            .hint("give one with -q TEXT or -z TEXT, or pipe it into standard input"));
    }
    face::one_turn(place, flags, Asked { prompt, manner })
}

/// The prompt from standard input.
fn piped() -> Result<String, Failure> {
    let text = read_all()?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// A prompt that was typed, with what is piped in after it (`git diff | talaria -z "review this"`).
///
/// A pipe that nobody writes to and nobody closes is common (a service, a loop over lines) and must not
/// hang the program, so it is only read when something is there soon.
fn with_piped(prompt: String) -> Result<String, Failure> {
    let stdin = std::io::stdin();
    let Ok(stat) = rustix::fs::fstat(stdin.as_fd()) else {
        return Ok(prompt);
    };
    let has_text = match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => true,
        rustix::fs::FileType::Fifo => speaks_soon(&stdin),
        _ => false,
    };
    if !has_text {
        return Ok(prompt);
    }
    let text = read_all()?;
    let text = text.trim_end_matches(['\n', '\r']);
    Ok(if text.is_empty() {
        prompt
    } else {
        format!("{prompt}\n\n{text}")
    })
}

fn speaks_soon(stdin: &std::io::Stdin) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const PATIENCE: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 150_000_000,
    };
    let mut fds = [PollFd::new(stdin, PollFlags::IN)];
    if poll(&mut fds, Some(&PATIENCE)).is_ok_and(|ready| ready > 0) {
        return true;
    }
    output::note("standard input is open but says nothing; it is ignored (`</dev/null` avoids this note)");
    false
}

fn read_all() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("standard input is not UTF-8 text (byte {at})"))
            .hint("name a file in the prompt instead; tools can read other encodings")
    })
}
