//! The providers one logs in to, as a table.
//!
//! Addresses and client ids are the public ones that each provider's own
//! command-line programs use.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// How one logs in to a provider.
#[derive(Clone, Copy, Debug)]
pub struct LoginRow {
    /// The provider's id.
    pub provider: &'static str,
    pub(crate) client_id: &'static str,
    pub(crate) scope: &'static str,
    /// Where tokens are given out and renewed.
    pub(crate) token_url: &'static str,
    /// The token server takes JSON instead of a form.
    pub(crate) json: bool,
    pub(crate) browser: Option<Browser>,
    pub(crate) device: Option<Device>,
    pub(crate) key: Key,
    /// Hosts to which a token server may send the key.
    pub(crate) hosts: &'static [&'static str],
}

/// A login in the browser, with a redirect to this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Browser {
    pub(crate) authorize_url: &'static str,
    /// The port the provider insists on; 0 for any.
    pub(crate) port: u16,
    pub(crate) path: &'static str,
    /// A page that shows the code, for a browser on another machine.
    pub(crate) page: &'static str,
    /// Further parameters of the address.
    pub(crate) extra: &'static [(&'static str, &'static str)],
}

/// A login with a code that is typed in on any device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Device {
    pub(crate) code_url: &'static str,
    /// As in RFC 8628, or OpenAI's own way.
    pub(crate) style: DeviceStyle,
    pub(crate) poll_url: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceStyle {
    /// RFC 8628.
    Standard,
    /// The poll gives a code, which is then exchanged.
    Exchange {
        /// Where the code is typed in.
        page: &'static str,
        /// Part of the exchange, never visited.
        redirect: &'static str,
    },
}

/// What is sent as the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The access token.
    AccessToken,
    /// A key that is minted with the access token, unless that one is good for inference itself.
    Minted {
        /// Where.
        url: &'static str,
    },
    /// A token that is exchanged for the stored one.
    Exchanged {
        /// Where.
        url: &'static str,
    },
}

const ROW: LoginRow = LoginRow {
    provider: "",
    client_id: "",
    scope: "",
    token_url: "",
    json: false,
    browser: None,
    device: None,
    key: Key::AccessToken,
    hosts: &[],
};

/// The table.
const LOGINS: &[LoginRow] = &[
    LoginRow {
        provider: "anthropic",
        client_id: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
        scope: "org:create_api_key user:profile user:inference",
        token_url: "https://platform.claude.com/v1/oauth/token",
        json: true,
        browser: Some(Browser {
            authorize_url: "https://claude.ai/oauth/authorize",
            port: 0,
            path: "/callback",
            page: "https://platform.claude.com/oauth/code/callback",
            extra: &[("code", "true")],
        }),
        ..ROW
    },
    LoginRow {
        provider: "openai-codex",
        client_id: "app_EMoamEEZ73f0CkXaXp7hrann",
        scope: "openid profile email offline_access",
        token_url: "https://auth.openai.com/oauth/token",
        browser: Some(Browser {
            authorize_url: "https://auth.openai.com/oauth/authorize",
            port: 1455,
            path: "/auth/callback",
            page: "",
            extra: &[
                ("id_token_add_organizations", "true"),
                ("codex_cli_simplified_flow", "true"),
            ],
        }),
        device: Some(Device {
            code_url: "https://auth.openai.com/api/accounts/deviceauth/usercode",
            poll_url: "https://auth.openai.com/api/accounts/deviceauth/token",
            style: DeviceStyle::Exchange {
                page: "https://auth.openai.com/codex/device",
                redirect: "https://auth.openai.com/deviceauth/callback",
            },
        }),
        ..ROW
    },
    LoginRow {
        provider: "xai-oauth",
        client_id: "b1a00492-073a-47ea-816f-4c329264a828",
        scope: "openid profile email offline_access grok-cli:access api:access",
        token_url: "https://auth.x.ai/oauth2/token",
        device: Some(Device {
            code_url: "https://auth.x.ai/oauth2/device/code",
            poll_url: "https://auth.x.ai/oauth2/token",
            style: DeviceStyle::Standard,
        }),
        ..ROW
    },
    LoginRow {
        provider: "nous",
        client_id: "hermes-cli",
        scope: "inference:invoke",
        token_url: "https://portal.nousresearch.com/api/oauth/token",
        device: Some(Device {
            code_url: "https://portal.nousresearch.com/api/oauth/device/code",
            poll_url: "https://portal.nousresearch.com/api/oauth/token",
            style: DeviceStyle::Standard,
        }),
        key: Key::Minted {
            url: "https://portal.nousresearch.com/api/oauth/agent-key",
        },
        hosts: &["nousresearch.com"],
        ..ROW
    },
    LoginRow {
        provider: "copilot",
        client_id: "Iv1.b507a08c87ecfe98",
        scope: "read:user",
        token_url: "https://github.com/login/oauth/access_token",
        device: Some(Device {
            code_url: "https://github.com/login/device/code",
            poll_url: "https://github.com/login/oauth/access_token",
            style: DeviceStyle::Standard,
        }),
        key: Key::Exchanged {
            url: "https://api.github.com/copilot_internal/v2/token",
        },
        hosts: &["githubcopilot.com"],
        ..ROW
    },
];

