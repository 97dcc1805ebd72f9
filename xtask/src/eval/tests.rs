use super::*;

/// Seeds that no table was made with, and a window that a debug build gets through.
const WINDOW: u64 = 65_536;

fn measured(kind: Kind, policy: Policy, stops: &[usize]) -> Vec<Outcome> {
    let setting = Setting {
        kind,
        seed: 901,
        policy,
        window: WINDOW,
    };
    let mut writer = if policy == Policy::BareHeadings {
        Writer::BareHeadings
    } else {
        Writer::Extractor
    };
    session::run(&setting, stops, &mut writer).unwrap()
}

fn holds(kind: Kind) {
    let of = measured(kind, Policy::Ours, &[1, 10]);
    let (first, tenth) = (&of[0], &of[1]);
    assert!(tenth.found.recallable >= 0.99, "{kind:?}: {tenth:?}");
    assert!(
        first.found.recallable - tenth.found.recallable <= 0.01,
        "{kind:?}: {of:?}"
    );
    assert!(tenth.found.in_context >= 0.60, "{kind:?}: {tenth:?}");
    assert!(tenth.kept_share <= 0.10, "{kind:?}: {tenth:?}");
    assert!(tenth.cached_between >= 0.95, "{kind:?}: {tenth:?}");
    // The tenth compression has not been followed by a call yet.
    assert_eq!(tenth.breaks, 9, "{kind:?}");
}

#[test]
fn ten_compressions_of_an_english_session_leave_what_was_promised() {
    holds(Kind::English);
}

#[test]
fn ten_compressions_of_a_chinese_session_leave_what_was_promised() {
    holds(Kind::Chinese);
}

#[test]
fn ten_compressions_of_a_job_in_code_leave_what_was_promised() {
    holds(Kind::Code);
}

#[test]
fn the_anchors_are_worth_their_place_and_bare_headings_lose_nothing_for_good() {
    let ours = &measured(Kind::English, Policy::Ours, &[3])[0];
    let without = &measured(Kind::English, Policy::NoAnchors, &[3])[0];
    let bare = &measured(Kind::English, Policy::BareHeadings, &[3])[0];
    let cut = &measured(Kind::English, Policy::Cut, &[3])[0];
    assert!(
        ours.found.in_context > without.found.in_context + 0.2,
        "{ours:?} {without:?}"
    );
    assert!(bare.found.recallable >= 0.99, "{bare:?}");
    assert!(cut.found.recallable < 0.5, "{cut:?}");
}
