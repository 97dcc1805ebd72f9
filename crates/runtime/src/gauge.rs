//! How large the conversation is, and whether that is too large.

use talaria_context::meter::{Meter, Verdict, WindowPlan};
use talaria_context::tokens::{CountedHistory, Counter};
use talaria_types::{ModelRequest, Trigger, Usage};

/// The most passes before a turn's first call.
const PREFLIGHT_PASSES: u32 = 3;

/// One session's sizes.
pub(crate) struct Gauge {
    pub(crate) meter: Meter,
    counter: Counter,
    counted: CountedHistory,
    /// Tokens of prompt and tools, counted once for the bytes they belong to.
    overhead: Option<(std::sync::Arc<str>, u64)>,
    /// Passes before this turn's first call.
    passes: u32,
    /// What the request in flight was counted as.
    in_flight: u64,
}

impl Gauge {
    /// A gauge for a model; `meter` is what an earlier process knew.
    pub(crate) fn new(model: &str, meter: Meter) -> Self {
        Self {
            meter,
            counter: Counter::for_model(model),
            counted: CountedHistory::default(),
            overhead: None,
            passes: 0,
            in_flight: 0,
        }
    }

    /// A turn begins.
    pub(crate) fn begin_turn(&mut self) {
        self.passes = 0;
    }

    /// Tokens of the request that was measured last.
    pub(crate) fn in_flight(&self) -> u64 {
        self.counter.calibrated(self.in_flight)
    }

    /// The same before calibration, which a server that cuts prompts would spoil.
    pub(crate) fn sent(&self) -> u64 {
        self.in_flight
    }

    /// What counts for provider tokens over own ones.
    pub(crate) fn calibration(&self) -> f64 {
        self.counter.calibration
    }

    /// What counts for the session's model.
    pub(crate) fn counter(&self) -> &Counter {
        &self.counter
    }

    /// Tokens of prompt and tools, in the provider's count.
    pub(crate) fn overhead(&mut self, request: &ModelRequest) -> u64 {
        let counted = self.own_overhead(request);
        self.counter.calibrated(counted)
    }

    fn own_overhead(&mut self, request: &ModelRequest) -> u64 {
        if let Some((system, tokens)) = &self.overhead
            && std::sync::Arc::ptr_eq(system, &request.system)
        {
            return *tokens;
        }
        let tools = Counter::quick_tools(&request.tools);
        let tokens = talaria_context::tokens::quick(&request.system) + tools;
        self.overhead = Some((request.system.clone(), tokens));
        tokens
    }

    /// Tokens of a request as the provider would count it.
    pub(crate) fn size(&mut self, request: &ModelRequest, plan: &WindowPlan) -> u64 {
        let counted = self.count(request, plan);
        self.meter.tokens(counted, &self.counter)
    }

    fn count(&mut self, request: &ModelRequest, plan: &WindowPlan) -> u64 {
        let messages = self
            .counted
            .tokens(&self.counter, &request.messages, plan.trigger());
        messages + self.own_overhead(request)
    }

    /// Why a request is compressed before it is sent, if it is.
    pub(crate) fn pressure(
        &mut self,
        request: &ModelRequest,
        plan: &WindowPlan,
        first: bool,
    ) -> Option<Trigger> {
        let plan = self.meter.bounded(*plan);
        let counted = self.count(request, &plan);
        self.in_flight = counted;
        let size = self.meter.tokens(counted, &self.counter);
        let over = |tokens| self.meter.verdict(tokens, &plan) == Verdict::Compress;
        if first {
            // Nobody has counted yet: better a pass too early than a refusal.
            let unknown = self.meter.last_reported().is_none() && !self.counter.is_exact();
            let size = if unknown { size.max(rough(request)) } else { size };
            let due = self.passes < PREFLIGHT_PASSES && over(size);
            self.passes += u32::from(due);
            return due.then_some(Trigger::Preflight);
        }
        if over(self.meter.after_answer(counted, &self.counter)) {
            return Some(Trigger::AfterTools);
        }
        (size > plan.room()).then_some(Trigger::BeforeCall)
    }

    /// Takes the provider's count of the request that was measured last.
    pub(crate) fn answered(&mut self, usage: Option<Usage>) {
        if let Some(usage) = usage.filter(|usage| usage.prompt_tokens > 0) {
            self.meter.spent(usage);
        }
        let prompt = usage.map(|usage| usage.prompt_tokens);
        if let Some(prompt) = prompt
            && !self.counter.is_exact()
        {
            self.counter.observe(self.in_flight, prompt);
        }
        self.meter.answered(self.in_flight, prompt);
    }
}

/// A quarter of the characters: what is commonly taken for tokens.
fn rough(request: &ModelRequest) -> u64 {
    let of = |message: &std::sync::Arc<talaria_types::Message>| {
        let calls: usize = message.tool_calls.iter().map(|call| call.arguments.len()).sum();
        message.content.text().len() + calls
    };
    let messages: usize = request.messages.iter().map(of).sum();
    ((messages + request.system.len()) / 4) as u64 + Counter::quick_tools(&request.tools)
}
