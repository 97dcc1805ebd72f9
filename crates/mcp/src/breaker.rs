//! When a server that fails is left alone. Pure: the time is an argument.

use std::time::{Duration, Instant};

/// Failures in a row after which it is left alone.
const FAILURES: u32 = 3;
/// For how long.
const REST: Duration = Duration::from_secs(60);
/// The wait before the second attempt of one call; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(250);

/// What a server's last attempts came to.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: u32,
    rests_until: Option<Instant>,
    last: String,
}

/// It is left alone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rests {
    pub(crate) failures: u32,
    pub(crate) wait: Duration,
    pub(crate) last: String,
}

impl Breaker {
    /// Whether it may be tried now.
    pub(crate) fn check(&self, now: Instant) -> Result<(), Rests> {
        match self.rests_until.filter(|until| *until > now) {
            Some(until) => Err(Rests {
                failures: self.failures,
                wait: until - now,
                last: self.last.clone(),
            }),
            None => Ok(()),
        }
    }

    /// It failed.
    pub(crate) fn failed(&mut self, why: &str, now: Instant) {
        self.failures += 1;
        why.clone_into(&mut self.last);
        if self.failures >= FAILURES {
            self.rests_until = Some(now + REST);
        }
    }

    /// It worked.
    pub(crate) fn worked(&mut self) {
        *self = Self::default();
    }

    /// How long to wait before the next attempt of the same call; nothing when there is none.
    pub(crate) fn wait(&self) -> Option<Duration> {
        (self.failures > 0 && self.failures < FAILURES).then(|| FIRST_WAIT * 2_u32.pow(self.failures - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_open_it_for_a_minute_and_one_more_for_another() {
        let (mut breaker, now) = (Breaker::default(), Instant::now());
        for _ in 0..2 {
            breaker.failed("down", now);
            assert_eq!(breaker.check(now), Ok(()));
            assert!(breaker.wait().is_some());
        }
        breaker.failed("down", now);
        assert_eq!(breaker.wait(), None);
        let rests = breaker.check(now + Duration::from_secs(59)).unwrap_err();
        assert_eq!(
            (rests.failures, rests.wait.as_secs(), rests.last.as_str()),
            (3, 1, "down")
        );
        let later = now + Duration::from_secs(60);
        assert_eq!(breaker.check(later), Ok(()));
        breaker.failed("still down", later);
        assert!(breaker.check(later).is_err());
        breaker.worked();
        assert_eq!(breaker.check(later), Ok(()));
    }
}
