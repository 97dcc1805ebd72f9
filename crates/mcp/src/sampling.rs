//! What servers may ask of the model, and how often.
//!
//! Off unless the settings of a server switch it on. A server's request holds the server's words only: it
//! sees nothing of the conversation, has no tools, and what it gets is bounded in length, time and number.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use crate::settings::Sampling;

/// The most text of one request, in characters.
const TEXT: usize = 100_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Asks a model in a server's name; given by whoever has models.
pub type Sampler = Arc<dyn Fn(SampleRequest) -> BoxFuture<'static, Result<Sample, String>> + Send + Sync>;

/// What a server asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRequest {
    /// Which server.
    pub server: String,
    /// Its system prompt.
    pub system: Option<String>,
    /// The conversation it makes up: whether the model speaks, and what is said.
    pub messages: Vec<(bool, String)>,
    /// The longest answer, in tokens.
    pub max_tokens: u64,
    /// The model its settings name; the session's own when empty.
    pub model: Option<String>,
}

/// What it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The answer.
    pub text: String,
    /// The model that gave it.
    pub model: String,
    /// It ended at its longest.
    pub cut: bool,
}

/// Keeps a server within its bounds.
pub(crate) struct Quota {
    settings: Sampling,
    asked: Mutex<VecDeque<Instant>>,
}

impl Quota {
    pub(crate) fn new(settings: Sampling) -> Self {
        Self {
            settings,
            asked: Mutex::default(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.settings.enabled
    }

    /// Asks within the bounds.
    ///
    /// # Errors
    /// When the server may not ask, asks too often or too much, or nothing came.
    pub(crate) async fn ask(
        &self,
        mut request: SampleRequest,
        sampler: Option<&Sampler>,
    ) -> Result<Sample, String> {
        let settings = &self.settings;
        let Some(sampler) = sampler.filter(|_| settings.enabled) else {
            return Err("sampling is not switched on for this server".to_owned());
        };
        self.count(Instant::now())?;
        let length: usize = request
            .messages
            .iter()
            .map(|(_, text)| text.chars().count())
            .sum();
        if length > TEXT {
            return Err(format!("the request is longer than {TEXT} characters"));
        }
        request.max_tokens = request.max_tokens.clamp(1, settings.max_tokens_cap.max(1));
        request.model.clone_from(&settings.model);
        let patience = Duration::from_secs(settings.timeout.max(1));
        let sample = match tokio::time::timeout(patience, sampler(request)).await {
            Ok(sample) => sample?,
            Err(_) => {
                return Err(format!(
                    "the model did not answer within {} s",
                    patience.as_secs()
                ));
            }
        };
        let allowed = &settings.allowed_models;
        if !allowed.is_empty() && !allowed.contains(&sample.model) {
            return Err(format!(
                "the model {} is not among those this server may use",
                sample.model
            ));
        }
        Ok(sample)
    }

    fn count(&self, now: Instant) -> Result<(), String> {
        let most = self.settings.max_rpm.max(1);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        while asked
            .front()
            .is_some_and(|then| now.duration_since(*then) >= MINUTE)
        {
            asked.pop_front();
        }
        if asked.len() >= most as usize {
            return Err(format!(
                "at most {most} requests a minute are answered for this server"
            ));
        }
        asked.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> SampleRequest {
        SampleRequest {
            server: "s".to_owned(),
            system: None,
            messages: vec![(false, "hello".to_owned())],
            max_tokens: 1_000_000,
            model: None,
        }
    }

    fn echo() -> Sampler {
        Arc::new(|request| {
            Box::pin(async move {
                Ok(Sample {
                    text: format!("{} tokens", request.max_tokens),
                    model: "m1".to_owned(),
                    cut: false,
                })
            })
        })
    }

    #[tokio::test]
    async fn nothing_is_asked_unless_it_is_switched_on() {
        let quota = Quota::new(Sampling::default());
        assert!(
            quota
                .ask(request(), Some(&echo()))
                .await
                .unwrap_err()
                .contains("not switched on")
        );
    }

    #[tokio::test]
    async fn a_server_asks_so_often_a_minute_and_gets_so_much() {
        let quota = Quota::new(Sampling {
            enabled: true,
            max_rpm: 2,
            ..Sampling::default()
        });
        let sampler = echo();
        assert_eq!(
            quota.ask(request(), Some(&sampler)).await.unwrap().text,
            "4096 tokens"
        );
        quota.ask(request(), Some(&sampler)).await.unwrap();
        assert!(
            quota
                .ask(request(), Some(&sampler))
                .await
                .unwrap_err()
                .contains("at most 2")
        );
        assert!(quota.count(Instant::now() + MINUTE).is_ok());
    }

    #[tokio::test]
    async fn a_model_that_is_not_allowed_gives_nothing() {
        let quota = Quota::new(Sampling {
            enabled: true,
            allowed_models: vec!["m2".to_owned()],
            ..Sampling::default()
        });
        assert!(
            quota
                .ask(request(), Some(&echo()))
                .await
                .unwrap_err()
                .contains("m1")
        );
    }
}
