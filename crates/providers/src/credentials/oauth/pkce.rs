//! Proof that who asks for the token is who asked for the login (RFC 7636).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::tokens::LoginError;

/// A secret and what is shown of it.
pub(super) struct Proof {
    pub(super) verifier: String,
    pub(super) challenge: String,
}

impl Proof {
    pub(super) fn new() -> Result<Self, LoginError> {
        let verifier = random()?;
        Ok(Self {
            challenge: challenge(&verifier),
            verifier,
        })
    }
}

/// A word nobody can guess.
pub(super) fn random() -> Result<String, LoginError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| LoginError::Here(format!("no random numbers: {error}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        assert_eq!(
            challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"),
            "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        );
        assert_ne!(random().unwrap(), random().unwrap());
    }
}
