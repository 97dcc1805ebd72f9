//! Says when a conversation should be compressed.
//!
//! The provider's count of the last prompt is the authority; what was appended
//! since is estimated on top of it. What came back never counts: thinking models
//! write far more than stays in the conversation. A pass that frees little is not
//! repeated for ever: two in a row pause automatic compression until the
//! conversation has grown, the model changed, or the person compressed by hand.

use serde::{Deserialize, Serialize};

use talaria_types::Usage;

use crate::tokens::Counter;

/// A pass that frees less than this share was useless.
const WEAK_SHARE: f64 = 0.10;
/// This many useless passes in a row pause automatic compression.
const WEAK_PASSES: u32 = 2;
/// A second pass of one preflight must have had this effect.
const PROGRESS: f64 = 0.95;
/// A refused prompt's share that is tried next when the server names no limit.
const CEILING_SHARE: f64 = 0.85;

/// The sizes a decision is made on, all in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowPlan {
    /// The model's window.
    pub window: u64,
    /// The most output of one answer that is asked for; 0 when none is.
    pub max_output: u64,
    /// `compression.threshold`.
    pub threshold: f64,
    /// `compression.min_tokens`.
    pub min_tokens: u64,
}

impl WindowPlan {
    /// What is left for the prompt: the window less the output, or half the window
    /// where the output is not smaller than it.
    pub fn room(&self) -> u64 {
        match self.window.checked_sub(self.max_output) {
            Some(room) if room > 0 => room,
            Some(_) | None => self.window - self.window / 2,
        }
    }

    /// From how many prompt tokens on a conversation is compressed:
    /// `min(max(floor(window · threshold), min_tokens), floor(0.85 · room))`.
    pub fn trigger(&self) -> u64 {
        let share = (self.window as f64 * self.threshold).floor() as u64;
        // In whole numbers: 0.85 is not one of binary's.
        share.max(self.min_tokens).min(self.room() * 85 / 100)
    }
}

/// What a size means for automatic compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Below the trigger, or nothing was added since the last pass.
    Fits,
    /// Compress.
    Compress,
    /// Over the trigger, but passes were useless lately.
    Paused,
}

/// What is known about the size of one conversation. It outlives the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    reported: Option<Reading>,
    /// Whether the newest answer came with a count.
    fresh: bool,
    /// The newest pass, until a report or the next pass judges it.
    pass: Option<Pass>,
    weak_passes: u32,
    paused: Option<Pause>,
    /// The most prompt tokens worth trying after refusals without a number.
    ceiling: Option<u64>,
    /// Tokens of the newest call that came with a count.
    last_call: Option<Usage>,
}

/// One request as both sides counted it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Reading {
    prompt_tokens: u64,
    counted: u64,
}

/// One compression that was applied, or that found nothing to hide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pass {
    /// Prompt tokens before it, as [`Meter::tokens`] said.
    before: u64,
    /// The same, estimated, after it.
    after: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pause {
    /// Prompt tokens when it began.
    at: u64,
    /// Whether the person knows.
    told: bool,
}

impl Meter {
    /// Prompt tokens of a request that is counted as `counted` here, before
    /// calibration and with system prompt and tools: the provider's last count and
    /// an estimate of what was added since.
    pub fn tokens(&self, counted: u64, counter: &Counter) -> u64 {
        match self.reported {
            None => counter.calibrated(counted),
            Some(reading) if counted >= reading.counted => {
                reading.prompt_tokens + counter.calibrated(counted - reading.counted)
            }
            // Something was taken away: the share that is left.
            Some(reading) => {
                (reading.prompt_tokens as f64 * counted as f64 / reading.counted as f64).round() as u64
            }
        }
    }

    /// The size the check between two calls is made on: the newest answer's count
    /// as it is, or [`Self::tokens`] where the answer came without one.
    pub fn after_answer(&self, counted: u64, counter: &Counter) -> u64 {
        match self.reported {
            Some(reading) if self.fresh => reading.prompt_tokens,
            Some(_) | None => self.tokens(counted, counter),
        }
    }

    /// The provider's newest count.
    pub fn last_reported(&self) -> Option<u64> {
        self.reported.map(|reading| reading.prompt_tokens)
    }

    /// Tokens of the newest call that came with a count.
    pub fn last_call(&self) -> Option<Usage> {
        self.last_call
    }

