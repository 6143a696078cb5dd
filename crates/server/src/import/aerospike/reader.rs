//! Scans of partitions: each is asked of the node that has it.

use super::super::error::ImportError;
use super::connector::{Connection, Connector};
use super::nodes::Nodes;
use super::record::Record;
use aerospike::ResultCode;
use aerospike::wire::{Kind, Message, MessageWriter, Proto, field, info1, info3};
use load::aerospike::client::ClientError;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

/// What a failure is said of.
const SCAN: &str = "a scan";
/// For so long a server waits for a reader that is busy with its own writes.
const SOCKET_TIMEOUT_MS: u32 = 600_000;

/// What is scanned.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) namespace: &'a str,
    /// Empty for all that the namespace has.
    pub(super) set: &'a str,
    /// Only records that were written from then on, in nanoseconds since 1970.
    pub(super) since_ns: Option<u64>,
}

/// One job's connections to a side.
pub(super) struct Reader<'a> {
    connector: &'a Connector,
    nodes: Option<Nodes>,
    connections: HashMap<u16, Connection>,
}

/// Why a scan ends early.
enum Stop {
    Client(ClientError),
    Told(ImportError),
    /// The set is not there.
    NoSet,
    /// A part of it is refused.
    Part(ResultCode),
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(connector: &'a Connector) -> Self {
        Self { connector, nodes: None, connections: HashMap::new() }
    }

