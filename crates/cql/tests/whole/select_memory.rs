//! Rows in memory that no shard owns are read with the same statements as any others.

use crate::select_support::Node;
use base::Now;
use cql::exec::{Execution, MemoryStore, Options};
use cql::wire::{Consistency, Frame, FrameHeader, ProtocolVersion, Response, ResultResponse, StreamId};
use model::operation::Context;

/// The first values of the rows, and the paging state.
fn run(node: &Node, store: &MemoryStore, text: &str, page_size: Option<u32>, state: Option<&[u8]>) -> (Vec<i32>, Option<Vec<u8>>) {
    let prepared = node.prepare(text).unwrap();
    let now = Now { monotonic_us: 0, wall_us: 1_000_000 };
    let options = Options {
        version: ProtocolVersion::V4,
        stream: StreamId(1),
        consistency: Consistency::One,
        page_size,
        timestamp: None,
        skip_metadata: false,
        now_s: None,
        started: now,
        nonce: 1,
        cores: 4,
        result_bytes_max: u32::MAX,
    };
    let execution = Execution::new(&prepared, options, state);
    let mut reply = Vec::new();
    store.run(&execution, &Context { now, timestamp_us: 1, nonce: 1 }, &mut reply).unwrap();
    let header = FrameHeader::parse(&reply).unwrap().unwrap();
    let frame = Frame { header, body: &reply[9..] };
    let Response::Result(ResultResponse::Rows(rows)) = Response::decode(&frame).unwrap().1 else { panic!("no rows") };
    let first = |cell: Option<&[u8]>| i32::from_be_bytes(cell.unwrap().try_into().unwrap());
    (rows.iter().map(|mut row| first(row.next().unwrap())).collect(), rows.metadata.paging_state.map(<[u8]>::to_vec))
}

#[test]
fn rows_in_memory_are_found_by_key_slice_and_scan() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k text, c int, v int, l list<int>, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC)");
    let table = node.schema.table("ks", "t").unwrap().clone();
    let mut store = MemoryStore::new();
    for k in ["a", "b"] {
        for c in 0..5_i32 {
            let v = (c % 2 == 0).then(|| c.to_be_bytes().to_vec());
            store.insert(&table, &[Some(k.into()), Some(c.to_be_bytes().to_vec()), None, v]).unwrap();
        }
    }
    assert_eq!(run(&node, &store, "SELECT c FROM t WHERE k = 'a' AND c = 3", None, None), (vec![3], None));
    assert_eq!(run(&node, &store, "SELECT c FROM t WHERE k = 'a'", None, None), (vec![4, 3, 2, 1, 0], None));
    assert_eq!(run(&node, &store, "SELECT c FROM t WHERE k = 'a' AND c > 1 ORDER BY c ASC", None, None), (vec![2, 3, 4], None));
    assert_eq!(run(&node, &store, "SELECT c FROM t WHERE k = 'c'", None, None), (vec![], None));
    assert_eq!(run(&node, &store, "SELECT c FROM t", None, None).0.len(), 10);
    assert_eq!(run(&node, &store, "SELECT c FROM t WHERE c = 2 ALLOW FILTERING", None, None).0, [2, 2]);
    let (first, state) = run(&node, &store, "SELECT c FROM t WHERE k = 'b'", Some(3), None);
    assert_eq!(first, [4, 3, 2]);
    assert_eq!(run(&node, &store, "SELECT c FROM t WHERE k = 'b'", Some(3), state.as_deref()), (vec![1, 0], None));
}

#[test]
fn rows_that_cannot_be_are_refused() {
    let mut node = Node::new(1);
    node.define("CREATE TABLE t (k text, c int, PRIMARY KEY (k, c))");
    let table = node.schema.table("ks", "t").unwrap().clone();
    let mut store = MemoryStore::new();
    assert!(store.insert(&table, &[Some(b"a".to_vec()), None]).is_err());
    assert!(store.insert(&table, &[Some(b"a".to_vec())]).is_err());
    assert!(store.insert(&table, &[Some(vec![0; 70_000]), Some(vec![0; 4])]).is_err());
}
