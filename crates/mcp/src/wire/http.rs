//! The HTTP client of one server, and its certificates.
//!
//! The system's roots take longer to read than many a call, so an address in plain text gets none. Redirects
//! stay at the origin: whatever is sent along (a header with a key) is meant for that server alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::settings::Verify;

const CONNECT: Duration = Duration::from_secs(30);
const REDIRECTS: usize = 5;

/// A client for `url` that sends `headers` with every request.
pub(crate) fn client(
    url: &str,
    headers: &BTreeMap<String, String>,
    verify: &Verify,
) -> Result<reqwest::Client, String> {
    let plain = url.starts_with("http://");
    let local = url::Url::parse(url)
        .is_ok_and(|url| matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")));
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls(plain, verify)?)
        .user_agent(concat!("talaria/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT)
        .default_headers(header_map(headers)?)
        .redirect(same_origin());
    if *verify == Verify::Nothing {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    if local {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| error.to_string())
}

fn same_origin() -> Policy {
    Policy::custom(|attempt| {
        let first = attempt.previous().first().map(url::Url::origin);
        let stays = first.is_some_and(|origin| origin == attempt.url().origin());
        if stays && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

fn header_map(headers: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| format!("the header {name} has a value that cannot be sent"))?;
        value.set_sensitive(true);
        map.insert(key, value);
    }
    Ok(map)
}

fn tls(plain: bool, verify: &Verify) -> Result<ClientConfig, String> {
    let roots = if plain || *verify == Verify::Nothing {
        RootCertStore::empty()
    } else {
        roots(verify)?
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    if *verify == Verify::Nothing {
        config
            .dangerous()
            .set_certificate_verifier(Arc::new(Anything(provider)));
    }
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(verify: &Verify) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Verify::Bundle(path) = verify {
        add(&mut roots, path).map_err(|error| format!("the certificates in {}: {error}", path.display()))?;
    }
    if roots.is_empty() {
        return Err(
            "no root certificates were found; install ca-certificates or set SSL_CERT_FILE".to_owned(),
        );
    }
    Ok(roots)
}

fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), String> {
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| error.to_string())? {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Takes any certificate: `ssl_verify: false`, on the person's own word.
#[derive(Debug)]
struct Anything(Arc<rustls::crypto::CryptoProvider>);

impl rustls::client::danger::ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
