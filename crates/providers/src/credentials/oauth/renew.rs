//! Makes a usable key of a stored login: renews its token, mints a key, or exchanges one.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::SecretString;
use serde_json::{Map, Value, json};

use super::rows::{Key, LoginRow, claims};
use super::tokens::{Answer, LoginError, TokenServer, granted, refused, send, with_json};
use crate::address;

/// So long before its end a token is renewed, so that it does not run out on the way.
const EARLY: f64 = 120.0;
/// Asked of a minted key at least, in seconds.
const LEAST_LIFE: u64 = 1_800;

/// A key that can be sent now.
#[derive(Clone, Debug)]
pub(crate) struct Renewed {
    /// The key.
    pub(crate) key: SecretString,
    /// When it ends, in seconds since the epoch.
    pub(crate) ends: Option<f64>,
    /// Where it is good, when the server says so.
    pub(crate) base_url: Option<String>,
    /// What is stored of it.
    pub(crate) members: Map<String, Value>,
}

/// The key that is stored and not at its end, if there is one.
pub(crate) fn stored(row: &LoginRow, entry: &Value) -> Option<(String, Option<f64>)> {
    let text = |name: &str| {
        entry[name]
            .as_str()
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned)
    };
    let access = || {
        Some((
            text("access_token")?,
            ends(entry, "access_token", &["expires_at_ms", "expires_at"]),
        ))
    };
    let minted = || {
        Some((
            text("agent_key")?,
            ends(entry, "agent_key", &["agent_key_expires_at"]),
        ))
    };
    let found = match row.key {
        Key::AccessToken => access(),
        Key::Minted { .. } => minted()
            .filter(is_good)
            .or_else(|| access().filter(|(token, _)| invokes(token))),
        Key::Exchanged { .. } => minted(),
    };
    found.filter(is_good)
}

/// Whether a key is not at its end yet.
fn is_good((_, ends): &(String, Option<f64>)) -> bool {
    ends.is_none_or(|ends| ends > now() + EARLY)
}

/// Whether anything can be done about an old key.
pub(crate) fn can_renew(row: &LoginRow, entry: &Value) -> bool {
    let has = |name: &str| entry[name].as_str().is_some_and(|text| !text.is_empty());
    match row.key {
        Key::AccessToken => has("refresh_token"),
        Key::Minted { .. } => has("refresh_token") || entry["auth_type"] == "oauth",
        Key::Exchanged { .. } => has("access_token"),
    }
}

/// Gets a fresh key.
///
/// # Errors
/// When the login is over, or its server cannot be asked.
pub(crate) async fn renew(
    row: &'static LoginRow,
    entry: &Value,
    bundle: Option<&Path>,
) -> Result<Renewed, LoginError> {
    let portal = entry["portal_base_url"].as_str();
    let server = TokenServer::new(row, portal, bundle)?;
    match row.key {
        Key::AccessToken => {
            let members = refreshed(&server, entry).await?;
            let entry = with(entry, &members);
            let (key, ends) =
                stored(row, &entry).ok_or_else(|| LoginError::Over("its new token has ended".to_owned()))?;
            Ok(Renewed {
                key: SecretString::from(key),
                ends,
                base_url: None,
                members,
            })
        }
        Key::Minted { url } => minted(&server, url, entry).await,
        Key::Exchanged { url } => exchanged(&server, url, entry).await,
    }
}

/// A new access token, as members of the entry.
async fn refreshed(server: &TokenServer, entry: &Value) -> Result<Map<String, Value>, LoginError> {
    let refresh = entry["refresh_token"].as_str().filter(|token| !token.is_empty());
    let refresh = refresh.ok_or_else(|| LoginError::Over("nothing is stored to renew it with".to_owned()))?;
    Ok(members(&server.refresh(refresh).await?))
}

/// What is stored of a token server's answer.
pub(super) fn members(answer: &Value) -> Map<String, Value> {
    let mut members = Map::new();
    for name in ["access_token", "refresh_token", "id_token", "scope"] {
        if let Some(value) = answer[name].as_str().filter(|value| !value.is_empty()) {
            members.insert(name.to_owned(), value.into());
        }
    }
    let life = answer["expires_in"].as_f64();
    let ends = life.map(|life| ((now() + life) * 1_000.0) as u64);
    members.insert("expires_at_ms".to_owned(), json!(ends));
    members.insert("expires_at".to_owned(), Value::Null);
    members.insert("last_refresh".to_owned(), json!(now()));
    members
}

/// A minted key. Newer tokens are good for inference themselves.
async fn minted(server: &TokenServer, url: &str, entry: &Value) -> Result<Renewed, LoginError> {
    let ended = ends(entry, "access_token", &["expires_at_ms", "expires_at"])
        .is_some_and(|ends| ends <= now() + EARLY);
    let token = |entry: &Value| entry["access_token"].as_str().unwrap_or_default().to_owned();
    // A token that is the key itself was just refused; one that only mints may still be good.
    let mut fresh = if ended || invokes(&token(entry)) || token(entry).is_empty() {
        refreshed(server, entry).await?
    } else {
        Map::new()
    };
    let mut current = with(entry, &fresh);
    if !invokes(&token(&current)) {
        let mut answer = mint(server, url, &token(&current)).await?;
        if answer.status == 401 && fresh.is_empty() {
            fresh = refreshed(server, entry).await?;
            current = with(entry, &fresh);
            answer = mint(server, url, &token(&current)).await?;
        }
        if !invokes(&token(&current)) {
            let key = answer.body["api_key"]
                .as_str()
                .filter(|key| answer.status < 300 && !key.is_empty());
            let key = key.ok_or_else(|| refused(&answer))?;
            fresh.insert("agent_key".to_owned(), key.into());
            let life = answer.body["expires_in"].as_f64().unwrap_or(LEAST_LIFE as f64);
            fresh.insert("agent_key_expires_at".to_owned(), json!(now() + life));
        }
        fresh.extend(
            moved(server, &answer.body["inference_base_url"])
                .map(|url| ("inference_base_url".to_owned(), url.into())),
        );
    }
    let entry = with(entry, &fresh);
    let (key, ends) =
        stored(server.row, &entry).ok_or_else(|| LoginError::Over("its new key has ended".to_owned()))?;
    Ok(Renewed {
        key: SecretString::from(key),
        ends,
        base_url: entry["inference_base_url"].as_str().map(str::to_owned),
        members: fresh,
    })
}

