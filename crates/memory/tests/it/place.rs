//! What providers are made from, in tests.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use talaria_memory::providers::{MemoryProvider, Place, table};

/// A place with these variables, in `home`.
pub(crate) fn place(home: &Path, variables: &'static [(&str, &str)]) -> Place {
    Place {
        home: home.to_owned(),
        platform: "cli".to_owned(),
        command: Vec::new(),
        env_passthrough: Vec::new(),
        user_id: "rider".to_owned(),
        agent_id: "agent".to_owned(),
        workspace: "talaria".to_owned(),
        base_url: String::new(),
        variable: Arc::new(move |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }),
        client: Arc::new(|_| Ok(client())),
    }
}

/// The provider of that name.
pub(crate) fn provider(name: &str, place: &Place) -> Arc<dyn MemoryProvider> {
    table::row(name).unwrap().build(place).unwrap()
}

fn client() -> reqwest::Client {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls);
    builder.no_proxy().build().unwrap()
}
