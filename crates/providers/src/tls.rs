//! The HTTP client and its certificates.
//!
//! Reading the system's root certificates takes longer than a whole local model
//! call, so a client for a plain-text address is built without any. For the
//! others they come from the system, or from `SSL_CERT_FILE` and `SSL_CERT_DIR`
//! instead, and from the configured bundle in addition.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::address;

/// The environment variables that name a proxy for plain-text or any traffic.
const PROXIES: &[&str] = &["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A tool may run for minutes between two calls; the connection waits for it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The configured bundle is not readable.
    #[error("cannot read the certificates in {path}: {source}")]
    Bundle {
        /// Which file.
        path: String,
        /// Why.
        source: rustls::pki_types::pem::Error,
    },
    /// There is nothing to verify a server with.
    #[error(
        "no root certificates were found on this machine; install ca-certificates or set SSL_CERT_FILE{0}"
    )]
    NoRoots(String),
    /// A certificate or a protocol version the TLS library does not take.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The library refused.
    #[error(transparent)]
    Library(#[from] reqwest::Error),
}

/// A client for one base address, for services beside the models; opens no connection.
///
/// # Errors
/// When there are no certificates to verify a server with, or the configured ones cannot be read.
pub fn http_client(base_url: &str, bundle: Option<&Path>) -> Result<Client, String> {
    client(base_url, bundle).map_err(|error| error.to_string())
}

/// A client for one base address. Opens no connection.
pub(crate) fn client(base_url: &str, bundle: Option<&Path>) -> Result<Client, ClientError> {
    let is_local = address::is_loopback(base_url);
    let plain = base_url.starts_with("http://") && (is_local || !proxy_needs_tls());
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls_config(plain, bundle)?)
        .user_agent(concat!("talaria/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .tcp_keepalive(KEEP_ALIVE)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_adaptive_window(true)
        // A redirected POST would become a GET, or take the key along.
        .redirect(reqwest::redirect::Policy::none())
        // Retries are decided above, where they are counted.
        .retry(reqwest::retry::never());
    if is_local {
        builder = builder.no_proxy();
    }
    Ok(builder.build()?)
}

/// The TLS settings of this program for servers that are no model providers: the system's certificates and those
/// of `bundle`. Reading them takes a while.
///
/// # Errors
/// When there is nothing to verify a server with; in words.
pub fn trusted_tls(bundle: Option<&Path>) -> Result<ClientConfig, String> {
    tls_config(false, bundle).map_err(|error| error.to_string())
}

fn tls_config(plain: bool, bundle: Option<&Path>) -> Result<ClientConfig, ClientError> {
    let roots = if plain {
        RootCertStore::empty()
    } else {
        roots(bundle)?
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(bundle: Option<&Path>) -> Result<RootCertStore, ClientError> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    if let Some(path) = bundle {
        let fail = |source| ClientError::Bundle {
            path: path.display().to_string(),
            source,
        };
        for certificate in CertificateDer::pem_file_iter(path).map_err(fail)? {
            roots.add(certificate.map_err(fail)?)?;
        }
    }
    if roots.is_empty() {
        let causes: String = system.errors.iter().map(|error| format!("; {error}")).collect();
        return Err(ClientError::NoRoots(causes));
    }
    Ok(roots)
}

fn proxy_needs_tls() -> bool {
    PROXIES
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .any(|proxy| proxy.starts_with("https://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_address_needs_no_certificates() {
        assert!(tls_config(true, None).is_ok());
        assert!(client("http://127.0.0.1:1/v1", None).is_ok());
    }

    #[test]
    fn a_bundle_that_is_no_certificate_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("ca.pem");
        let error = roots(Some(&missing)).unwrap_err().to_string();
        assert!(error.contains("ca.pem"), "{error}");
    }
}
