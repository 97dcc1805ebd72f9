use proptest::prelude::*;

use super::*;

fn events(chunks: &[&[u8]]) -> Vec<(String, String)> {
    let mut framer = Framer::default();
    let mut seen = Vec::new();
    let mut keep = |event: Event<'_>| seen.push((event.name.to_owned(), event.data.to_owned()));
    for chunk in chunks {
        framer.push(chunk, &mut keep);
    }
    framer.finish(&mut keep);
    seen
}

fn data(bytes: &[u8]) -> Vec<String> {
    events(&[bytes]).into_iter().map(|(_, data)| data).collect()
}

#[test]
fn every_line_ending_ends_a_line() {
    for text in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
    ] {
        assert_eq!(data(text.as_bytes()), ["a", "b"], "{text:?}");
    }
}

#[test]
fn comments_ids_and_retries_are_no_events() {
    assert_eq!(
        data(b": keep-alive\n\nid: 7\nretry: 10\n\n:\n\ndata: x\n\n"),
        ["x"]
    );
}

#[test]
fn lines_of_one_event_are_joined_and_one_space_is_taken_off() {
    assert_eq!(data(b"data:a\ndata:  b\ndata\n\n"), ["a\n b\n"]);
}

#[test]
fn an_event_keeps_its_name_and_the_next_one_does_not_inherit_it() {
    let seen = events(&[b"event: error\ndata: x\n\ndata: y\n\n"]);
    assert_eq!(
        seen,
        [
            ("error".to_owned(), "x".to_owned()),
            (String::new(), "y".to_owned())
        ]
    );
}

#[test]
fn a_byte_order_mark_is_not_part_of_the_first_field() {
    assert_eq!(data(b"\xef\xbb\xbfdata: x\n\n"), ["x"]);
}

#[test]
fn the_last_event_needs_no_blank_line() {
    assert_eq!(data(b"data: a\n\ndata: b"), ["a", "b"]);
    assert_eq!(data(b"data: a\n\ndata: b\n"), ["a", "b"]);
}

#[test]
fn a_unicode_line_separator_inside_of_data_is_data() {
    assert_eq!(
        data("data: a\u{2028}b\u{85}c\n\n".as_bytes()),
        ["a\u{2028}b\u{85}c"]
    );
}

#[test]
fn bytes_that_are_no_unicode_do_not_end_the_stream() {
    assert_eq!(data(b"data: a\xffb\n\ndata: c\n\n"), ["a\u{fffd}b", "c"]);
}

#[test]
fn an_error_body_without_a_field_name_is_kept_as_stray_text() {
    let mut framer = Framer::default();
    framer.push(b"data: a\n\n{\"error\": {\n  \"code\": 503\n}}\n", &mut |_| {});
    framer.finish(&mut |_| {});
    assert_eq!(framer.stray(), "{\"error\": {\n  \"code\": 503\n}}\n");
}

#[test]
fn stray_text_is_bounded() {
    let mut framer = Framer::default();
    for _ in 0..20_000 {
        framer.push(b"no field at all\n", &mut |_| {});
    }
    assert!(framer.stray().len() <= STRAY_LIMIT);
}

#[test]
fn the_first_byte_tells_what_a_body_is() {
    assert_eq!(sniff(b""), Sniff::Unknown);
    assert_eq!(sniff(b" \r\n"), Sniff::Unknown);
    assert_eq!(sniff(b"\n {\"a\""), Sniff::Json);
    assert_eq!(sniff(b"[{"), Sniff::Json);
    assert_eq!(sniff(b"<!doctype"), Sniff::Markup);
    assert_eq!(sniff(b"data: {"), Sniff::Lines);
    assert_eq!(sniff(b": ping"), Sniff::Lines);
}

proptest! {
    #[test]
    fn any_split_of_the_same_bytes_gives_the_same_events(
        bytes in proptest::collection::vec(prop_oneof![
            Just(b'\n'), Just(b'\r'), Just(b':'), Just(b' '), Just(b'd'), Just(0xe6), Just(0xbc), any::<u8>(),
        ], 0..200),
        words in proptest::collection::vec(prop_oneof![
            Just("data: "), Just("data:"), Just("event: e"), Just("\n\n"), Just("\r\n"), Just(": c\n"), Just("漢字"),
        ], 0..40),
        cuts in proptest::collection::vec(0usize..400, 0..12),
    ) {
        let mut whole = words.concat().into_bytes();
        whole.extend_from_slice(&bytes);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(whole.len())).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&whole[from..cut]);
            from = cut;
        }
        chunks.push(&whole[from..]);
        let singly: Vec<&[u8]> = whole.chunks(1).collect();
        let expected = events(&[&whole]);
        prop_assert_eq!(&events(&chunks), &expected);
        prop_assert_eq!(&events(&singly), &expected);
    }
}
