//! Which node of a cluster has which partition, as its nodes tell it.
//!
//! Each tells of each namespace a number, the regime, and for each replica a bit a partition, in base 64: `test:1,2,AAA…,AAA…;other:…`. Of two that say that
//! they are a partition's primary the one with the larger regime knows more. The source is what the protocol's clients ask.

use super::super::error::{ImportError, Side};
use super::connector::Connector;
use base::SLOT_COUNT;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::{BTreeMap, HashSet};

/// Nodes that are asked: more than a cluster has.
const NODES_MAX: usize = 256;
/// Lists in each other, in what tells peers.
const DEPTH_MAX: usize = 4;

/// Who has what.
pub(super) struct Nodes {
    addresses: Vec<String>,
    /// Of each partition: its primary, by its place among the addresses.
    owners: Vec<u16>,
}

impl Nodes {
    /// Asks the nodes that are named, and those that they know.
    pub(super) fn look(connector: &Connector, namespace: &str) -> Result<Self, ImportError> {
        let peers_command = connector.peers_command();
        let told = connector.connect(0)?.info(&[peers_command]).map_err(|error| connector.failed(error))?;
        let peers = told.get(peers_command).map(|text| peers(text)).unwrap_or_default();
        let named = connector.addresses().iter().map(|address| vec![address.clone()]);
        let (mut seen, mut addresses, mut owners) = (HashSet::new(), Vec::new(), vec![None::<(u64, u16)>; SLOT_COUNT as usize]);
        for of_node in named.chain(peers).take(NODES_MAX) {
            let open = |address: String| connector.connect_to(&address).ok().map(|connection| (address, connection));
            // One that is down has no partitions for long.
            let Some((address, mut connection)) = of_node.into_iter().find_map(open) else { continue };
            let mut told = connection.info(&["node", "replicas"]).map_err(|error| connector.failed(error))?;
            if !seen.insert(told.remove("node").unwrap_or_default()) {
                continue;
            }
            let Some((regime, held)) = told.get("replicas").and_then(|text| primaries(text, namespace)) else { continue };
            let number = addresses.len() as u16;
            addresses.push(address);
            for partition in (0..owners.len()).filter(|partition| is_set(&held, *partition)) {
                if owners[partition].is_none_or(|(known, _)| known < regime) {
                    owners[partition] = Some((regime, number));
                }
            }
        }
        let owner = |(partition, owner): (usize, &Option<(u64, u16)>)| {
            let nobody = || no_owner(connector.side, partition, namespace);
            owner.map(|(_, number)| number).ok_or_else(nobody)
        };
        let owners = owners.iter().enumerate().map(owner).collect::<Result<_, _>>()?;
        Ok(Self { addresses, owners })
    }

    pub(super) fn address(&self, node: u16) -> &str {
        &self.addresses[usize::from(node)]
    }

    /// Partitions by the node that has them.
    pub(super) fn by_node(&self, partitions: impl Iterator<Item = u16>) -> BTreeMap<u16, Vec<u16>> {
        let mut by_node: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
        partitions.for_each(|partition| by_node.entry(self.owners[usize::from(partition)]).or_default().push(partition));
        by_node
    }
}

fn no_owner(side: Side, partition: usize, namespace: &str) -> ImportError {
    ImportError::NoOwner { side, partition, namespace: namespace.to_owned() }
}

fn is_set(held: &[u8], partition: usize) -> bool {
    held.get(partition / 8).is_some_and(|byte| byte & (0x80 >> (partition % 8)) != 0)
}

/// The regime, and of which partitions the node is the primary.
fn primaries(replicas: &str, namespace: &str) -> Option<(u64, Vec<u8>)> {
    let of_namespace = replicas.split(';').find_map(|text| text.split_once(':').filter(|(name, _)| *name == namespace))?.1;
    let mut parts = of_namespace.split(',');
    let regime = parts.next()?.parse().ok()?;
    let held = STANDARD.decode(parts.nth(1)?).ok()?;
    Some((regime, held))
}

