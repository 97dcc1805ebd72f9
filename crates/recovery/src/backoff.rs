//! How long to wait, as formulas over numbers.
//!
//! Nothing here sleeps or draws random numbers: the driver gives the entropy
//! and does the waiting.

use crate::{ErrorKind, Failure};

/// First wait after an ordinary failure, in milliseconds.
pub const BASE_MS: u64 = 2_000;
/// Longest wait after an ordinary failure, jitter apart.
pub const CAP_MS: u64 = 60_000;
/// First wait after an answer that was no valid answer.
pub const INVALID_BASE_MS: u64 = 5_000;
/// Longest wait after an answer that was no valid answer, jitter apart.
pub const INVALID_CAP_MS: u64 = 120_000;
/// The longest wait a server may ask for; beyond it the call is not worth keeping open.
pub const SERVER_CAP_MS: u64 = 600_000;

/// `min(base · 2^(attempt − 1), cap)` plus up to half of that again.
///
/// `attempt` counts from 1. The jitter keeps many sessions that failed together
/// from coming back together.
pub fn delay_ms(base_ms: u64, cap_ms: u64, attempt: u32, entropy: u64) -> u64 {
    let doubled = 1u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
    let plain = base_ms.saturating_mul(doubled).min(cap_ms);
    let jitter = match plain / 2 {
        0 => 0,
        half => mix(entropy ^ u64::from(attempt)) % (half + 1),
    };
    plain.saturating_add(jitter)
}

/// How long to wait before the `attempt`-th repetition after this failure.
///
/// What the server asks for is taken as it is, without jitter.
pub fn wait_ms(failure: &Failure, attempt: u32, entropy: u64) -> u64 {
    match failure.retry_after_ms {
        Some(asked) if asked > 0 => asked,
        _ if failure.kind == ErrorKind::InvalidResponse => {
            delay_ms(INVALID_BASE_MS, INVALID_CAP_MS, attempt, entropy)
        }
        _ => delay_ms(BASE_MS, CAP_MS, attempt, entropy),
    }
}

/// SplitMix64's finaliser: spreads weak entropy over all bits.
fn mix(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Phase;

    #[test]
    fn waits_double_up_to_their_cap() {
        let plain: Vec<u64> = (1..=7).map(|n| delay_ms(BASE_MS, CAP_MS, n, 7) / 1_000).collect();
        for (wait, floor) in plain.iter().zip([2, 4, 8, 16, 32, 60, 60]) {
            assert!(*wait >= floor && *wait <= floor + floor / 2 + 1, "{plain:?}");
        }
    }

    #[test]
    fn what_the_server_asks_for_is_waited_exactly() {
        let mut failure = Failure::new(ErrorKind::RateLimit, Phase::Status, "slow down");
        failure.retry_after_ms = Some(2_980);
        assert_eq!(wait_ms(&failure, 3, 99), 2_980);
    }

    proptest! {
        #[test]
        fn a_delay_stays_between_its_formula_and_half_more(attempt in 0u32..200, entropy: u64) {
            let wait = delay_ms(BASE_MS, CAP_MS, attempt, entropy);
            prop_assert!((BASE_MS..=CAP_MS + CAP_MS / 2).contains(&wait));
        }
    }
}