    /// Gives `each` all records of these partitions. After a failure it looks anew who has them.
    pub(super) fn scan(
        &mut self,
        wanted: &Wanted<'_>,
        partitions: &Range<u16>,
        mut each: impl FnMut(&Record<'_>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let done = self.try_scan(wanted, partitions, &mut each);
        if done.is_err() {
            self.nodes = None;
            self.connections.clear();
        }
        done
    }

    fn try_scan(
        &mut self,
        wanted: &Wanted<'_>,
        partitions: &Range<u16>,
        each: &mut impl FnMut(&Record<'_>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let Self { connector, nodes, connections } = self;
        let nodes = match nodes {
            Some(nodes) => nodes,
            None => nodes.insert(Nodes::look(connector, wanted.namespace)?),
        };
        for (node, of_node) in nodes.by_node(partitions.clone()) {
            let mut connection = match connections.remove(&node) {
                Some(connection) => connection,
                None => connector.connect_to(nodes.address(node))?,
            };
            let mut request = Vec::new();
            write_scan(wanted, &of_node, &mut request);
            let mut is_first = true;
            let done = connection.many(SCAN, &request, |message| take(message, std::mem::take(&mut is_first), each));
            match done {
                // A set that is not there has no records.
                Ok(()) | Err(Stop::Client(ClientError::Refused { code: ResultCode::NOT_FOUND, .. })) => {
                    connections.insert(node, connection);
                }
                // Said without an end: nobody knows what comes next on the connection.
                Err(Stop::NoSet) => {}
                Err(Stop::Client(error)) => return Err(connector.failed(error)),
                Err(Stop::Part(code)) => return Err(connector.failed(ClientError::Refused { what: SCAN, code })),
                Err(Stop::Told(error)) => return Err(error),
            }
        }
        Ok(())
    }
}

/// A record, or how a partition has ended; instead of the first one, that there is no such set.
fn take(message: &Message<'_>, is_first: bool, each: &mut impl FnMut(&Record<'_>) -> Result<(), ImportError>) -> Result<(), Stop> {
    let is_end = message.attributes.info3 & info3::PARTITION_DONE != 0;
    match message.result {
        ResultCode::OK if is_end => Ok(()),
        ResultCode::OK => {
            // Without a digest it is no record.
            let record = Record::of(message).ok_or(ClientError::Unexpected)?;
            each(&record).map_err(Stop::Told)
        }
        ResultCode::NOT_FOUND if is_first && !is_end => Err(Stop::NoSet),
        code => Err(Stop::Part(code)),
    }
}

fn write_scan(wanted: &Wanted<'_>, partitions: &[u16], out: &mut Vec<u8>) {
    let proto = Proto::begin(out, Kind::Message);
    let mut message = MessageWriter::begin(out);
    message.attributes.info1 = info1::READ;
    message.field(out, field::NAMESPACE, wanted.namespace.as_bytes(), &[]);
    if !wanted.set.is_empty() {
        message.field(out, field::SET, wanted.set.as_bytes(), &[]);
    }
    let partitions: Vec<u8> = partitions.iter().flat_map(|partition| partition.to_le_bytes()).collect();
    message.field(out, field::PARTITIONS, &partitions, &[]);
    message.field(out, field::SOCKET_TIMEOUT, &SOCKET_TIMEOUT_MS.to_be_bytes(), &[]);
    message.field(out, field::QUERY_ID, &query_id().to_be_bytes(), &[]);
    if let Some(since_ns) = wanted.since_ns {
        message.field(out, field::FILTER, &written_since(since_ns), &[]);
    }
    message.end(out, ResultCode::OK);
    proto.end(out);
}

/// By which a server tells scans apart: another one each time.
fn query_id() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// The expression `last update ≥ time`: an operator and its operands, in msgpack.
fn written_since(time_ns: u64) -> Vec<u8> {
    const GREATER_OR_EQUAL: u8 = 4;
    const LAST_UPDATE: u8 = 66;
    let mut expression = vec![0x93, GREATER_OR_EQUAL, 0x91, LAST_UPDATE];
    aerospike::value::msgpack::write::unsigned(&mut expression, time_ns);
    expression
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_names_what_it_wants() {
        let wanted = Wanted { namespace: "n", set: "s", since_ns: Some(1_700_000_000_000_000_000) };
        let mut out = Vec::new();
        write_scan(&wanted, &[3, 4095], &mut out);
        let message = Message::decode(&out[8..]).unwrap();
        let fields = message.fields;
        assert_eq!((message.attributes.info1, message.attributes.info3), (info1::READ, 0), "the end of each partition is told");
        assert_eq!((fields.namespace, fields.set), (Some(&b"n"[..]), Some(&b"s"[..])));
        assert_eq!((fields.partitions, fields.filter.is_some()), (Some(&[3, 0, 0xFF, 0x0F][..]), true));
        out.clear();
        write_scan(&Wanted { set: "", since_ns: None, ..wanted }, &[0], &mut out);
        let fields = Message::decode(&out[8..]).unwrap().fields;
        assert_eq!((fields.set, fields.filter), (None, None));
    }

    #[test]
    fn times_are_filtered_by_the_servers_expression() {
        // As the Python client 19.3 sends `GE(LastUpdateTime(), 1_700_000_000_000_000_000)`.
        let bytes = [0x93, 0x04, 0x91, 0x42, 0xCF, 0x17, 0x97, 0x9C, 0xFE, 0x36, 0x2A, 0x00, 0x00];
        assert_eq!(written_since(1_700_000_000_000_000_000), bytes);
    }

    #[test]
    fn only_instead_of_a_first_record_a_set_is_not_there() {
        let taken = |result, is_end: bool, digest: Option<&[u8]>, is_first| {
            let mut out = Vec::new();
            let mut message = MessageWriter::begin(&mut out);
            message.attributes.info3 = if is_end { info3::PARTITION_DONE } else { 0 };
            digest.into_iter().for_each(|digest| message.field(&mut out, field::DIGEST, digest, &[]));
            message.end(&mut out, result);
            let mut records = 0;
            let done = take(&Message::decode(&out).unwrap(), is_first, &mut |_| {
                records += 1;
                Ok(())
            });
            (done, records)
        };
        assert!(matches!(taken(ResultCode::OK, false, Some(&[1; 20]), false), (Ok(()), 1)));
        assert!(matches!(taken(ResultCode::OK, true, None, false), (Ok(()), 0)));
        assert!(matches!(taken(ResultCode::OK, false, None, true), (Err(Stop::Client(ClientError::Unexpected)), 0)), "no digest");
        assert!(matches!(taken(ResultCode::NOT_FOUND, false, None, true), (Err(Stop::NoSet), 0)));
        for (is_end, is_first) in [(true, true), (true, false), (false, false)] {
            assert!(matches!(taken(ResultCode::NOT_FOUND, is_end, None, is_first), (Err(Stop::Part(ResultCode::NOT_FOUND)), 0)));
        }
    }
}
