//! How long a server asks to wait: in headers, in its body, in its words.
//!
//! The surest source is asked first. Nothing is capped here; whether a wait is
//! worth it is decided by the rows.

use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use regex::Regex;
use serde_json::Value;
use talaria_types::Timestamp;

use super::envelope::Envelope;

/// A year and a day; beyond it a number was something else.
const LONGEST_MS: f64 = 366.0 * 86_400_000.0;
/// Seconds above this are a moment, not a span.
const EPOCH_SECONDS: f64 = 1_000_000_000.0;
/// Milliseconds above this are a moment.
const EPOCH_MILLIS: f64 = 1_000_000_000_000.0;

/// A wait and whether headers say that a bucket is empty until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) ms: Option<u64>,
    pub(super) bucket_empty: bool,
}

/// Response headers, looked up in any case.
pub(super) struct Headers<'a>(pub(super) &'a [(String, String)]);

impl<'a> Headers<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    }

    /// The server's own clock, else ours.
    fn now(&self, ours: Option<Timestamp>) -> Option<f64> {
        let servers = self.get("date").and_then(http_date);
        servers.or(ours.map(|now| now.0))
    }
}

/// The wait of one failure.
pub(super) fn read(headers: &Headers<'_>, envelope: &Envelope, lower: &str, ours: Option<Timestamp>) -> Wait {
    let now = headers.now(ours);
    let bucket = bucket(headers, now);
    let ms = of_headers(headers, now)
        .or_else(|| envelope.values.iter().find_map(|value| of_body(value, now, 0)))
        .or_else(|| of_text(lower))
        .or(bucket);
    Wait {
        ms,
        bucket_empty: bucket.is_some(),
    }
}

fn of_headers(headers: &Headers<'_>, now: Option<f64>) -> Option<u64> {
    if let Some(ms) = headers
        .get("retry-after-ms")
        .and_then(|text| text.parse::<f64>().ok())
    {
        return millis(ms);
    }
    let text = headers.get("retry-after")?;
    match text.parse::<f64>() {
        Ok(seconds) => millis(seconds * 1_000.0),
        Err(_) => http_date(text)
            .and_then(|then| millis((then - now?) * 1_000.0))
            .or_else(|| of_text(&format!("retry after {}", text.to_lowercase()))),
    }
}

/// Buckets that a server counts in headers: when one is empty, its reset is the wait.
fn bucket(headers: &Headers<'_>, now: Option<f64>) -> Option<u64> {
    let pairs = [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
        (
            "x-ratelimit-remaining-requests-1h",
            "x-ratelimit-reset-requests-1h",
        ),
        ("x-ratelimit-remaining-tokens-1h", "x-ratelimit-reset-tokens-1h"),
        ("x-ratelimit-remaining", "x-ratelimit-reset"),
        (
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ),
        (
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
        ),
        (
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ),
        (
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ),
    ];
    let empty = |name: &str| {
        headers
            .get(name)
            .and_then(|text| text.parse::<f64>().ok())
            .is_some_and(|n| n <= 0.0)
    };
    let resets = pairs
        .iter()
        .filter(|(left, _)| empty(left))
        .filter_map(|(_, reset)| headers.get(reset));
    resets.filter_map(|text| moment_or_span(text, now)).max()
}

/// `6m0s`, `12.5`, epoch seconds or milliseconds, or an RFC 3339 moment.
fn moment_or_span(text: &str, now: Option<f64>) -> Option<u64> {
    if let Ok(number) = text.parse::<f64>() {
        return number_of(number, now);
    }
    match rfc3339(text) {
        Some(then) => millis((then - now?) * 1_000.0),
        None => span(&text.to_lowercase()),
    }
}

fn number_of(number: f64, now: Option<f64>) -> Option<u64> {
    if number >= EPOCH_MILLIS {
        millis(number - now? * 1_000.0)
    } else if number >= EPOCH_SECONDS {
        millis((number - now?) * 1_000.0)
    } else {
        millis(number * 1_000.0)
    }
}