    /// Keeps what the provider said a call took.
    pub fn spent(&mut self, usage: Usage) {
        self.last_call = Some(usage);
    }

    /// Whether automatic compression is paused because passes freed too little.
    pub fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Takes an answer to a request that was counted as `counted`, and what the
    /// provider says its prompt was.
    pub fn answered(&mut self, counted: u64, prompt_tokens: Option<u64>) {
        let Some(prompt_tokens) = prompt_tokens.filter(|tokens| *tokens > 0) else {
            self.fresh = false;
            return;
        };
        self.reported = Some(Reading {
            prompt_tokens,
            counted,
        });
        self.fresh = true;
        if let Some(pass) = self.pass.take() {
            self.judge(pass.before, prompt_tokens);
        }
    }

    /// Takes a pass: prompt tokens before it as [`Self::tokens`] said, and the
    /// counter's word for what is left. One that found nothing to hide left
    /// everything.
    pub fn compressed(&mut self, before: u64, after: u64) {
        if let Some(pass) = self.pass.take() {
            // No report came in between, so estimates judge each other.
            self.judge(pass.before, pass.after);
        }
        if after >= before {
            self.judge(before, after);
        } else {
            self.pass = Some(Pass { before, after });
            self.reported = None;
            self.fresh = false;
        }
    }

    /// The person asked for a pass: whatever stood against it is forgotten.
    pub fn resume(&mut self) {
        self.weak_passes = 0;
        self.paused = None;
        self.pass = None;
    }

    /// Another model counts, so that nothing that was learned holds.
    pub fn change_model(&mut self) {
        *self = Self::default();
    }

    /// A prompt of this size was refused, and the server named no limit.
    pub fn refuse(&mut self, tokens: u64) {
        let ceiling = (tokens as f64 * CEILING_SHARE) as u64;
        self.ceiling = Some(self.ceiling.map_or(ceiling, |old| old.min(ceiling)));
    }

    /// The plan within what this conversation's refusals taught.
    pub fn bounded(&self, plan: WindowPlan) -> WindowPlan {
        let Some(ceiling) = self.ceiling.filter(|ceiling| *ceiling < plan.room()) else {
            return plan;
        };
        let max_output = if plan.max_output < plan.window {
            plan.max_output
        } else {
            0
        };
        WindowPlan {
            window: ceiling + max_output,
            max_output,
            ..plan
        }
    }

    /// Whether a conversation of this size is compressed by itself.
    pub fn verdict(&self, tokens: u64, plan: &WindowPlan) -> Verdict {
        let trigger = plan.trigger();
        if tokens < trigger {
            return Verdict::Fits;
        }
        if let Some(pause) = self.paused {
            let grown = tokens >= pause.at + trigger / 4;
            return if grown { Verdict::Compress } else { Verdict::Paused };
        }
        // Estimated over the trigger right after a pass, with nothing added since:
        // only the provider's count says whether that is so.
        let unconfirmed = self.pass.is_some_and(|pass| tokens < pass.after + trigger / 20);
        if unconfirmed {
            Verdict::Fits
        } else {
            Verdict::Compress
        }
    }

    /// Whether another pass of the same preflight is worth it.
    pub fn worth_another(before: u64, after: u64, plan: &WindowPlan) -> bool {
        after >= plan.trigger() && (after as f64) < before as f64 * PROGRESS
    }

    /// Says once that automatic compression is paused.
    pub fn pause_notice(&mut self) -> Option<&'static str> {
        let pause = self.paused.as_mut().filter(|pause| !pause.told)?;
        pause.told = true;
        Some(
            "the last two compressions freed less than 10 % each, so automatic compression is paused; \
             start over with /new, or compress by hand with /compress <topic>",
        )
    }

    fn judge(&mut self, before: u64, after: u64) {
        let saved = 1.0 - after as f64 / before.max(1) as f64;
        if saved >= WEAK_SHARE {
            self.weak_passes = 0;
            self.paused = None;
            return;
        }
        self.weak_passes += 1;
        if self.weak_passes >= WEAK_PASSES {
            let told = self.paused.is_some_and(|pause| pause.told);
            self.paused = Some(Pause { at: after, told });
        }
    }
}

#[cfg(test)]
mod tests;
