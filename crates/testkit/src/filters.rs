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
