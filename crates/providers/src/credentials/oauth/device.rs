//! A login with a code that is typed in on any device (RFC 8628, and OpenAI's way).

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::renew::first;
use super::rows::{Device, DeviceStyle, LoginRow};
use super::tokens::{Answer, LoginError, TokenServer, refused, send, with_form, with_json};
use crate::credentials::NewCredential;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// As long as the person has, where the server does not say.
const LIFE: u64 = 900;

/// A login that waits for the person to type a code in.
#[derive(Debug)]
pub struct DeviceLogin {
    server: TokenServer,
    device: Device,
    /// Where the code is typed in.
    pub url: String,
    /// The code.
    pub code: String,
    secret: String,
    every: Duration,
    until: Instant,
}

impl DeviceLogin {
    /// Asks for a code.
    ///
    /// # Errors
    /// When there is none.
    pub async fn begin(
        row: &'static LoginRow,
        portal: Option<&str>,
        bundle: Option<&Path>,
    ) -> Result<Self, LoginError> {
        let device = row.device.ok_or_else(|| {
            LoginError::Here(format!("one does not log in to {} with a code", row.provider))
        })?;
        let server = TokenServer::new(row, portal, bundle)?;
        let request = server.post(device.code_url);
        let request = match device.style {
            DeviceStyle::Standard => with_form(request, [("client_id", row.client_id), ("scope", row.scope)]),
            DeviceStyle::Exchange { .. } => with_json(request, &json!({"client_id": row.client_id})),
        };
        let answer = send(request).await?;
        let text = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| answer.body[*name].as_str())
                .map(str::to_owned)
        };
        let secret = text(&["device_code", "device_auth_id"]).filter(|_| answer.status < 300);
        let (Some(secret), Some(code)) = (secret, text(&["user_code", "usercode"])) else {
            return Err(refused(&answer));
        };
        let page = match device.style {
            DeviceStyle::Standard => text(&[
                "verification_uri_complete",
                "verification_uri",
                "verification_url",
            ]),
            DeviceStyle::Exchange { page, .. } => Some(server.at(page)),
        };
        let life = number(&answer.body["expires_in"]).unwrap_or(LIFE);
        Ok(Self {
            device,
            url: page.ok_or_else(|| refused(&answer))?,
            code,
            secret,
            every: Duration::from_secs(number(&answer.body["interval"]).unwrap_or(5)),
            until: Instant::now() + Duration::from_secs(life),
            server,
        })
    }

    /// Waits until the person has typed it in.
    ///
    /// # Errors
    /// When they said no, or the time is over.
    pub async fn wait(mut self) -> Result<NewCredential, LoginError> {
        loop {
            tokio::time::sleep(self.every).await;
            let answer = match self.poll().await {
                Ok(answer) => answer,
                // The person may be on the way already; a dropped line must not end that.
                Err(LoginError::Unreachable(_)) if Instant::now() < self.until => continue,
                Err(error) => return Err(error),
            };
            if self.is_pending(&answer) {
                if Instant::now() >= self.until {
                    return Err(LoginError::NotCompleted("the code has run out".to_owned()));
                }
                continue;
            }
            let members = first(self.finished(answer).await?)?;
            return Ok(super::browser::credential(&self.server, "device_code", members));
        }
    }

    async fn poll(&self) -> Result<Answer, LoginError> {
        let request = self.server.post(self.device.poll_url);
        let id = self.server.row.client_id;
        send(match self.device.style {
            DeviceStyle::Standard => with_form(
                request,
                [
                    ("grant_type", GRANT),
                    ("device_code", &self.secret),
                    ("client_id", id),
                ],
            ),
            DeviceStyle::Exchange { .. } => with_json(
                request,
                &json!({"device_auth_id": self.secret, "user_code": self.code}),
            ),
        })
        .await
    }

    /// Whether the person has not decided yet.
    fn is_pending(&mut self, answer: &Answer) -> bool {
        match answer.body["error"].as_str() {
            Some("authorization_pending") => true,
            Some("slow_down") => {
                self.every += Duration::from_secs(5);
                true
            }
            Some(_) => false,
            None => match self.device.style {
                DeviceStyle::Standard => false,
                DeviceStyle::Exchange { .. } => matches!(answer.status, 403 | 404),
            },
        }
    }

    /// The tokens; where the poll gives only a code, it is exchanged.
    async fn finished(&self, answer: Answer) -> Result<Answer, LoginError> {
        let DeviceStyle::Exchange { redirect, .. } = self.device.style else {
            return Ok(answer);
        };
        let text = |name: &str| answer.body[name].as_str();
        let (Some(code), Some(verifier)) = (text("authorization_code"), text("code_verifier")) else {
            return Err(refused(&answer));
        };
        let words = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", verifier),
        ];
        self.server.token(&words).await
    }
}

/// A number, also one that is written as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}
