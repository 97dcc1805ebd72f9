//! Small texts for people: times, sizes, columns.

use jiff::tz::TimeZone;
use talaria_types::Timestamp;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Now, as the store counts.
pub(crate) fn now() -> Timestamp {
    Timestamp(jiff::Timestamp::now().as_microsecond() as f64 / 1e6)
}

/// How long ago, in one unit.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.since(then).max(0.0) as u64;
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        86_400..2_592_000 => format!("{}d ago", seconds / 86_400),
        _ => day(then),
    }
}

/// A date.
pub(crate) fn day(at: Timestamp) -> String {
    zoned(at).strftime("%Y-%m-%d").to_string()
}

/// Date and time.
pub(crate) fn moment(at: Timestamp) -> String {
    zoned(at).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Now as session ids begin, `YYYYMMDD_HHMMSS` in local time.
pub(crate) fn stamp() -> String {
    zoned(now()).strftime("%Y%m%d_%H%M%S").to_string()
}

fn zoned(at: Timestamp) -> jiff::ZonedDateTime {
    let moment = jiff::Timestamp::from_microsecond((at.0 * 1e6) as i64).unwrap_or_default();
    moment.to_zoned_datetime(TimeZone::system())
}

/// A number and what it counts: `1 session`, `2 sessions`.
pub(crate) fn count(number: impl TryInto<u64>, one: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {one}{s}")
}

/// Bytes in a unit people read.
pub(crate) fn bytes(count: u64) -> String {
    let mut size = count as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if size < 1000.0 {
            return if unit == "B" {
                format!("{count} B")
            } else {
                format!("{size:.1} {unit}")
            };
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// Seconds with as many digits as matter.
pub(crate) fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..10_000 => format!("{:.1}s", milliseconds as f64 / 1000.0),
        10_000..60_000 => format!("{}s", milliseconds / 1000),
        _ => format!("{}m{:02}s", milliseconds / 60_000, milliseconds / 1000 % 60),
    }
}

/// One line, at most `width` columns wide, without control characters.
pub(crate) fn clipped(text: &str, width: usize) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let flat: String = flat.chars().filter(|letter| !letter.is_control()).collect();
    if flat.width() <= width {
        return flat;
    }
    let mut out = String::new();
    let mut used = 0;
    for letter in flat.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        out.push(letter);
    }
    out.push('…');
    out
}

/// `text` filled with blanks to `width` columns.
pub(crate) fn padded(text: &str, width: usize) -> String {
    let clipped = clipped(text, width);
    let missing = width.saturating_sub(clipped.width());
    clipped + &" ".repeat(missing)
}

/// Rows under a head, columns as wide as they need and at most as wide as they may.
pub(crate) fn table(head: &[(&str, usize)], rows: &[Vec<String>]) -> String {
    let width = |column: usize, most: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.width());
        let head = head.get(column).map_or(0, |(name, _)| name.width());
        cells.chain([head]).max().unwrap_or(0).min(most)
    };
    let widths: Vec<usize> = head
        .iter()
        .enumerate()
        .map(|(column, (_, most))| width(column, *most))
        .collect();
    let line = |cells: Vec<&str>| {
        let padded = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| padded(cell, *width));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(head.iter().map(|(name, _)| *name).collect())];
    lines.extend(
        rows.iter()
            .map(|row| line(row.iter().map(String::as_str).collect())),
    );
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_one_unit() {
        let ago = |seconds: f64| ago(Timestamp(1_000_000.0), Timestamp(1_000_000.0 + seconds));
        let told = [5.0, 65.0, 7_300.0, 200_000.0, -5.0].map(ago);
        assert_eq!(told, ["just now", "1m ago", "2h ago", "2d ago", "just now"]);
    }

    #[test]
    fn wide_letters_are_counted_by_their_columns() {
        assert_eq!(clipped("日本語のテキスト", 7), "日本語…");
        assert_eq!(padded("日本", 6), "日本  ");
        assert_eq!(clipped("a\x1b[31m\n b", 20), "a[31m b");
    }

    #[test]
    fn a_table_is_as_wide_as_its_content() {
        let rows = vec![
            vec!["one".to_owned(), "x".to_owned()],
            vec!["twenty".to_owned(), "y".to_owned()],
        ];
        assert_eq!(
            table(&[("A", 5), ("B", 10)], &rows),
            "A      B\none    x\ntwen…  y"
        );
    }

    #[test]
    fn durations_and_sizes_are_short() {
        assert_eq!([40, 1_250, 61_000].map(seconds), ["0.0s", "1.2s", "1m01s"]);
        assert_eq!([12, 1_500, 2_000_000].map(bytes), ["12 B", "1.5 kB", "2.0 MB"]);
    }
}
