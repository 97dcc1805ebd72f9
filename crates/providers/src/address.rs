//! What an address tells by itself: who serves it, and how near it is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// The host of an address in lower case; empty when there is none.
pub(crate) fn host(base_url: &str) -> String {
    Url::parse(base_url)
        .ok()
        .and_then(|url| url.host_str().map(str::to_ascii_lowercase))
        .unwrap_or_default()
}

/// `host` is `domain` or below it.
pub(crate) fn is_within(host: &str, domain: &str) -> bool {
    host == domain
        || host
            .strip_suffix(domain)
            .is_some_and(|front| front.ends_with('.'))
}

/// The address is this machine.
pub(crate) fn is_loopback(base_url: &str) -> bool {
    match Url::parse(base_url).as_ref().ok().and_then(Url::host) {
        Some(Host::Domain(name)) => is_within(&name.to_ascii_lowercase(), "localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback() || address.is_unspecified(),
        Some(Host::Ipv6(address)) => address.is_loopback() || address.is_unspecified(),
        None => false,
    }
}

/// The address is this machine or one of its own network: nobody is paid there,
/// a first answer may take minutes, and asking what it serves bothers no one.
pub(crate) fn is_near(base_url: &str) -> bool {
    let near = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_link_local() || v4.is_loopback() || v4.is_unspecified() || is_shared(v4)
        }
        IpAddr::V6(v6) => {
            v6.is_loopback() || v6.is_unspecified() || v6.is_unique_local() || v6.is_unicast_link_local()
        }
    };
    match Url::parse(base_url).as_ref().ok().and_then(Url::host) {
        Some(Host::Domain(name)) => {
            let name = name.to_ascii_lowercase();
            let own = [
                "localhost",
                "local",
                "lan",
                "home.arpa",
                "docker.internal",
                "containers.internal",
            ];
            own.iter().any(|domain| is_within(&name, domain)) || !name.contains('.')
        }
        Some(Host::Ipv4(address)) => near(address.into()),
        Some(Host::Ipv6(address)) => near(mapped(address)),
        None => false,
    }
}

/// Carrier-grade NAT, which overlay networks between one's own machines use.
fn is_shared(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    a == 100 && (64..128).contains(&b)
}

fn mapped(address: Ipv6Addr) -> IpAddr {
    address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_addresses_are_told_from_far_ones() {
        for near in [
            "http://127.0.0.1:1/v1",
            "http://localhost:11434",
            "http://[::1]/v1",
            "http://192.168.1.5/v1",
            "http://10.0.0.1",
            "http://172.20.0.2",
            "http://100.100.1.1",
            "http://box.local/v1",
            "http://ollama:11434/v1",
            "http://host.docker.internal/v1",
        ] {
            assert!(is_near(near), "{near}");
        }
        for far in [
            "https://api.openai.com/v1",
            "http://8.8.8.8/v1",
            "http://172.32.0.1",
            "https://localhost.example.org",
            "x",
        ] {
            assert!(!is_near(far), "{far}");
        }
        assert!(is_loopback("http://localhost:1") && !is_loopback("http://192.168.1.5"));
    }
}
