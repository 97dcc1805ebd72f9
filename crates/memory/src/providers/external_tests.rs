use std::sync::Mutex as Lock;

use super::*;
use crate::providers::Call;
use serde_json::json;
use tokio::sync::Notify;

/// Takes down what it is told; hangs and fails where it is told to.
#[derive(Default)]
struct Recorder {
    heard: Lock<Vec<String>>,
    hangs_in: &'static str,
    fails_in: &'static str,
    recalls: String,
    /// Lets what hangs go on.
    go_on: Notify,
}

impl Recorder {
    fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    fn take(&self, call: &'static str, detail: String) -> Call<'_> {
        self.heard
            .lock()
            .unwrap()
            .push(format!("{call} {detail}").trim().to_owned());
        Box::pin(async move {
            if self.hangs_in == call {
                self.go_on.notified().await;
            }
            assert!(
                self.fails_in != "panic" || call != "sync_turn",
                "as the test wants it"
            );
            if self.fails_in == call {
                return Err(ProviderError::Service("no".to_owned()));
            }
            Ok(())
        })
    }
}

impl MemoryProvider for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn connect(&self) -> Call<'_> {
        self.take("connect", String::new())
    }

    fn initialize<'a>(&'a self, opening: &'a Opening) -> Call<'a> {
        self.take("initialize", opening.session_id.clone())
    }

    fn on_turn_start<'a>(&'a self, number: u64, message: &'a str, _session: &'a str) -> Call<'a> {
        self.take("on_turn_start", format!("{number} {message}"))
    }

    fn prefetch<'a>(&'a self, query: &'a str, _session: &'a str) -> Call<'a, String> {
        let taken = self.take("prefetch", query.to_owned());
        Box::pin(async move { taken.await.map(|()| self.recalls.clone()) })
    }

    fn queue_prefetch<'a>(&'a self, query: &'a str, _session: &'a str) -> Call<'a> {
        self.take("queue_prefetch", query.to_owned())
    }

    fn sync_turn<'a>(&'a self, turn: &'a Exchange) -> Call<'a> {
        self.take("sync_turn", format!("{} / {}", turn.user, turn.assistant))
    }

    fn on_session_end<'a>(&'a self, session: &'a str, messages: &'a [Said]) -> Call<'a> {
        self.take("on_session_end", format!("{session} {}", messages.len()))
    }

    fn on_session_switch<'a>(&'a self, switch: &'a Switch) -> Call<'a> {
        self.take(
            "on_session_switch",
            format!("{} {}", switch.session_id, switch.reason),
        )
    }

    fn shutdown(&self) -> Call<'_> {
        self.take("shutdown", String::new())
    }
}

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(30);

fn bounds() -> Bounds {
    Bounds {
        connect: LONG,
        prefetch: LONG,
        job: LONG,
        tool: LONG,
        drain: LONG,
    }
}

struct Rig {
    recorder: Arc<Recorder>,
    external: Introduced,
    warnings: Arc<Lock<Vec<String>>>,
}

impl Rig {
    async fn new(recorder: Recorder, bounds: Bounds) -> Self {
        let recorder = Arc::new(recorder);
        let external = Arc::new(External::connect(recorder.clone(), bounds).await.unwrap());
        let warnings: Arc<Lock<Vec<String>>> = Arc::default();
        let told = warnings.clone();
        let opening = Opening {
            session_id: "s1".to_owned(),
            ..Opening::default()
        };
        let external = external.open(opening, Arc::new(move |text| told.lock().unwrap().push(text)));
        Self {
            recorder,
            external,
            warnings,
        }
    }

    fn turn(&self, user: &str, assistant: &str) {
        let exchange = Exchange {
            session_id: "s1".to_owned(),
            user: user.to_owned(),
            assistant: assistant.to_owned(),
        };
        self.external.turn_ended(&exchange, user);
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }
}

#[tokio::test]
async fn everything_is_told_in_the_order_in_which_it_happened() {
    let rig = Rig::new(Recorder::default(), bounds()).await;
    assert_eq!(rig.external.recall(1, "tea?", "s1").await, None);
    rig.turn("tea?", "oolong");
    rig.external.session_ends("s1", Vec::new());
    rig.external.session_switches(Switch {
        session_id: "s2".to_owned(),
        reason: "new_session".to_owned(),
        ..Switch::default()
    });
    rig.turn("more", "sencha");
    let (recorder, warnings) = (rig.recorder.clone(), rig.warnings.clone());
    rig.external.close().await;
    let warnings = warnings.lock().unwrap().clone();
    assert_eq!(
        recorder.heard(),
        [
            "connect",
            "initialize s1",
            "on_turn_start 1 tea?",
            "prefetch tea?",
            "sync_turn tea? / oolong",
            "queue_prefetch tea?",
            "on_session_end s1 0",
            "on_session_switch s2 new_session",
            "sync_turn more / sencha",
            "queue_prefetch more",
            "shutdown",
        ]
    );
    assert_eq!(warnings, Vec::<String>::new());
}

