//! Google's application default credentials: a person's login or a service account.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::resolve::Lookup;
use crate::tls;

const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
const ASSERTION: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const PATIENCE: Duration = Duration::from_secs(20);
/// So long before its end a token is fetched anew, in seconds.
const EARLY: u64 = 120;

/// A file of credentials and the token that was made of it.
#[derive(Debug)]
pub(crate) struct Account {
    file: PathBuf,
    token: Mutex<Option<(SecretString, u64)>>,
}

impl Account {
    /// Finds the file.
    pub(super) fn find(lookup: Lookup<'_>, home: Option<&Path>) -> Option<Self> {
        let named = lookup("GOOGLE_APPLICATION_CREDENTIALS").map(PathBuf::from);
        let usual = || Some(home?.join(".config/gcloud/application_default_credentials.json"));
        let file = named.or_else(usual).filter(|file| file.is_file())?;
        Some(Self {
            file,
            token: Mutex::default(),
        })
    }

    /// The project the file belongs to, where it says so.
    pub(super) fn project(&self) -> Option<String> {
        let file = self.read().ok()?;
        let project = file["project_id"]
            .as_str()
            .or_else(|| file["quota_project_id"].as_str());
        project.map(str::to_owned)
    }

    /// A token that is good now.
    pub(super) async fn token(&self, bundle: Option<&Path>) -> Result<SecretString, String> {
        let kept = self.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((token, ends)) = kept
            && ends > now() + EARLY
        {
            return Ok(token);
        }
        let (token, life) = self.fetch(bundle).await?;
        let fresh = (token.clone(), now() + life);
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh);
        Ok(token)
    }

    /// The token was refused.
    pub(super) fn forget(&self) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn read(&self) -> Result<Value, String> {
        let told = |error: String| format!("{}: {error}", self.file.display());
        let text = std::fs::read_to_string(&self.file).map_err(|error| told(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| told(error.to_string()))
    }

    async fn fetch(&self, bundle: Option<&Path>) -> Result<(SecretString, u64), String> {
        let file = self.read()?;
        let url = file["token_uri"].as_str().unwrap_or(TOKEN_URL);
        let text = |name: &str| file[name].as_str().unwrap_or_default();
        let assertion;
        let words = match text("type") {
            "service_account" => {
                assertion = assert(&file, url, now())?;
                vec![("grant_type", ASSERTION), ("assertion", assertion.as_str())]
            }
            "authorized_user" => vec![
                ("grant_type", "refresh_token"),
                ("refresh_token", text("refresh_token")),
                ("client_id", text("client_id")),
                ("client_secret", text("client_secret")),
            ],
            other => {
                return Err(format!(
                    "{}: credentials of the type {other:?} are not supported",
                    self.file.display()
                ));
            }
        };
        let body = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(words)
            .finish();
        let lost = |error: reqwest::Error| format!("{url}: {}", error.without_url());
        let client = tls::client(url, bundle).map_err(|error| error.to_string())?;
        let request = client
            .post(url)
            .header("content-type", "application/x-www-form-urlencoded");
        let response = request.timeout(PATIENCE).body(body).send().await.map_err(lost)?;
        let status = response.status().as_u16();
        let answer: Value =
            serde_json::from_slice(&response.bytes().await.map_err(lost)?).unwrap_or_default();
        let Some(token) = answer["access_token"].as_str() else {
            let why = answer["error_description"]
                .as_str()
                .or_else(|| answer["error"].as_str());
            return Err(format!("{url} answered {status}: {}", why.unwrap_or("no token")));
        };
        Ok((
            SecretString::from(token),
            answer["expires_in"].as_u64().unwrap_or(3_600),
        ))
    }
}

/// A service account's word that it is itself, signed with its key.
fn assert(file: &Value, audience: &str, now: u64) -> Result<String, String> {
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = encode(&json!({"alg": "RS256", "typ": "JWT", "kid": file["private_key_id"]}));
    let claims = encode(&json!({
        "iss": file["client_email"], "scope": SCOPE, "aud": audience, "iat": now, "exp": now + 3_600,
    }));
    let text = format!("{head}.{claims}");
    let key = SecretString::from(file["private_key"].as_str().unwrap_or_default());
    let der = PrivatePkcs8KeyDer::from_pem_slice(key.expose_secret().as_bytes())
        .map_err(|_| "the private key of the service account is not readable".to_owned())?;
    let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der())
        .map_err(|error| format!("the private key of the service account cannot be used: {error}"))?;
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        text.as_bytes(),
        &mut signature,
    )
    .map_err(|_| "the service account's key does not sign".to_owned())?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

    use super::*;

    /// A key made for this test.
    const KEY: &str = include_str!("test_key.pem");

    #[test]
    fn a_service_account_signs_for_the_token_server() {
        let file = json!({"client_email": "x@p.example", "private_key": KEY, "private_key_id": "k1"});
        let word = assert(&file, "https://token.example", 1_000).unwrap();
        let (text, signature) = word.rsplit_once('.').unwrap();
        let der = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
        let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()).unwrap();
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public().as_ref())
            .verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap())
            .unwrap();
        let claims = URL_SAFE_NO_PAD.decode(text.split('.').nth(1).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(
            (claims["aud"].as_str(), claims["exp"].as_u64()),
            (Some("https://token.example"), Some(4_600))
        );
        assert!(
            assert(&json!({"private_key": "none"}), "x", 0)
                .unwrap_err()
                .contains("not readable")
        );
    }
}
