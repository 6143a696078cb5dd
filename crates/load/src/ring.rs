//! Where partitions are, as clients know it that send each request to the node, and core of it, that serves the key.
//!
//! ```text
//! key ─► token ─► the first entry of the ring that is not below it ─► node ─► its core, if it tells them ─► place
//! ```
//! Tokens above the last entry belong to the node of the first. The nodes of the entries that follow come next when a place cannot be used: in
//! Cassandra they are the other replicas, in TarnDB any member takes any request.

use crate::route::{CoreOf, Route};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// Which node a request is sent to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// The one that serves its row, as drivers that know the tokens do.
    #[default]
    Primary,
    /// Any of them: each connection in its turn, or the one that a reply has come on.
    Any,
}

/// Cores of a node that clients can choose from, and the tokens of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The port for this.
    pub port: u16,
    /// How many there are, at least one.
    pub count: u16,
    /// Highest bits of a token that do not choose the core: ScyllaDB's biased round robin.
    pub ignored_bits: u32,
}

impl Cores {
    /// The core of a token.
    fn of(self, token: i64) -> u16 {
        // From 0 up; then as many equal pieces as there are cores, over and over in each piece that the ignored bits tell.
        let place = (token.cast_unsigned() ^ 1 << 63).checked_shl(self.ignored_bits).unwrap_or(0);
        ((u128::from(place) * u128::from(self.count)) >> 64) as u16
    }
}

/// A node of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingNode {
    /// Where clients connect.
    pub address: SocketAddr,
    /// Its cores, if it tells them.
    pub cores: Option<Cores>,
    /// Each the last of a range that it serves.
    pub tokens: Vec<i64>,
}

/// Where all partitions are.
#[derive(Clone, Debug)]
pub struct Ring {
    token: fn(&[u8]) -> i64,
    /// By token: the last of a range, and which node serves it.
    entries: Vec<(i64, usize)>,
    nodes: Vec<Node>,
    places: Vec<Route>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    cores: Option<Cores>,
    /// By core; of a node that tells none there is one.
    places: Vec<usize>,
}

impl PartialEq for Ring {
    /// Rings of one target: they make tokens of keys in the same way.
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries && self.nodes == other.nodes && self.places == other.places
    }
}

impl Ring {
    /// Of `nodes`, those without tokens left out; `token` is the token of a key.
    #[must_use]
    pub fn new(token: fn(&[u8]) -> i64, mut nodes: Vec<RingNode>) -> Self {
        nodes.retain(|node| !node.tokens.is_empty());
        // Whoever is asked names itself first: the order must not depend on it.
        nodes.sort_by_key(|node| node.address);
        let mut entries: Vec<(i64, usize)> =
            nodes.iter().enumerate().flat_map(|(index, node)| node.tokens.iter().map(move |token| (*token, index))).collect();
        entries.sort_unstable();
        let mut ring = Self { token, entries, nodes: Vec::new(), places: Vec::new() };
        ring.nodes.extend(nodes.iter().map(|node| Node { cores: node.cores, places: Vec::new() }));
        // The first core of each node, then the second of each: so many connections as there are places for reach as many nodes as they can.
        let of = |node: &RingNode| node.cores.map_or(1, |cores| cores.count);
        for core in 0..nodes.iter().map(of).max().unwrap_or(0) {
            for (index, node) in nodes.iter().enumerate().filter(|(_, node)| core < of(node)) {
                let chosen = node.cores.map(|cores| CoreOf { port: cores.port, index: core, of: cores.count });
                ring.nodes[index].places.push(ring.places.len());
                ring.places.push(Route { address: node.address, core: chosen });
            }
        }
        ring
    }

    /// Where connections go.
    #[must_use]
    pub fn places(&self) -> &[Route] {
        &self.places
    }

    /// The token of a key.
    #[must_use]
    pub fn token(&self, key: &[u8]) -> i64 {
        (self.token)(key)
    }