#[tokio::test]
async fn a_hung_recall_costs_its_bound_is_skipped_while_it_hangs_and_told_once() {
    let recorder = Recorder {
        hangs_in: "prefetch",
        recalls: "tea".to_owned(),
        ..Recorder::default()
    };
    let rig = Rig::new(
        recorder,
        Bounds {
            prefetch: SHORT,
            ..bounds()
        },
    )
    .await;
    for number in 1..4 {
        assert_eq!(rig.external.recall(number, "q", "s1").await, None);
    }
    let asked = |heard: &[String]| heard.iter().filter(|call| call.starts_with("prefetch")).count();
    assert_eq!(asked(&rig.recorder.heard()), 1);
    assert_eq!(rig.warnings().len(), 1, "{:?}", rig.warnings());
    // It comes back, and so does what it knows.
    rig.recorder.go_on.notify_one();
    while rig.external.inner.recalling.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    rig.recorder.go_on.notify_one();
    let recalled = rig.external.recall(4, "q", "s1").await;
    assert!(recalled.is_some_and(|text| text.contains("tea")));
}

#[tokio::test]
async fn a_hung_sync_does_not_keep_what_follows_and_the_end_waits_no_longer_than_its_bound() {
    let recorder = Recorder {
        hangs_in: "sync_turn",
        ..Recorder::default()
    };
    let rig = Rig::new(
        recorder,
        Bounds {
            job: SHORT,
            ..bounds()
        },
    )
    .await;
    rig.turn("a", "b");
    rig.external.session_ends("s1", Vec::new());
    assert!(rig.external.caught_up(LONG).await);
    assert!(rig.recorder.heard().contains(&"on_session_end s1 0".to_owned()));
    let hung = Recorder {
        hangs_in: "sync_turn",
        ..Recorder::default()
    };
    let rig = Rig::new(
        hung,
        Bounds {
            drain: SHORT,
            ..bounds()
        },
    )
    .await;
    rig.turn("a", "b");
    let (recorder, warnings) = (rig.recorder.clone(), rig.warnings.clone());
    rig.external.close().await;
    let warnings = warnings.lock().unwrap().clone();
    assert_eq!(recorder.heard().last().map(String::as_str), Some("shutdown"));
    assert!(warnings[0].contains("may not have reached it"), "{:?}", warnings);
}

#[tokio::test]
async fn a_provider_that_crashes_or_fails_is_told_about_once_and_costs_nothing() {
    for fails_in in ["panic", "sync_turn"] {
        let recorder = Recorder {
            fails_in,
            ..Recorder::default()
        };
        let rig = Rig::new(recorder, bounds()).await;
        rig.turn("a", "b");
        rig.turn("c", "d");
        assert!(rig.external.caught_up(LONG).await);
        assert_eq!(rig.warnings().len(), 1, "{:?}", rig.warnings());
    }
}

#[tokio::test]
async fn a_turn_in_which_a_side_said_nothing_is_not_synced() {
    let rig = Rig::new(Recorder::default(), bounds()).await;
    rig.turn("a", " \n");
    rig.turn("", "b");
    assert!(rig.external.caught_up(LONG).await);
    assert_eq!(rig.recorder.heard(), ["connect", "initialize s1"]);
}

#[tokio::test]
async fn secrets_and_repeated_frames_do_not_leave() {
    let rig = Rig::new(Recorder::default(), bounds()).await;
    let key = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    rig.external.recall(1, &format!("use {key}"), "s1").await;
    rig.turn(
        &format!("DB_PASSWORD=hunter2 {key}"),
        "ok\n<memory-context>\nsecret lore\n</memory-context>\nyes",
    );
    assert!(rig.external.caught_up(LONG).await);
    let heard = rig.recorder.heard().join("\n");
    for secret in ["hunter2", "klmnopqrst", "secret lore"] {
        assert!(!heard.contains(secret), "{heard}");
    }
    let arguments = json!({"a": [{"b": format!("token {key}")}]});
    assert!(!masked(arguments).to_string().contains("klmnopqrst"));
}

#[tokio::test]
async fn a_provider_that_is_not_ready_says_why_and_is_left_out() {
    let recorder = Arc::new(Recorder {
        fails_in: "connect",
        ..Recorder::default()
    });
    let why = External::connect(recorder, bounds()).await.unwrap_err();
    assert_eq!(why, "the memory provider recorder is not used: no");
    let hung = Arc::new(Recorder {
        hangs_in: "connect",
        ..Recorder::default()
    });
    let why = External::connect(
        hung,
        Bounds {
            connect: SHORT,
            ..bounds()
        },
    )
    .await
    .unwrap_err();
    assert!(why.contains("not ready within"), "{why}");
}