async fn mint(server: &TokenServer, url: &str, token: &str) -> Result<Answer, LoginError> {
    let body = json!({"min_ttl_seconds": LEAST_LIFE});
    send(with_json(server.post(url).bearer_auth(token), &body)).await
}

/// A token that is given for the stored one.
async fn exchanged(server: &TokenServer, url: &str, entry: &Value) -> Result<Renewed, LoginError> {
    let stored = entry["access_token"].as_str().unwrap_or_default();
    let request = server.get(url).header("authorization", format!("token {stored}"));
    let answer = send(request.header("editor-version", "vscode/1.104.1")).await?;
    let key = answer.body["token"]
        .as_str()
        .filter(|key| answer.status < 300 && !key.is_empty());
    let key = key.ok_or_else(|| refused(&answer))?;
    let ends = answer.body["expires_at"].as_f64();
    let mut members = Map::new();
    members.insert("agent_key".to_owned(), key.into());
    members.insert("agent_key_expires_at".to_owned(), json!(ends));
    let base_url = moved(server, &answer.body["endpoints"]["api"]);
    members.extend(
        base_url
            .clone()
            .map(|url| ("inference_base_url".to_owned(), url.into())),
    );
    Ok(Renewed {
        key: SecretString::from(key.to_owned()),
        ends,
        base_url,
        members,
    })
}

/// Where a server says that its key is good. A key goes nowhere but to the provider's own hosts,
/// save where the person has named another login server.
fn moved(server: &TokenServer, url: &Value) -> Option<String> {
    let url = url.as_str()?.trim_end_matches('/');
    let host = address::host(url);
    let own =
        url.starts_with("https://") && server.row.hosts.iter().any(|own| address::is_within(&host, own));
    (own || server.portal.is_some()).then(|| url.to_owned())
}

/// When a key ends: as the token itself says, or as was stored beside it.
fn ends(entry: &Value, key: &str, beside: &[&str]) -> Option<f64> {
    let own = claims(entry[key].as_str().unwrap_or_default())["exp"].as_f64();
    own.or_else(|| beside.iter().find_map(|name| moment(&entry[*name])))
}

/// A moment in seconds, milliseconds or as a date.
fn moment(value: &Value) -> Option<f64> {
    if let Some(text) = value.as_str() {
        let read = text.parse::<jiff::Timestamp>().ok()?;
        return Some(read.as_millisecond() as f64 / 1_000.0);
    }
    let number = value.as_f64()?;
    Some(if number > 1e11 { number / 1_000.0 } else { number })
}

/// A token that is good for inference itself.
fn invokes(token: &str) -> bool {
    let claims = claims(token);
    ["scope", "scp"].iter().any(|name| match &claims[*name] {
        Value::String(scopes) => scopes.split([' ', ',']).any(|scope| scope == "inference:invoke"),
        Value::Array(scopes) => scopes.iter().any(|scope| scope == "inference:invoke"),
        _ => false,
    })
}

fn with(entry: &Value, members: &Map<String, Value>) -> Value {
    let mut entry = entry.clone();
    if let Some(entry) = entry.as_object_mut() {
        entry.extend(members.clone());
    }
    entry
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// The answer to a first login, as members of an entry.
pub(super) fn first(answer: Answer) -> Result<Map<String, Value>, LoginError> {
    Ok(members(&granted(answer)?))
}

#[cfg(test)]
mod tests {
    use super::super::rows::login_row;
    use super::*;

    #[test]
    fn a_key_goes_to_the_providers_own_hosts_only() {
        let row = login_row("copilot").unwrap();
        let of = |portal: Option<&str>, url: &str| {
            moved(&TokenServer::new(row, portal, None).unwrap(), &json!(url))
        };
        let own = "https://api.business.githubcopilot.com";
        let here = Some("http://127.0.0.1:9");
        assert_eq!(of(here, own).as_deref(), Some(own));
        let foreign = [
            "https://githubcopilot.com.evil.example",
            "http://api.githubcopilot.com",
            "https://evil.example/githubcopilot.com",
        ];
        let mut server = TokenServer::new(row, here, None).unwrap();
        server.portal = None;
        assert_eq!(moved(&server, &json!(own)).as_deref(), Some(own));
        for url in foreign {
            assert_eq!(moved(&server, &json!(url)), None, "{url}");
        }
    }

    #[test]
    fn the_end_of_a_token_is_read_in_every_form() {
        for (value, seconds) in [
            (json!(2_000_000_000), 2e9),
            (json!(2_000_000_000_000_u64), 2e9),
            (json!("2033-05-18T03:33:20+00:00"), 2e9),
        ] {
            assert_eq!(moment(&value), Some(seconds), "{value}");
        }
        assert_eq!(moment(&json!("soon")), None);
    }
}
