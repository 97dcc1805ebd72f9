//! The models of a session: the one that was chosen and those it falls back to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use talaria_context::meter::WindowPlan;
use talaria_llm::{Provider, Window};
use talaria_providers::catalogue::Catalogue;
use talaria_recovery::ErrorKind;
use talaria_turn::ModelSetup;

/// How long the first model is left alone after it ran into a limit.
const COOL_DOWN: Duration = Duration::from_secs(60);

/// One model of the chain.
pub(crate) struct Model {
    /// How it is asked.
    pub(crate) provider: Arc<dyn Provider>,
    /// What is known about models and their prices.
    pub(crate) catalogue: Arc<Catalogue>,
    /// `model.max_tokens`, or none.
    pub(crate) max_output: Option<u64>,
    /// It runs on a server of the person's own that wants no key, and costs nothing.
    pub(crate) is_free: bool,
    /// Its dialect takes an assistant message as the last one.
    pub(crate) takes_prefill: bool,
}

/// The models of a session, in the order they are tried.
pub(crate) struct Models {
    chain: Vec<Arc<Model>>,
    current: usize,
    /// Until when the first one is left alone.
    resting: Option<Instant>,
    /// How many answers of the current one in a row went silent, over turns.
    stalls: u32,
    threshold: f64,
    min_tokens: u64,
}

impl Models {
    /// A chain; its first model is the chosen one.
    pub(crate) fn new(chain: Vec<Arc<Model>>, threshold: f64, min_tokens: u64) -> Self {
        Self {
            chain,
            current: 0,
            resting: None,
            stalls: 0,
            threshold,
            min_tokens,
        }
    }

    /// A new turn goes back to the first model, unless it still rests.
    pub(crate) fn begin_turn(&mut self) {
        if self.resting.is_none_or(|until| Instant::now() >= until) {
            self.stalls = if self.current == 0 { self.stalls } else { 0 };
            self.current = 0;
            self.resting = None;
        }
    }

    /// The model that is asked now.
    pub(crate) fn current(&self) -> &Arc<Model> {
        &self.chain[self.current]
    }

    /// How many answers of the current one in a row went silent.
    pub(crate) fn stalls(&self) -> u32 {
        self.stalls
    }

    /// The current one has answered, or failed; or it `stalled`: went silent in the middle.
    pub(crate) fn answered(&mut self, stalled: bool) {
        self.stalls = if stalled { self.stalls.saturating_add(1) } else { 0 };
    }

    /// How many models are left after this one.
    pub(crate) fn left(&self) -> u32 {
        (self.chain.len() - self.current - 1) as u32
    }

    /// Goes to the next model, because of a failure of this kind.
    pub(crate) fn next(&mut self, why: ErrorKind) -> Option<Arc<Model>> {
        if self.current + 1 >= self.chain.len() {
            return None;
        }
        if self.current == 0
            && matches!(
                why,
                ErrorKind::RateLimit | ErrorKind::Billing | ErrorKind::Overloaded
            )
        {
            self.resting = Some(Instant::now() + COOL_DOWN);
        }
        self.current += 1;
        self.stalls = 0;
        Some(self.current().clone())
    }

    /// What a turn needs to know about the model that is asked now.
    pub(crate) async fn setup(&self) -> (ModelSetup, Window) {
        let model = self.current();
        let window = model.provider.context_window().await;
        let setup = ModelSetup {
            plan: WindowPlan {
                window: window.tokens,
                max_output: model.max_output.unwrap_or(0),
                threshold: self.threshold,
                min_tokens: self.min_tokens,
            },
            max_output: model.max_output,
            output_limit: window.max_output,
            takes_prefill: model.takes_prefill,
        };
        (setup, window)
    }
}
