//! When a program that keeps dying is started again, and when it is left alone.
//!
//! Starting costs time and may do harm each time; a program that dies as soon as it runs would be
//! started with every call. Pure: the time is an argument.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Allows so many starts in a span of time, then none until it has rested.
#[derive(Clone, Debug)]
pub struct Breaker {
    starts: usize,
    per: Duration,
    rest: Duration,
    seen: VecDeque<Instant>,
    rests_until: Option<Instant>,
}

impl Breaker {
    /// Allows `starts` (at least one) `per` span, then nothing for `rest`.
    pub fn new(starts: usize, per: Duration, rest: Duration) -> Self {
        Self {
            starts: starts.max(1),
            per,
            rest,
            seen: VecDeque::new(),
            rests_until: None,
        }
    }

    /// Counts a start at `now`, or says how long there will be none.
    pub fn try_start(&mut self, now: Instant) -> Result<(), Duration> {
        if let Some(until) = self.rests_until {
            if now < until {
                return Err(until - now);
            }
            self.rests_until = None;
            self.seen.clear();
        }
        while self
            .seen
            .front()
            .is_some_and(|first| now.saturating_duration_since(*first) >= self.per)
        {
            self.seen.pop_front();
        }
        if self.seen.len() >= self.starts {
            self.rests_until = Some(now + self.rest);
            return Err(self.rest);
        }
        self.seen.push_back(now);
        Ok(())
    }

    /// Forgets every start: a person asked for another try.
    pub fn reset(&mut self) {
        self.seen.clear();
        self.rests_until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn three_starts_a_minute_are_allowed_then_none_for_a_minute() {
        let mut breaker = Breaker::new(3, MINUTE, MINUTE);
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(
            [0, 10, 20].map(|second| breaker.try_start(at(second))),
            [Ok(()); 3]
        );
        assert_eq!(breaker.try_start(at(30)), Err(MINUTE));
        assert_eq!(breaker.try_start(at(80)), Err(Duration::from_secs(10)));
        assert_eq!(breaker.try_start(at(90)), Ok(()));
    }

    #[test]
    fn starts_far_apart_never_open_it_and_a_person_may_close_it() {
        let mut breaker = Breaker::new(1, MINUTE, MINUTE);
        let begin = Instant::now();
        assert_eq!(breaker.try_start(begin), Ok(()));
        assert_eq!(breaker.try_start(begin + MINUTE), Ok(()));
        assert!(breaker.try_start(begin + MINUTE).is_err());
        breaker.reset();
        assert_eq!(breaker.try_start(begin + MINUTE), Ok(()));
    }
}
