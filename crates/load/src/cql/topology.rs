//! Where partitions are, as `system.local` and `system.peers_v2` (or `system.peers`, where that is all there is) tell drivers.
//!
//! Members that cannot be reached from here, or have not been asked for their cores yet, are left out until they have.

use super::access::{ASK_S, Access, failed, text};
use super::client::{Cell, Client, ClientError};
use crate::ring::{Cores, Ring, RingNode};
use crate::target::{TargetError, Topology};
use crate::tls::link::Link;
use ::cql::value::{layout, token};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Nodes that do not answer are asked one after the other for so long; the next look begins with the one that follows.
const LOOK_MAX: Duration = Duration::from_secs(4);

/// How long members that are new may be asked for their cores before those that are left have to wait for the next look.
const NEW_MEMBERS_MAX: Duration = Duration::from_secs(4);

/// Asks one node after the other.
#[derive(Debug)]
pub(super) struct CqlTopology {
    access: Access,
    /// Nodes that can be asked, those that were given and those that are or were members; the first is asked next.
    known: Vec<SocketAddr>,
    asked: Option<Asked>,
    /// Of the members that were reached.
    cores: BTreeMap<SocketAddr, Option<Cores>>,
}

/// The node that is asked.
struct Asked {
    address: SocketAddr,
    client: Client<Link>,
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Asked").field("address", &self.address).finish_non_exhaustive()
    }
}

/// What a node says of a member.
struct Member {
    address: SocketAddr,
    tokens: Vec<i64>,
}

impl CqlTopology {
    pub(super) fn new(access: Access) -> Self {
        let known = access.addresses.clone();
        Self { access, known, asked: None, cores: BTreeMap::new() }
    }

    fn members(&mut self) -> Result<Vec<Member>, TargetError> {
        let Asked { address, mut client } = match self.asked.take() {
            Some(asked) => asked,
            None => Asked { address: self.known[0], client: self.access.client_of(self.known[0], ASK_S, ASK_S)? },
        };
        let members = members(address, &mut client)?;
        self.asked = Some(Asked { address, client });
        let new = members.iter().map(|member| member.address).filter(|address| !self.known.contains(address));
        self.known.extend(new.collect::<Vec<_>>());
        Ok(members)
    }

    /// The ring of `members`.
    fn ring(&mut self, members: Vec<Member>) -> Ring {
        // Those of members that are listed no more are asked anew when they come back; of others they are taken to stay as they are.
        self.cores.retain(|address, _| members.iter().any(|member| member.address == *address));
        let until = Instant::now() + NEW_MEMBERS_MAX;
        for member in &members {
            if !self.cores.contains_key(&member.address)
                && Instant::now() < until
                && let Ok(cores) = self.access.cores(member.address)
            {
                self.cores.insert(member.address, cores);
            }
        }
        let node =
            |member: Member| Some(RingNode { cores: *self.cores.get(&member.address)?, address: member.address, tokens: member.tokens });
        Ring::new(|key| token(key).0, members.into_iter().filter_map(node).collect())
    }
}

impl Topology for CqlTopology {
    fn look(&mut self) -> Result<Ring, TargetError> {
        let (mut left, until) = (self.known.len(), Instant::now() + LOOK_MAX);
        loop {
            left -= 1;
            match self.members() {
                Ok(members) => return Ok(self.ring(members)),
                Err(error) => {
                    self.known.rotate_left(1);
                    if left == 0 || Instant::now() >= until {
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// The members that serve something, as the node at `address` knows them.
fn members(address: SocketAddr, client: &mut Client<Link>) -> Result<Vec<Member>, TargetError> {
    const LOCAL: &str = "SELECT partitioner, rpc_address, tokens FROM system.local";
    const PEERS: &str = "SELECT native_address, native_port, tokens FROM system.peers_v2";
    const PEERS_WITHOUT_PORTS: &str = "SELECT rpc_address, tokens FROM system.peers";
    let own = client.rows(LOCAL).map_err(|error| failed(address, LOCAL, error))?.pop().unwrap_or_default();
    if !text(own.first()).ends_with("Murmur3Partitioner") {
        return Err(TargetError::Unsupported { protocol: "cql", why: "tokens are known of the Murmur3Partitioner alone" });
    }
    // A node that listens on all its addresses does not say which one clients take.
    let ip = inet(own.get(1)).filter(|ip| !ip.is_unspecified()).unwrap_or(address.ip());
    let mut members = vec![Member { address: SocketAddr::new(ip, address.port()), tokens: tokens(own.get(2)) }];
    let member = |ip, port, tokens| Some(Member { address: SocketAddr::new(ip?, port), tokens });
    match client.rows(PEERS) {
        Ok(peers) => members.extend(peers.iter().filter_map(|row| member(inet(row.first()), port(row.get(1))?, tokens(row.get(2))))),
        Err(ClientError::Refused { .. }) => {
            let peers = client.rows(PEERS_WITHOUT_PORTS).map_err(|error| failed(address, PEERS_WITHOUT_PORTS, error))?;
            members.extend(peers.iter().filter_map(|row| member(inet(row.first()), address.port(), tokens(row.get(1)))));
        }
        Err(error) => return Err(failed(address, PEERS, error)),
    }
    members.retain(|member| !member.tokens.is_empty());
    Ok(members)
}

fn inet(cell: Option<&Cell>) -> Option<IpAddr> {
    let bytes = cell?.as_deref()?;
    let four = || Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?));
    four().or_else(|| Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?)))
}

fn port(cell: Option<&Cell>) -> Option<u16> {
    let bytes = cell?.as_deref()?.try_into().ok()?;
    i32::from_be_bytes(bytes).try_into().ok()
}

/// Of a set of texts.
fn tokens(cell: Option<&Cell>) -> Vec<i64> {
    let texts = layout::elements(cell.and_then(Option::as_deref).unwrap_or_default());
    texts.filter_map(|text| std::str::from_utf8(text).ok()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_system_tables_are_read() {
        let cell = |bytes: &[u8]| Some(bytes.to_vec());
        assert_eq!(inet(Some(&cell(&[127, 0, 0, 2]))), Some(IpAddr::from([127, 0, 0, 2])));
        assert_eq!(inet(Some(&cell(&[0; 16]))), Some(IpAddr::from([0_u16; 8])));
        assert_eq!((inet(Some(&cell(b"abc"))), inet(Some(&None)), inet(None)), (None, None, None));
        assert_eq!((port(Some(&cell(&[0, 0, 35, 82]))), port(Some(&cell(&[0, 1, 0, 0])))), (Some(9_042), None));
        let set = cell(b"\0\0\0\x03\0\0\0\x02-1\0\0\0\x01x\0\0\0\x049000");
        assert_eq!(tokens(Some(&set)), [-1, 9_000], "what is no number is none of this partitioner's tokens");
        for broken in [&b""[..], b"\0\0\0\x01\0\0\0\x05ab", b"\0\0\0\x01\xFF\xFF\xFF\xFF"] {
            assert!(tokens(Some(&cell(broken))).is_empty());
        }
    }
}
