//! Addresses and networks that roles may log in from: `10.0.0.0/8`, `192.168.1.7`, `fd00::/8`. Aerospike's clients set them; they hold for every protocol.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether this is an address, or a network in CIDR's notation.
#[must_use]
pub fn is_network(text: &str) -> bool {
    network(text).is_some()
}

/// Whether an address is in a network. One that IPv6 wraps is that of IPv4.
#[must_use]
pub fn contains(text: &str, address: IpAddr) -> bool {
    let Some((first, bits)) = network(text) else { return false };
    let (first, address, width) = match (first, address.to_canonical()) {
        (IpAddr::V4(first), IpAddr::V4(address)) => (first.to_bits().into(), address.to_bits().into(), 32),
        (IpAddr::V6(first), IpAddr::V6(address)) => (first.to_bits(), address.to_bits(), 128),
        _ => return false,
    };
    let differ: u128 = first ^ address;
    differ.checked_shr(width - bits).unwrap_or(0) == 0
}

/// A network by its first address, as Cassandra keeps it, whichever of its addresses is given; an address as it is. None of what is neither.
#[must_use]
pub fn by_first_address(text: &str) -> Option<String> {
    let (address, bits) = network(text)?;
    if !text.contains('/') {
        return Some(text.to_owned());
    }
    let first: IpAddr = match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(32 - bits).unwrap_or(0)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(128 - bits).unwrap_or(0)).into(),
    };
    Some(format!("{first}/{bits}"))
}

/// An address of it, and how many bits all of them share.
pub(crate) fn network(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let width = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(width);
    (bits <= width).then_some((address, bits))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_known_by_its_first_address() {
        let cases = [
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("10.20.33.40/24", Some("10.20.33.0/24")),
            ("10.1.2.3/0", Some("0.0.0.0/0")),
            ("10.1.2.3/32", Some("10.1.2.3/32")),
            ("10.1.2.3", Some("10.1.2.3")),
            ("fd12::7/8", Some("fd00::/8")),
            ("fd12::7/0", Some("::/0")),
            ("fd12::7/128", Some("fd12::7/128")),
            ("10.1.2.3/33", None),
            ("office", None),
        ];
        for (given, kept) in cases {
            assert_eq!(by_first_address(given).as_deref(), kept, "{given}");
        }
    }

    #[test]
    fn an_address_is_in_a_network_or_not() {
        let cases = [
            ("10.0.0.0/8", "10.9.8.7", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("192.168.1.7", "192.168.1.7", true),
            ("192.168.1.7", "192.168.1.8", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true),
            ("fd00::/8", "fd12::1", true),
            ("fd00::/8", "fe80::1", false),
        ];
        for (network, address, is_in) in cases {
            assert_eq!(contains(network, address.parse().unwrap()), is_in, "{address} in {network}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "host", "10.0.0.1/x"] {
            assert!(!is_network(text) && !contains(text, [10, 0, 0, 1].into()), "{text}");
        }
    }
}