/// The row of a provider, by id.
pub fn login_row(provider: &str) -> Option<&'static LoginRow> {
    LOGINS.iter().find(|row| row.provider == provider)
}

impl LoginRow {
    /// Even what looks like a plain key is only good for getting one.
    pub(crate) fn is_always_a_login(&self) -> bool {
        matches!(self.key, Key::Exchanged { .. })
    }

    /// There is a way to log in in the browser of this machine.
    pub fn has_browser(&self) -> bool {
        self.browser.is_some()
    }

    /// There is a way to log in with a code on any device.
    pub fn has_device(&self) -> bool {
        self.device.is_some()
    }
}

/// One of the row's addresses, or the same path at another server (`portal_base_url`).
pub(crate) fn at(address: &str, portal: Option<&str>) -> String {
    let Some(portal) = portal
        .map(|portal| portal.trim_end_matches('/'))
        .filter(|portal| !portal.is_empty())
    else {
        return address.to_owned();
    };
    let path = address.splitn(4, '/').nth(3).unwrap_or_default();
    format!("{portal}/{path}")
}

/// What a login of this provider sends beside its key.
pub(crate) fn headers(provider: &str, key: &SecretString) -> Vec<(&'static str, String)> {
    match provider {
        "openai-codex" => {
            let claims = claims(key.expose_secret());
            let account = claims["https://api.openai.com/auth"]["chatgpt_account_id"].as_str();
            let account = account.map(|account| ("chatgpt-account-id", account.to_owned()));
            account
                .into_iter()
                .chain([("originator", "talaria".to_owned())])
                .collect()
        }
        "copilot" => vec![
            ("editor-version", "vscode/1.104.1".to_owned()),
            ("copilot-integration-id", "vscode-chat".to_owned()),
            ("openai-intent", "conversation-panel".to_owned()),
        ],
        _ => Vec::new(),
    }
}

/// What a JSON web token says about itself; nothing when it is none. It is not verified: the server does that.
pub(crate) fn claims(token: &str) -> Value {
    let mut parts = token.split('.');
    let payload = parts
        .nth(1)
        .filter(|_| parts.next().is_some() && parts.next().is_none());
    let read = payload.and_then(|payload| URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok());
    read.and_then(|json| serde_json::from_slice(&json).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_one_logs_in_to_has_a_way_to() {
        for row in LOGINS {
            assert!(row.has_browser() || row.has_device(), "{}", row.provider);
            assert!(
                crate::catalogue::providers::row(row.provider).is_some(),
                "{}",
                row.provider
            );
        }
    }

    #[test]
    fn another_server_is_asked_at_the_same_path() {
        let url = "https://portal.nousresearch.com/api/oauth/token";
        assert_eq!(at(url, None), url);
        assert_eq!(
            at(url, Some("http://127.0.0.1:9/")),
            "http://127.0.0.1:9/api/oauth/token"
        );
    }

    #[test]
    fn the_account_of_a_chatgpt_login_is_read_from_its_token() {
        let payload =
            URL_SAFE_NO_PAD.encode(r#"{"https://api.openai.com/auth":{"chatgpt_account_id":"acc-1"}}"#);
        let token = SecretString::from(format!("e30.{payload}.x"));
        assert_eq!(
            headers("openai-codex", &token)[0],
            ("chatgpt-account-id", "acc-1".to_owned())
        );
        assert_eq!(claims("no.token"), Value::Null);
    }
}
