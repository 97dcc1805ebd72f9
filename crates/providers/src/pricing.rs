//! What a call cost.

use talaria_types::{ModelIdentity, Usage};

use crate::catalogue::Catalogue;

/// Above this many sent tokens some providers ask for more.
const LARGE: u64 = 200_000;

/// The price of `usage` in US dollars; none when the model's price is not known,
/// which is not the same as nothing.
pub fn cost(catalogue: &Catalogue, identity: &ModelIdentity, usage: &Usage) -> Option<f64> {
    let listed = catalogue.offered(identity)?.cost?;
    let (input, output, read, write) = match listed.context_over_200k {
        Some(large) if usage.prompt_tokens > LARGE => {
            (large.input, large.output, large.cache_read, large.cache_write)
        }
        Some(_) | None => (listed.input, listed.output, listed.cache_read, listed.cache_write),
    };
    let fresh = usage
        .prompt_tokens
        .saturating_sub(usage.cache_read_tokens + usage.cache_write_tokens);
    let millionths = fresh as f64 * input
        + usage.cache_read_tokens as f64 * read.unwrap_or(input)
        + usage.cache_write_tokens as f64 * write.unwrap_or(input)
        + usage.completion_tokens as f64 * output;
    Some(millionths / 1e6)
}

/// The most a call can cost that sends `prompt_tokens` and answers with at most `max_output`.
pub fn worst_case(
    catalogue: &Catalogue,
    identity: &ModelIdentity,
    prompt_tokens: u64,
    max_output: u64,
) -> Option<f64> {
    let usage = |written| Usage {
        prompt_tokens,
        completion_tokens: max_output,
        cache_write_tokens: written,
        ..Usage::default()
    };
    // Writing to the cache may cost more than sending, and what will be written is not known before.
    let plain = cost(catalogue, identity, &usage(0))?;
    let written = cost(catalogue, identity, &usage(prompt_tokens))?;
    Some(plain.max(written))
}

#[cfg(test)]
mod tests {
    use talaria_types::ApiMode;

    use super::*;

    fn price(provider: &str, model: &str, usage: Usage) -> Option<f64> {
        let identity = ModelIdentity {
            provider: provider.to_owned(),
            model: model.to_owned(),
            base_url: String::new(),
            api_mode: ApiMode::ChatCompletions,
        };
        cost(&Catalogue::shipped(), &identity, &usage)
    }

    fn usage(prompt: u64, read: u64, write: u64, completion: u64) -> Usage {
        Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            cache_read_tokens: read,
            cache_write_tokens: write,
            reasoning_tokens: 0,
        }
    }

    fn close(actual: Option<f64>, expected: f64) -> bool {
        actual.is_some_and(|actual| (actual - expected).abs() < 1e-9)
    }

    #[test]
    fn cached_tokens_are_counted_once_and_at_their_own_price() {
        let spent = price(
            "anthropic",
            "claude-sonnet-4-5",
            usage(100_000, 60_000, 10_000, 10_000),
        );
        assert!(close(spent, 0.09 + 0.018 + 0.0375 + 0.15), "{spent:?}");
    }

    #[test]
    fn large_requests_cost_what_the_provider_asks_for_them() {
        assert!(close(
            price("gemini", "gemini-2.5-pro", usage(100_000, 0, 0, 0)),
            0.125
        ));
        assert!(close(
            price("gemini", "gemini-2.5-pro", usage(300_000, 0, 0, 0)),
            0.75
        ));
    }

    #[test]
    fn an_unknown_price_is_not_zero() {
        assert_eq!(price("custom", "mock-model", usage(1, 0, 0, 1)), None);
    }
}
