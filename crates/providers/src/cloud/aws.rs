//! The keys of AWS, from its variables or its own files.

use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::sigv4::Keys;
use crate::resolve::Lookup;

/// Where keys are, told by variables once and read when they are needed: a profile's may change.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Variables(Keys),
    Profile {
        files: Vec<PathBuf>,
        name: String,
    },
    /// A key of Bedrock's own, which is sent and does not sign.
    Bearer(SecretString),
}

impl Source {
    /// Finds them.
    pub(super) fn find(lookup: Lookup<'_>, home: Option<&Path>) -> Option<Self> {
        if let Some(token) = lookup("AWS_BEARER_TOKEN_BEDROCK") {
            return Some(Self::Bearer(SecretString::from(token)));
        }
        if let (Some(id), Some(secret)) = (lookup("AWS_ACCESS_KEY_ID"), lookup("AWS_SECRET_ACCESS_KEY")) {
            return Some(Self::Variables(Keys {
                id,
                secret: SecretString::from(secret),
                session: lookup("AWS_SESSION_TOKEN").map(SecretString::from),
            }));
        }
        let source = Self::Profile {
            files: files(lookup, home),
            name: lookup("AWS_PROFILE").unwrap_or_else(|| "default".to_owned()),
        };
        source.keys().is_some().then_some(source)
    }

    /// The keys that sign, as they are now.
    pub(crate) fn keys(&self) -> Option<Keys> {
        match self {
            Self::Variables(keys) => Some(keys.clone()),
            Self::Bearer(_) => None,
            Self::Profile { files, name } => {
                let value = |key: &str| setting(files, name, key);
                Some(Keys {
                    id: value("aws_access_key_id")?,
                    secret: SecretString::from(value("aws_secret_access_key")?),
                    session: value("aws_session_token").map(SecretString::from),
                })
            }
        }
    }
}

/// The region, from variables or the profile.
pub(super) fn region(lookup: Lookup<'_>, home: Option<&Path>) -> Option<String> {
    let named = lookup("AWS_REGION").or_else(|| lookup("AWS_DEFAULT_REGION"));
    named.or_else(|| {
        let name = lookup("AWS_PROFILE").unwrap_or_else(|| "default".to_owned());
        setting(&files(lookup, home), &name, "region")
    })
}

fn files(lookup: Lookup<'_>, home: Option<&Path>) -> Vec<PathBuf> {
    let file = |variable: &str, name: &str| {
        let own = lookup(variable).map(PathBuf::from);
        own.or_else(|| Some(home?.join(".aws").join(name)))
    };
    let files = [
        file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        file("AWS_CONFIG_FILE", "config"),
    ];
    files.into_iter().flatten().collect()
}

/// A setting of a profile, from the first file that has it.
fn setting(files: &[PathBuf], profile: &str, key: &str) -> Option<String> {
    files.iter().find_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        let mut inside = false;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                let section = section.trim();
                inside = section.strip_prefix("profile ").unwrap_or(section).trim() == profile;
            } else if inside
                && let Some((name, value)) = line.split_once('=')
                && name.trim() == key
            {
                return Some(value.trim().to_owned()).filter(|value| !value.is_empty());
            }
        }
        None
    })
}
