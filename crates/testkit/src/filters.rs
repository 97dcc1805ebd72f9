//! What differs from run to run, as patterns for snapshots.

/// Pattern and stand-in for session ids, ports, times, durations and temporary paths. For
/// `insta::Settings::add_filter`, or any search and replace in this order.
pub const SNAPSHOT_FILTERS: &[(&str, &str)] = &[
    (r"\b\d{8}_\d{6}_[0-9a-f]{6}\b", "[session]"),
    (r"127\.0\.0\.1:\d+", "[server]"),
    (r"/tmp/\.?[A-Za-z0-9_.-]+", "[tmp]"),
    (
        r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:?\d{2})?",
        "[time]",
    ),
    (r"\b\d+(\.\d+)? ?(ms|s)\b", "[duration]"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        let mut text =
            "20261201_120000_a1b2c3 at 127.0.0.1:4711 in /tmp/.tmpAb1/x on 2026-12-01T12:00:00Z took 1.5 s"
                .to_owned();
        for (pattern, name) in SNAPSHOT_FILTERS {
            text = regex::Regex::new(pattern)
                .unwrap()
                .replace_all(&text, *name)
                .into_owned();
        }
        assert_eq!(text, "[session] at [server] in [tmp]/x on [time] took [duration]");
    }
}