    /// The places of a token, by number: the right core of the node that serves it, other cores of that node, other nodes. Some come twice.
    pub fn ranked(&self, token: i64) -> impl Iterator<Item = usize> {
        let first = self.entries.partition_point(|(last, _)| *last < token);
        let (before, from) = self.entries.split_at(first);
        from.iter().chain(before).flat_map(move |(_, node)| {
            let Node { cores, places } = &self.nodes[*node];
            let core = cores.map_or(0, |cores| usize::from(cores.of(token)));
            places[core..].iter().chain(&places[..core]).copied()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(port: u16, cores: Option<Cores>, tokens: &[i64]) -> RingNode {
        RingNode { address: SocketAddr::from(([127, 0, 0, 1], port)), cores, tokens: tokens.to_vec() }
    }

    fn ring(nodes: &[RingNode]) -> Ring {
        Ring::new(|key| key.len() as i64, nodes.to_vec())
    }

    fn ports(ring: &Ring, token: i64) -> Vec<u16> {
        ring.ranked(token).map(|place| ring.places()[place].address.port()).collect()
    }

    #[test]
    fn a_token_belongs_to_the_first_entry_that_is_not_below_it() {
        let nodes = [node(3, None, &[100]), node(1, None, &[-100, 200]), node(2, None, &[0]), node(4, None, &[])];
        let ring = ring(&nodes);
        assert_eq!(ring.places().len(), 3, "one has no tokens");
        for (token, owner) in [(i64::MIN, 1), (-100, 1), (-99, 2), (0, 2), (1, 3), (100, 3), (101, 1), (200, 1), (201, 1), (i64::MAX, 1)] {
            assert_eq!(ports(&ring, token)[0], owner, "token {token}");
        }
        assert_eq!(ports(&ring, -50), [2, 3, 1, 1], "who comes next on the ring takes its place");
        assert_eq!(ring.token(b"key"), 3);
        let (mut turned, other) = (nodes.clone(), node(2, None, &[1]));
        turned.reverse();
        assert_eq!(ring, self::ring(&turned), "whoever was asked first");
        assert_ne!(ring, self::ring(&[&nodes[..2], &[other]].concat()));
    }

    /// The values are those of ScyllaDB's description of its sharding: the token's place on a circle cut into equal pieces.
    #[test]
    fn a_core_has_the_tokens_that_the_server_gives_it() {
        let cores = |count, ignored_bits| Cores { port: 1, count, ignored_bits };
        assert_eq!([i64::MIN, -1, 0, i64::MAX].map(|token| cores(2, 0).of(token)), [0, 0, 1, 1]);
        assert_eq!([i64::MIN, -1, 0, i64::MAX].map(|token| cores(3, 0).of(token)), [0, 1, 1, 2]);
        // Without the highest bit both halves of the ring are dealt out alike.
        assert_eq!([i64::MIN, -1, 0, i64::MAX].map(|token| cores(2, 1).of(token)), [0, 1, 0, 1]);
        assert_eq!(cores(4, 64).of(-1), 0);
    }

    #[test]
    fn the_right_core_comes_first_and_the_others_before_other_nodes() {
        let of = |count| Some(Cores { port: 19_042, count, ignored_bits: 0 });
        let ring = ring(&[node(1, of(3), &[0]), node(2, of(1), &[i64::MAX]), node(3, None, &[-1])]);
        let places: Vec<(u16, Option<u16>)> =
            ring.places().iter().map(|place| (place.address.port(), place.core.map(|core| core.index))).collect();
        assert_eq!(places, [(1, Some(0)), (2, Some(0)), (3, None), (1, Some(1)), (1, Some(2))]);
        let ranked: Vec<(u16, Option<u16>)> = ring.ranked(0).map(|place| places[place]).collect();
        assert_eq!(ranked, [(1, Some(1)), (1, Some(2)), (1, Some(0)), (2, Some(0)), (3, None)]);
    }
}
