//! Asks about an address before anything is sent to it, and gives the addresses that were asked about.
//!
//! Whoever connects takes exactly these: a name that gives a public address now and a private one a moment
//! later gains nothing.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use url::{Host, Url};

use crate::address::{self, UrlRefusal};
use crate::{Blocklist, WebError};

/// Gives the addresses of a host and port.
pub type Resolver =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, std::io::Result<Vec<SocketAddr>>> + Send + Sync>;

/// The resolver of the system.
pub fn system_resolver() -> Resolver {
    Arc::new(|host, port| Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) }))
}

/// What may be fetched.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) allow_private: bool,
    /// Private addresses that are allowed one by one.
    pub(crate) trusted: Vec<SocketAddr>,
    pub(crate) blocklist: Blocklist,
    pub(crate) resolver: Resolver,
}

/// An address that may be fetched, from nowhere but here.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) url: Url,
    /// The name that was resolved; none for an address in figures.
    pub(crate) name: Option<String>,
    pub(crate) addresses: Vec<SocketAddr>,
}

impl Guard {
    /// Checks the text, the policy, and every address that the host has.
    pub(crate) async fn pin(&self, text: &str) -> Result<Pinned, WebError> {
        // A private address in figures is refused below, where the exceptions are known.
        let url = address::check(text, true)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if let Some(rule) = self.blocklist.forbids(&host) {
            return Err(WebError::Blocked {
                host,
                rule: rule.domain,
                source_name: rule.source,
            });
        }
        let port = url.port_or_known_default().unwrap_or(80);
        let (name, addresses) = match url.host() {
            Some(Host::Ipv4(four)) => (None, vec![SocketAddr::new(four.into(), port)]),
            Some(Host::Ipv6(six)) => (None, vec![SocketAddr::new(six.into(), port)]),
            _ => (Some(host.clone()), self.resolve(&host, port).await?),
        };
        for address in &addresses {
            let allowed = self.allow_private || self.trusted.contains(address);
            address::check_address(address.ip(), allowed)
                .map_err(|refusal| named(refusal, name.as_deref()))?;
        }
        Ok(Pinned { url, name, addresses })
    }

    async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, WebError> {
        let unresolved = |why: String| WebError::Unresolved {
            host: host.to_owned(),
            why,
        };
        let found = (self.resolver)(host.to_owned(), port)
            .await
            .map_err(|error| unresolved(error.to_string()))?;
        if found.is_empty() {
            return Err(unresolved("it has no address".to_owned()));
        }
        // Names have no ports: the one of the URL is meant.
        let found = found
            .into_iter()
            .map(|address| SocketAddr::new(address.ip(), port));
        Ok(found.collect())
    }
}

/// Says which name led to the address.
fn named(refusal: UrlRefusal, name: Option<&str>) -> UrlRefusal {
    let with = |address: String| name.map_or(address.clone(), |name| format!("{name} ({address})"));
    match refusal {
        UrlRefusal::Private(address) => UrlRefusal::Private(with(address)),
        UrlRefusal::Metadata(address) => UrlRefusal::Metadata(with(address)),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(allow_private: bool, answers: &'static [&'static str]) -> Guard {
        Guard {
            allow_private,
            trusted: Vec::new(),
            blocklist: Blocklist::default(),
            resolver: Arc::new(move |_, port| {
                let found = answers
                    .iter()
                    .map(|text| SocketAddr::new(text.parse().unwrap(), port));
                let found: Vec<_> = found.collect();
                Box::pin(std::future::ready(Ok(found)))
            }),
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_into_the_private_network_is_refused_whatever_else_it_gives() {
        for answers in [
            &["10.0.0.7"][..],
            &["93.184.216.34", "127.0.0.1"],
            &["::ffff:192.168.1.1"],
            &["fd00::1"],
        ] {
            let error = guard(false, answers)
                .pin("http://intranet.example/")
                .await
                .unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("intranet.example ("), "{text}");
            assert!(text.contains("security.allow_private_urls"), "{text}");
            assert!(guard(true, answers).pin("http://intranet.example/").await.is_ok());
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_to_the_metadata_service_is_refused_always() {
        let answers = &["169.254.169.254"];
        let error = guard(true, answers)
            .pin("https://innocent.example/")
            .await
            .unwrap_err();
        assert!(
            matches!(error, WebError::Refused(UrlRefusal::Metadata(_))),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_private_address_in_any_figures_needs_no_resolver_to_be_refused() {
        let guard = guard(false, &["93.184.216.34"]);
        for url in [
            "http://2130706433/",
            "http://0177.0.0.1/",
            "http://0x7f000001/",
            "http://[::ffff:7f00:1]/",
        ] {
            assert!(guard.pin(url).await.is_err(), "{url}");
        }
        assert!(
            guard.pin("http://localhost/").await.is_ok(),
            "the resolver's word counts"
        );
    }

    #[tokio::test]
    async fn a_host_without_an_address_is_not_fetched() {
        let error = guard(false, &[])
            .pin("https://nowhere.example/")
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("nowhere.example cannot be resolved"),
            "{error}"
        );
    }
}
