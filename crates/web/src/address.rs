//! Whether an address on the network may be fetched.
//!
//! Pure: whoever fetches resolves the host and asks about each address it
//! got, before it connects and after every redirect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Hosts that hand out a machine's credentials.
const METADATA_HOSTS: &[&str] = &["metadata.google.internal", "metadata.goog", "metadata"];

/// Why an address may not be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    /// It is no address.
    #[error("{0:?} is not a URL")]
    Malformed(String),
    /// Only http and https are fetched.
    #[error("only http and https URLs are fetched, not {0}")]
    Scheme(String),
    /// It names no host.
    #[error("the URL names no host")]
    NoHost,
    /// Its host hands out credentials of the machine.
    #[error("{0} hands out credentials of this machine and is never fetched")]
    Metadata(String),
    /// Its host stands in a network that is not public.
    #[error("{0} is not a public address; set security.allow_private_urls to allow it")]
    Private(String),
}

/// Checks `text` before its host is resolved.
///
/// # Errors
/// When it may not be fetched, whatever its host resolves to.
pub fn check(text: &str, allow_private: bool) -> Result<Url, UrlRefusal> {
    let url = Url::parse(text.trim()).map_err(|_| UrlRefusal::Malformed(text.trim().to_owned()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlRefusal::Scheme(url.scheme().to_owned()));
    }
    match url.host().ok_or(UrlRefusal::NoHost)? {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            if METADATA_HOSTS.contains(&name.as_str()) {
                return Err(UrlRefusal::Metadata(name));
            }
            if !allow_private && (name == "localhost" || name.ends_with(".localhost")) {
                return Err(UrlRefusal::Private(name));
            }
        }
        Host::Ipv4(address) => check_address(address.into(), allow_private)?,
        Host::Ipv6(address) => check_address(address.into(), allow_private)?,
    }
    Ok(url)
}

/// Checks one address that a host resolved to.
///
/// # Errors
/// When nothing may be fetched from it.
pub fn check_address(address: IpAddr, allow_private: bool) -> Result<(), UrlRefusal> {
    let plain = unmapped(address);
    if is_metadata(plain) {
        return Err(UrlRefusal::Metadata(address.to_string()));
    }
    if !allow_private && !is_public(plain) {
        return Err(UrlRefusal::Private(address.to_string()));
    }
    Ok(())
}

/// The IPv4 address that an IPv6 address carries, if it does.
fn unmapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    if let Some(four) = six.to_ipv4_mapped() {
        return four.into();
    }
    let parts = six.segments();
    let low = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // The prefixes of address translation, and of tunnels.
        [0x64, 0xff9b, 0, 0, 0, 0, a, b] | [0x2002, a, b, ..] => low(a, b),
        // `::a.b.c.d`, long given up but still read by some resolvers.
        [0, 0, 0, 0, 0, 0, a, b] if a != 0 => low(a, b),
        _ => address,
    }
}

fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local() || four == Ipv4Addr::new(100, 100, 100, 200),
        IpAddr::V6(six) => six == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [a, b, c, _] = four.octets();
            let shared = a == 100 && (64..128).contains(&b);
            let assigned = a == 192 && b == 0 && c == 0;
            let benchmark = a == 198 && (18..20).contains(&b);
            !(four.is_private()
                || four.is_loopback()
                || four.is_link_local()
                || four.is_broadcast()
                || four.is_documentation()
                || four.is_multicast()
                || a == 0
                || a >= 240
                || shared
                || assigned
                || benchmark)
        }
        IpAddr::V6(six) => {
            let first = six.segments()[0];
            let documentation = first == 0x2001 && six.segments()[1] == 0xdb8;
            !(six.is_loopback()
                || six.is_unspecified()
                || six.is_multicast()
                || first & 0xfe00 == 0xfc00
                || first & 0xffc0 == 0xfe80
                || first & 0xffc0 == 0xfec0
                || documentation)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses_are_fetched() {
        for url in [
            "https://example.com/a?b",
            "http://93.184.216.34/",
            "http://[2606:2800:220:1::1]/",
        ] {
            assert!(check(url, false).is_ok(), "{url}");
        }
    }

    #[test]
    fn every_spelling_of_a_private_address_is_refused() {
        for url in [
            "http://127.0.0.1/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://017700000001/",
            "http://[::1]/",
            "http://[::ffff:10.0.0.1]/",
            "http://10.1.2.3",
            "http://192.168.0.1",
            "http://172.20.0.1",
            "http://100.64.0.1",
            "http://0.0.0.0",
            "http://224.0.0.1",
            "http://[fe80::1]",
            "http://[fd12::1]",
            "http://localhost:8080",
            "http://a.localhost.",
            "http://[64:ff9b::a00:1]/",
        ] {
            assert!(
                matches!(check(url, false), Err(UrlRefusal::Private(_))),
                "{url} {:?}",
                check(url, false)
            );
            assert!(check(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn metadata_services_are_refused_even_where_private_ones_are_not() {
        for url in [
            "http://169.254.169.254/latest",
            "http://metadata.google.internal/",
            "http://METADATA.goog./",
            "http://100.100.100.200/",
            "http://[fd00:ec2::254]/",
            "http://[::ffff:169.254.169.254]/",
        ] {
            assert!(matches!(check(url, true), Err(UrlRefusal::Metadata(_))), "{url}");
        }
    }

    #[test]
    fn other_schemes_and_nonsense_are_refused() {
        assert_eq!(
            check("file:///etc/passwd", true),
            Err(UrlRefusal::Scheme("file".into()))
        );
        assert!(matches!(check("not a url", true), Err(UrlRefusal::Malformed(_))));
    }
}