/// Fields that hold a wait, at any depth of the body.
fn of_body(value: &Value, now: Option<f64>, depth: usize) -> Option<u64> {
    if depth > 8 {
        return None;
    }
    match value {
        Value::Array(items) => items
            .iter()
            .take(16)
            .find_map(|item| of_body(item, now, depth + 1)),
        Value::Object(object) => object
            .iter()
            .find_map(|(key, inner)| of_field(key, inner, now))
            .or_else(|| object.values().find_map(|inner| of_body(inner, now, depth + 1))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn of_field(key: &str, value: &Value, now: Option<f64>) -> Option<u64> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let number = value
        .as_f64()
        .or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    match key.as_str() {
        "retry_after_ms" | "retryafterms" => number.and_then(millis),
        "retrydelay"
        | "retry_delay"
        | "quotaresetdelay"
        | "retry_after"
        | "retryafter"
        | "retry_after_seconds"
        | "resets_in_seconds"
        | "reset_in_seconds"
        | "reset_after" => number
            .and_then(|number| number_of(number, now))
            .or_else(|| value.as_str().and_then(|text| span(&text.to_lowercase())))
            .or_else(|| {
                value
                    .get("seconds")
                    .and_then(Value::as_f64)
                    .and_then(|s| millis(s * 1_000.0))
            }),
        "resets_at" | "reset_at" | "x_ratelimit_reset" => number
            .filter(|n| *n >= EPOCH_SECONDS)
            .and_then(|number| number_of(number, now)),
        _ => None,
    }
}

/// What stands before a wait in words; the wait follows at the end of the match.
static BEFORE: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    [
        r"(?:try|retry|again|resets?|refreshes|available|wait)(?:ing)?(?: again)?(?: your request)?(?: at least)?(?: in| after| for)?:?\s*~?\s*",
        r"(?:after|in|for)\s+~?",
        r"请(?:在|于|等待)?\s*",
        r"(?:将在|将于|在|需)\s*",
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).ok())
    .collect()
});

/// A wait stated in words.
fn of_text(lower: &str) -> Option<u64> {
    BEFORE.iter().flatten().find_map(|before| {
        before
            .find_iter(lower)
            .find_map(|found| span(lower.get(found.end()..).unwrap_or_default()))
    })
}

/// The span of time at the start of a text, in milliseconds: number and unit, repeated
/// (`2m 13s`, `6.780999999s`, `1 hour and 5 minutes`, `20 秒`).
fn span(lower: &str) -> Option<u64> {
    let mut total = 0.0;
    let mut rest = lower.trim_start();
    while let Some((ms, after)) = amount(rest) {
        total += ms;
        rest = after.trim_start_matches([',', ' ']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    millis(total)
}

/// One number with its unit, in milliseconds, and what follows.
fn amount(text: &str) -> Option<(f64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text.get(..digits)?.parse().ok()?;
    let rest = text.get(digits..)?.trim_start();
    let latin = rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len());
    if latin > 0 {
        return Some((number * unit_ms(rest.get(..latin)?)?, rest.get(latin..)?));
    }
    let units = ["毫秒", "秒钟", "秒", "分钟", "分", "个小时", "小时", "天"];
    let unit = units.into_iter().find(|unit| rest.starts_with(unit))?;
    Some((number * unit_ms(unit)?, rest.get(unit.len()..)?))
}

fn unit_ms(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" | "毫秒" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" | "秒" | "秒钟" => 1_000.0,
        "m" | "min" | "mins" | "minute" | "minutes" | "分" | "分钟" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" | "小时" | "个小时" => 3_600_000.0,
        "d" | "day" | "days" | "天" => 86_400_000.0,
        _ => return None,
    })
}

/// Milliseconds, rounded up; nothing for what is past, absurd or no number.
fn millis(ms: f64) -> Option<u64> {
    if !ms.is_finite() || ms <= 0.0 || ms > LONGEST_MS {
        return None;
    }
    Duration::try_from_secs_f64(ms.ceil() / 1_000.0)
        .ok()
        .and_then(|wait| u64::try_from(wait.as_millis()).ok())
}

/// A date of HTTP as seconds since the epoch.
fn http_date(text: &str) -> Option<f64> {
    let moment = httpdate::parse_http_date(text).ok()?;
    moment
        .duration_since(UNIX_EPOCH)
        .ok()
        .map(|span| span.as_secs_f64())
}

/// `2026-08-01T12:00:00Z` as seconds since the epoch; offsets other than Z are not sent.
fn rfc3339(text: &str) -> Option<f64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut time = time.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if !(1970..=9_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = u32::try_from(days_from_epoch(year, month, day)).ok()?;
    Some(f64::from(days) * 86_400.0 + hour * 3_600.0 + minute * 60.0 + second)
}

