//! `/goal`

use super::{Command, CommandError};
use crate::goal::{Goal, GoalStatus};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["goal"],
    args: "[TEXT | status | pause | resume | clear]",
    help: "work towards a goal over several turns, until a judge finds it reached",
    run: |session, args| Box::pin(std::future::ready(goal(session, args))),
};

fn goal(session: &mut Session, args: &str) -> Result<String, CommandError> {
    let standing = session.goal().filter(|goal| goal.status != GoalStatus::Cleared);
    let word = args.to_ascii_lowercase();
    match (word.as_str(), standing) {
        ("" | "status" | "show", None) => Ok("no goal is set; /goal TEXT sets one".to_owned()),
        ("" | "status" | "show", Some(goal)) => Ok(goal.told()),
        ("pause" | "resume" | "clear" | "stop" | "done", None) => {
            Err(CommandError::Refused("no goal is set".to_owned()))
        }
        ("pause", Some(mut goal)) => {
            let told = goal.pause("you paused it");
            session.keep_goal(&goal)?;
            Ok(told)
        }
        ("resume", Some(mut goal)) => {
            goal.status = GoalStatus::Active;
            goal.turns_used = 0;
            goal.consecutive_parse_failures = 0;
            goal.paused_reason = None;
            session.keep_goal(&goal)?;
            session.inbox().ask_next(goal.continuation());
            Ok(goal.told())
        }
        ("clear" | "stop" | "done", Some(mut goal)) => {
            goal.status = GoalStatus::Cleared;
            session.keep_goal(&goal)?;
            Ok("the goal is taken back".to_owned())
        }
        (_, _) => {
            let goal = Goal::new(args, session.config().goals.max_turns);
            session.keep_goal(&goal)?;
            session.inbox().ask_next(args.to_owned());
            Ok(goal.told())
        }
    }
}
