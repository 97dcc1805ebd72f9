//! Whether a summary is asked for behind the session's own prefix.
//!
//! The provider has that prefix in its cache, so that the question costs a tenth;
//! but the answer may be worse, a changed tool choice drops some caches, and what
//! is sent is not masked. So: the session's own model, nothing secret in the
//! prefix, room for it, and no proof that it misses the cache.

use talaria_types::{ApiMode, ModelRequest, Task, Usage};

use crate::clock;
use crate::compaction::Planned;
use crate::session::Session;

/// For how long a miss is believed, in seconds: providers change.
const MISS_HOLDS: f64 = 7.0 * 86_400.0;
/// A prefix of which less than this was read from the cache has missed it.
const HIT: f64 = 0.5;

impl Session {
    /// The request, where `compression.strategy` and what is known of the provider's
    /// cache speak for it.
    pub(crate) fn prefix_request(&self, planned: &Planned) -> Option<ModelRequest> {
        match self.config().compression.strategy.as_str() {
            "serialized" => return None,
            "prefix" => {}
            _ => {
                let other = self.shared.auxiliary(Task::Compression).is_some();
                // A prefix that this model never answered is in no cache, and may not fit its window.
                let known = self.gauge.meter.last_reported().is_some();
                if other || !known || self.missed_lately() || !self.may_try() {
                    return None;
                }
            }
        }
        let session = ModelRequest {
            note: self.note(),
            rewrites: self.rewrites.clone(),
            ..self.whole_request(&planned.history)
        };
        planned.plan.prefix_request(&session, &planned.history)
    }

    /// Anthropic's cache is written at a price and keyed by more than the prefix: a hit
    /// must have been seen first.
    fn may_try(&self) -> bool {
        let protocol = self.models.current().provider.identity().api_mode;
        let hit = self
            .gauge
            .meter
            .last_call()
            .is_some_and(|usage| usage.cache_read_tokens > 0);
        protocol != ApiMode::AnthropicMessages || hit
    }

    fn missed_lately(&self) -> bool {
        let stored = self.store().meta(&self.miss_key()).ok().flatten();
        let at = stored.and_then(|at| at.parse::<f64>().ok());
        at.is_some_and(|at| clock::now().0 - at < MISS_HOLDS)
    }

    /// Learns from what a prefix cost: a provider whose cache serves the session but not
    /// the question is not asked like this again for a while.
    pub(crate) fn learn_of_prefix(&self, usage: Usage) {
        let serves = self
            .gauge
            .meter
            .last_call()
            .is_some_and(|usage| usage.cache_read_tokens > 0);
        let share = usage.cache_read_tokens as f64 / usage.prompt_tokens.max(1) as f64;
        if !serves || share >= HIT {
            return;
        }
        tracing::info!(share, "the session's prefix missed the provider's cache");
        let now = clock::now().0.to_string();
        if let Err(error) = self.store().set_meta(&self.miss_key(), Some(&now)) {
            tracing::warn!(%error, "that the cache was missed could not be written");
        }
    }

    fn miss_key(&self) -> String {
        let identity = self.models.current().provider.identity();
        format!("talaria:prefix_miss:{}:{}", identity.provider, identity.model)
    }
}
