//! AWS Signature Version 4: pure, with the moment as an argument.

use std::fmt::Write;

use ring::{digest, hmac};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Who signs.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub(crate) id: String,
    pub(crate) secret: SecretString,
    /// Of temporary keys.
    pub(crate) session: Option<SecretString>,
}

/// For what a signature is good.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
    /// `20150830T123600Z`.
    pub(crate) moment: &'a str,
}

/// The headers that sign a request; `headers` are those that are signed besides.
pub(crate) fn sign(
    method: &str,
    url: &Url,
    headers: &[(&str, &str)],
    body: &[u8],
    (keys, scope): (&Keys, Scope<'_>),
) -> Vec<(&'static str, String)> {
    let mut added = vec![("x-amz-date", scope.moment.to_owned())];
    added.extend(
        keys.session
            .as_ref()
            .map(|token| ("x-amz-security-token", token.expose_secret().to_owned())),
    );
    let host = host(url);
    let own = added.iter().map(|(name, value)| (*name, value.as_str()));
    let mut signed: Vec<(String, String)> = headers
        .iter()
        .copied()
        .chain(own)
        .chain([("host", host.as_str())])
        .map(|(name, value)| (name.to_ascii_lowercase(), folded(value)))
        .collect();
    signed.sort();
    let names: Vec<&str> = signed.iter().map(|(name, _)| name.as_str()).collect();
    let names = names.join(";");
    let mut canonical = format!("{method}\n{}\n{}\n", path(url), query(url));
    for (name, value) in &signed {
        let _ = writeln!(canonical, "{name}:{value}");
    }
    let _ = write!(
        canonical,
        "\n{names}\n{}",
        hex(digest::digest(&digest::SHA256, body).as_ref())
    );
    let date = scope.moment.get(..8).unwrap_or_default();
    let place = format!("{date}/{}/{}/aws4_request", scope.region, scope.service);
    let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    let text = format!("AWS4-HMAC-SHA256\n{}\n{place}\n{hash}", scope.moment);
    let first = format!("AWS4{}", keys.secret.expose_secret());
    let key = [date, scope.region, scope.service, "aws4_request"]
        .iter()
        .fold(first.into_bytes(), |key, word| mac(&key, word.as_bytes()));
    let signature = hex(&mac(&key, text.as_bytes()));
    added.push((
        "authorization",
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{place}, SignedHeaders={names}, Signature={signature}",
            keys.id
        ),
    ));
    added
}

fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// A header's value without spaces around it, and with one in the place of several.
fn folded(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The path, encoded once more than it is sent.
fn path(url: &Url) -> String {
    encoded(url.path(), true)
}

/// The parameters, encoded and in order.
fn query(url: &Url) -> String {
    let pairs = url.query_pairs();
    let mut pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{}={}", encoded(&name, false), encoded(&value, false)))
        .collect();
    pairs.sort();
    pairs.join("&")
}

/// A text with everything but letters, digits and `-._~` escaped.
pub(crate) fn encoded(text: &str, keep_slashes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            b'/' if keep_slashes => out.push('/'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
        .as_ref()
        .to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example token of AWS's published test suite.
    const SESSION: &str = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

    struct Vector<'a> {
        name: &'a str,
        method: &'a str,
        url: &'a str,
        headers: &'a [(&'a str, &'a str)],
        body: &'a str,
        session: Option<&'a str>,
        names: &'a str,
        signature: &'a str,
    }

    const VANILLA: Vector<'_> = Vector {
        name: "get-vanilla",
        method: "GET",
        url: "https://example.amazonaws.com/",
        headers: &[],
        body: "",
        session: None,
        names: "host;x-amz-date",
        signature: "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    };

    #[test]
    fn signatures_are_those_of_the_published_test_suite() {
        let vectors = [
            VANILLA,
            Vector {
                name: "get-vanilla-query-order-key-case",
                url: "https://example.amazonaws.com/?Param2=value2&Param1=value1",
                signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
                ..VANILLA
            },
            Vector {
                name: "get-header-value-trim",
                headers: &[("My-Header1", " value1"), ("My-Header2", " \"a   b   c\"")],
                names: "host;my-header1;my-header2;x-amz-date",
                signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
                ..VANILLA
            },
            Vector {
                name: "post-vanilla",
                method: "POST",
                signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
                ..VANILLA
            },
            Vector {
                name: "post-header-value-case",
                method: "POST",
                headers: &[("My-Header1", "VALUE1")],
                names: "host;my-header1;x-amz-date",
                signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
                ..VANILLA
            },
            Vector {
                name: "post-sts-header-before",
                method: "POST",
                session: Some(SESSION),
                names: "host;x-amz-date;x-amz-security-token",
                signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
                ..VANILLA
            },
            Vector {
                name: "post-x-www-form-urlencoded",
                method: "POST",
                headers: &[("Content-Type", "application/x-www-form-urlencoded")],
                body: "Param1=value1",
                names: "content-type;host;x-amz-date",
                signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
                ..VANILLA
            },
        ];
        for vector in vectors {
            let keys = Keys {
                id: "AKIDEXAMPLE".to_owned(),
                secret: SecretString::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                session: vector.session.map(SecretString::from),
            };
            let scope = Scope {
                region: "us-east-1",
                service: "service",
                moment: "20150830T123600Z",
            };
            let url = Url::parse(vector.url).unwrap();
            let added = sign(
                vector.method,
                &url,
                vector.headers,
                vector.body.as_bytes(),
                (&keys, scope),
            );
            let expected = format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders={}, Signature={}",
                vector.names, vector.signature
            );
            assert_eq!(added.last().unwrap().1, expected, "{}", vector.name);
        }
    }

    #[test]
    fn a_models_id_is_escaped_twice_in_the_signed_path() {
        let url = Url::parse("https://h/model/a.b-v1%3A0/invoke").unwrap();
        assert_eq!(path(&url), "/model/a.b-v1%253A0/invoke");
    }
}