/// Days since 1970-01-01 of a date in the Gregorian calendar (years start in March here).
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(text: &str) -> Option<u64> {
        of_text(&text.to_lowercase())
    }

    #[test]
    fn every_pattern_compiles() {
        assert!(BEFORE.iter().all(Option::is_some));
    }

    #[test]
    fn a_wait_is_read_from_words() {
        for (text, ms) in [
            ("Please try again in 6.780999999s. Visit", 6_781),
            ("Please try again in 20ms.", 20),
            ("All accounts are limited (reset after 2m 13s)", 133_000),
            ("limited (reset after 4s)", 4_000),
            (
                "You have reached your usage limit for this plan; resets in 3h",
                10_800_000,
            ),
            ("Try again in ~179 min.", 10_740_000),
            ("please try again after 1 seconds", 1_000),
            ("Please retry after 20 seconds.", 20_000),
            ("Please wait 30 seconds before trying again", 30_000),
            ("Try again in 1 hour and 5 minutes", 3_900_000),
            ("Please try again in 7m12.5s", 432_500),
            ("请在 20 秒后重试", 20_000),
            ("请 5 分钟后再试", 300_000),
            ("限额将在 2 小时后重置", 7_200_000),
        ] {
            assert_eq!(words(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn numbers_that_are_no_wait_are_left_alone() {
        for text in [
            "Please try again later.",
            "Limit 20 requests per minute",
            "maximum context length is 4097 tokens",
            "in 2024 models",
            "retry after compressing 3 messages",
        ] {
            assert_eq!(words(text), None, "{text}");
        }
    }

    fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn wait(pairs: &[(&str, &str)], body: &Value, now: Option<f64>) -> Wait {
        let pairs = headers(pairs);
        let envelope = Envelope::read(&body.to_string());
        read(&Headers(&pairs), &envelope, "", now.map(Timestamp))
    }

    #[test]
    fn a_header_is_read_as_seconds_milliseconds_and_date() {
        let none = json!({});
        assert_eq!(wait(&[("Retry-After", "3")], &none, None).ms, Some(3_000));
        assert_eq!(wait(&[("retry-after", "2.5")], &none, None).ms, Some(2_500));
        assert_eq!(
            wait(&[("retry-after", "1"), ("retry-after-ms", "250")], &none, None).ms,
            Some(250)
        );
        assert_eq!(wait(&[("retry-after", "7s")], &none, None).ms, Some(7_000));
        let date = [("retry-after", "Thu, 01 Jan 1970 00:01:40 GMT")];
        assert_eq!(wait(&date, &none, Some(94.0)).ms, Some(6_000));
        assert_eq!(wait(&date, &none, None).ms, None);
        assert_eq!(
            wait(&date, &none, Some(200.0)).ms,
            None,
            "a moment that is past is no wait"
        );
        let both = [date[0], ("Date", "Thu, 01 Jan 1970 00:01:37 GMT")];
        assert_eq!(
            wait(&both, &none, Some(0.0)).ms,
            Some(3_000),
            "the server's clock goes first"
        );
    }

    #[test]
    fn a_body_is_read_at_any_depth() {
        for (body, ms) in [
            (
                json!([{"error": {"details": [{"@type": "x.RetryInfo", "retryDelay": "34s"}]}}]),
                34_000,
            ),
            (
                json!({"error": {"details": [{"retryDelay": "34.074824224s"}]}}),
                34_075,
            ),
            (json!({"retry_after": 12}), 12_000),
            (json!({"error": {"retry_after_ms": 1500}}), 1_500),
            (
                json!({"error": {"type": "usage_limit_reached", "resets_in_seconds": 10740}}),
                10_740_000,
            ),
            (json!({"error": {"resets_at": 1_700_000_060}}), 60_000),
            (
                json!({"error": {"metadata": {"headers": {"X-RateLimit-Reset": "1700000005000"}}}}),
                5_000,
            ),
        ] {
            assert_eq!(wait(&[], &body, Some(1_700_000_000.0)).ms, Some(ms), "{body}");
        }
    }

    #[test]
    fn an_empty_bucket_tells_when_it_is_full() {
        let none = json!({});
        let groq = [
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(
            wait(&groq, &none, None),
            Wait {
                ms: Some(360_000),
                bucket_empty: true
            }
        );
        let anthropic = [
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2026-12-01T00:01:00Z"),
        ];
        assert_eq!(wait(&anthropic, &none, Some(1_796_083_200.0)).ms, Some(60_000));
        let full = [
            ("x-ratelimit-remaining-tokens", "900"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ];
        assert_eq!(wait(&full, &none, None), Wait::default());
    }
}
