use super::*;

const PLAN: WindowPlan = WindowPlan {
    window: 202_000,
    max_output: 0,
    threshold: 0.5,
    min_tokens: 64_000,
};

#[test]
fn the_trigger_follows_window_threshold_floor_and_output() {
    // window, threshold, min_tokens, max_output, trigger
    let table = [
        (200_000, 0.5, 64_000, 0, 100_000),
        (100_000, 0.5, 64_000, 0, 64_000),
        (64_000, 0.5, 64_000, 0, 54_400),
        (202_000, 0.5, 64_000, 0, 101_000),
        (64_000, 0.5, 64_000, 8_000, 47_600),
        (200_000, 0.3, 1_000, 0, 60_000),
        (33_333, 0.5, 1_000, 0, 16_666),
        (4_096, 0.5, 64_000, 0, 3_481),
        (8_192, 0.5, 64_000, 16_384, 3_481),
    ];
    for (window, threshold, min_tokens, max_output, trigger) in table {
        let plan = WindowPlan {
            window,
            threshold,
            min_tokens,
            max_output,
        };
        assert_eq!(plan.trigger(), trigger, "{plan:?}");
    }
}

#[test]
fn what_came_back_never_counts_and_one_token_decides() {
    let counter = Counter::for_model("mock-model");
    let mut meter = Meter::default();
    meter.answered(20_000, Some(85_000));
    assert_eq!(
        meter.verdict(meter.after_answer(45_000, &counter), &PLAN),
        Verdict::Fits
    );
    meter.answered(20_000, Some(100_999));
    assert_eq!(
        meter.verdict(meter.after_answer(20_100, &counter), &PLAN),
        Verdict::Fits
    );
    meter.answered(20_000, Some(101_000));
    assert_eq!(
        meter.verdict(meter.after_answer(20_100, &counter), &PLAN),
        Verdict::Compress
    );
}

#[test]
fn without_a_report_the_estimate_decides() {
    let counter = Counter::for_model("mock-model");
    let mut meter = Meter::default();
    assert_eq!(meter.after_answer(101_000, &counter), 101_000);
    meter.answered(90_000, Some(80_000));
    meter.answered(95_000, None);
    assert_eq!(meter.after_answer(110_000, &counter), 100_000);
    meter.answered(95_000, Some(0));
    assert_eq!(meter.after_answer(111_000, &counter), 101_000);
    assert_eq!(meter.tokens(45_000, &counter), 40_000);
}

#[test]
fn right_after_a_compression_nothing_is_compressed_until_something_was_added_or_reported() {
    let plan = WindowPlan {
        window: 16_000,
        threshold: 0.1,
        min_tokens: 200,
        max_output: 0,
    };
    let mut meter = Meter::default();
    meter.compressed(4_000, 2_500);
    assert_eq!(meter.verdict(2_510, &plan), Verdict::Fits);
    assert_eq!(meter.verdict(2_600, &plan), Verdict::Compress);
    meter.answered(2_510, Some(2_520));
    assert_eq!(meter.verdict(2_520, &plan), Verdict::Compress);
}

#[test]
fn two_weak_passes_pause_it_and_the_person_hears_of_it_once() {
    let mut meter = Meter::default();
    for _ in 0..2 {
        assert_eq!(meter.verdict(120_000, &PLAN), Verdict::Compress);
        assert_eq!(meter.pause_notice(), None);
        // The estimate says half is gone; the provider says it is not.
        meter.compressed(120_000, 60_000);
        meter.answered(60_000, Some(119_000));
    }
    assert_eq!(meter.verdict(120_000, &PLAN), Verdict::Paused);
    let stored = serde_json::to_string(&meter).unwrap();
    let mut meter: Meter = serde_json::from_str(&stored).unwrap();
    assert!(meter.pause_notice().is_some());
    let stored = serde_json::to_string(&meter).unwrap();
    let mut meter: Meter = serde_json::from_str(&stored).unwrap();
    assert_eq!(meter.pause_notice(), None);
    assert_eq!(meter.verdict(121_000, &PLAN), Verdict::Paused);
}

#[test]
fn it_comes_back_when_the_conversation_grew_the_model_changed_or_the_person_asked() {
    let mut paused = Meter::default();
    paused.compressed(120_000, 120_000);
    paused.compressed(120_000, 121_000);
    assert_eq!(paused.verdict(121_000, &PLAN), Verdict::Paused);
    assert_eq!(paused.verdict(121_000 + 25_250, &PLAN), Verdict::Compress);
    let mut meter = paused.clone();
    meter.change_model();
    assert_eq!(meter.verdict(121_000, &PLAN), Verdict::Compress);
    let mut meter = paused.clone();
    meter.resume();
    assert_eq!(meter.verdict(121_000, &PLAN), Verdict::Compress);
    paused.compressed(150_000, 50_000);
    paused.answered(50_000, Some(52_000));
    assert_eq!(paused.verdict(121_000, &PLAN), Verdict::Compress);
}

#[test]
fn one_weak_pass_between_good_ones_pauses_nothing() {
    let mut meter = Meter::default();
    for reported in [119_000, 40_000, 119_000, 40_000] {
        meter.compressed(120_000, 60_000);
        meter.answered(60_000, Some(reported));
    }
    assert_eq!(meter.verdict(120_000, &PLAN), Verdict::Compress);
}

#[test]
fn refusals_without_a_number_lower_a_ceiling_for_this_conversation() {
    let mut meter = Meter::default();
    assert_eq!(meter.bounded(PLAN), PLAN);
    meter.refuse(100_000);
    assert_eq!(meter.bounded(PLAN).room(), 85_000);
    meter.refuse(200_000);
    assert_eq!(meter.bounded(PLAN).room(), 85_000);
    let plan = WindowPlan {
        max_output: 8_000,
        ..PLAN
    };
    assert_eq!(meter.bounded(plan).room(), 85_000);
    assert_eq!(meter.bounded(plan).trigger(), 64_000);
}

#[test]
fn another_preflight_pass_needs_progress() {
    assert!(Meter::worth_another(300_000, 150_000, &PLAN));
    assert!(!Meter::worth_another(300_000, 299_000, &PLAN));
    assert!(!Meter::worth_another(300_000, 90_000, &PLAN));
}
