//! The table: one line a policy and number of compressions, the mean over sessions.

use super::policy::Policy;
use super::session::Outcome;
use std::fmt::Write;

const HEAD: &str = "\
| policy | compressions | in context | by id | by search | id or search | kept tokens | freed a time | cached between | breaks | bill |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
";

/// The table of outcomes, Markdown.
pub(crate) fn render(outcomes: &[Outcome]) -> String {
    let mut out = String::from(HEAD);
    let mut stops: Vec<usize> = outcomes.iter().map(|outcome| outcome.compressions).collect();
    stops.sort_unstable();
    stops.dedup();
    for policy in Policy::ALL {
        for stop in &stops {
            let of: Vec<&Outcome> = outcomes
                .iter()
                .filter(|outcome| outcome.policy == policy && outcome.compressions == *stop)
                .collect();
            if !of.is_empty() {
                row(&mut out, policy, *stop, &of);
            }
        }
    }
    out
}

/// One outcome, for who waits.
pub(crate) fn line(outcome: &Outcome) -> String {
    let mut line = String::new();
    row(&mut line, outcome.policy, outcome.compressions, &[outcome]);
    line.trim_end().to_owned()
}

fn row(out: &mut String, policy: Policy, stop: usize, of: &[&Outcome]) {
    let mean =
        |value: fn(&Outcome) -> f64| of.iter().map(|outcome| value(outcome)).sum::<f64>() / of.len() as f64;
    let percent = |value: fn(&Outcome) -> f64| format!("{:.1} %", 100.0 * mean(value));
    let _ = writeln!(
        out,
        "| {} | {stop} | {} | {} | {} | {} | {} | {:.0} | {} | {:.1} | {:.2} M |",
        policy.name(),
        percent(|outcome| outcome.found.in_context),
        percent(|outcome| outcome.found.by_id),
        percent(|outcome| outcome.found.by_search),
        percent(|outcome| outcome.found.recallable),
        percent(|outcome| outcome.kept_share),
        mean(|outcome| outcome.freed),
        percent(|outcome| outcome.cached_between),
        mean(|outcome| outcome.breaks as f64),
        mean(|outcome| outcome.bill) / 1e6,
    );
}