/// A part of what tells peers.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    List(Vec<Part>),
}

/// The addresses of each peer: `generation,port,[[name,tls name,[address,…]],…]`.
fn peers(text: &str) -> Vec<Vec<String>> {
    let Some((parts, _)) = list(text, 0) else { return Vec::new() };
    let port = match parts.get(1) {
        Some(Part::Text(port)) if !port.is_empty() => port.clone(),
        _ => "3000".to_owned(),
    };
    let Some(Part::List(peers)) = parts.get(2) else { return Vec::new() };
    let addresses = |peer: &Part| {
        let Part::List(of_peer) = peer else { return None };
        let Some(Part::List(addresses)) = of_peer.get(2) else { return None };
        let texts = addresses.iter().filter_map(|address| match address {
            Part::Text(text) => Some(with_port(text, &port)),
            Part::List(_) => None,
        });
        Some(texts.collect())
    };
    peers.iter().filter_map(addresses).collect()
}

fn with_port(address: &str, port: &str) -> String {
    let has_port = if address.starts_with('[') { !address.ends_with(']') } else { address.contains(':') };
    if has_port { address.to_owned() } else { format!("{address}:{port}") }
}

/// Parts with commas between, up to the end or a `]`; and what follows them.
fn list(mut rest: &str, depth: usize) -> Option<(Vec<Part>, &str)> {
    let mut parts = Vec::new();
    loop {
        // An address of IPv6 is in brackets, too.
        let is_list =
            rest.starts_with('[') && !rest[1..].split([',', '[']).next().is_some_and(|first| first.contains(':') && first.contains("]:"));
        if is_list {
            let (inner, after) = list(&rest[1..], depth + 1).filter(|_| depth < DEPTH_MAX)?;
            parts.push(Part::List(inner));
            rest = after.strip_prefix(']')?;
        } else {
            let from = if rest.starts_with('[') { rest.find(']')? + 1 } else { 0 };
            let end = rest[from..].find([',', ']']).map_or(rest.len(), |end| from + end);
            if end > 0 {
                parts.push(Part::Text(rest[..end].to_owned()));
            } else if rest.starts_with(',') {
                parts.push(Part::Text(String::new()));
            }
            rest = &rest[end..];
        }
        match rest.strip_prefix(',') {
            Some(after) => rest = after,
            None => return Some((parts, rest)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_told_with_and_without_ports_and_names() {
        assert_eq!(peers("5,3000,[]"), Vec::<Vec<String>>::new());
        let two = peers("2,3100,[[BB9,,[10.0.0.2:3000,10.0.0.3]],[A1,name.example,[[::1]:3000]]]");
        assert_eq!(two, [vec!["10.0.0.2:3000".to_owned(), "10.0.0.3:3100".to_owned()], vec!["[::1]:3000".to_owned()]]);
        assert_eq!(peers("1,,[[A,,[h]]]"), [vec!["h:3000".to_owned()]]);
        for wrong in ["", "ERROR:4:unrecognized command", "1,3000,[[", "1,3000,[[[[[[[[[", "[[[]"] {
            assert_eq!(peers(wrong), Vec::<Vec<String>>::new(), "{wrong}");
        }
    }

    #[test]
    fn a_node_tells_the_partitions_that_it_has() {
        let mut held = vec![0; 512];
        (held[0], held[511]) = (0x40, 0x01);
        let text = format!("other:1,1,{};test:7,2,{},{}", STANDARD.encode([0xFF; 512]), STANDARD.encode(&held), STANDARD.encode([0; 512]));
        let (regime, found) = primaries(&text, "test").unwrap();
        assert_eq!((regime, &found), (7, &held));
        assert_eq!((0..4096).filter(|partition| is_set(&found, *partition)).collect::<Vec<_>>(), [1, 4095]);
        assert!(primaries(&text, "none").is_none() && primaries("test:1,1,?", "test").is_none() && primaries("test:", "test").is_none());
    }
}
