#![allow(clippy::unwrap_used)]

use super::*;
use crate::exec::Namespace;
use crate::jobs::Jobs;
use crate::udf::ModuleChange;
use crate::{security, wire};
use base::{BufferPool, Rng};
use model::Schema;

/// Answers each request with its first bin's name, at once or later.
struct Echo {
    schema: Schema,
    namespaces: Vec<Namespace>,
    later: bool,
    lets_in: bool,
    jobs: Jobs,
    served: Vec<Vec<u8>>,
    buffers: BufferPool,
}

impl Echo {
    fn new(later: bool) -> Self {
        let namespaces = vec![Namespace { name: "test".to_owned(), default_ttl_s: 0 }];
        Self {
            schema: Schema::empty(),
            namespaces,
            later,
            lets_in: true,
            jobs: Jobs::default(),
            served: Vec::new(),
            buffers: BufferPool::default(),
        }
    }
}

impl Server for Echo {
    fn buffers(&mut self) -> &mut BufferPool {
        &mut self.buffers
    }

    fn is_let_in(&self) -> bool {
        self.lets_in
    }

    fn security(&mut self, body: &[u8], out: &mut Vec<u8>) -> Progress {
        security::write_result(out, ResultCode(body[2]));
        Progress::Replied
    }

    fn abort_jobs(&mut self, abort: Abort, value: &mut Vec<u8>) {
        value.extend_from_slice(abort.run(&self.jobs).as_bytes());
    }

    fn view(&self) -> NodeView<'_> {
        NodeView {
            node_name: "A1",
            cluster_name: "c",
            address: address(),
            tls_address: None,
            namespaces: &self.namespaces,
            schema: &self.schema,
            built_indexes: Vec::new(),
            jobs: &self.jobs,
            now_us: 0,
            uptime_s: 0,
            client_connections: 0,
            cluster: None,
        }
    }

    fn truncate(&mut self, truncation: &Truncation<'_>, value: &mut Vec<u8>) -> Progress {
        self.served.push(truncation.namespace.into());
        if self.later {
            return Progress::Waiting;
        }
        value.extend_from_slice(b"ok");
        Progress::Replied
    }

    fn change_index(&mut self, change: &IndexChange, value: &mut Vec<u8>) -> Progress {
        self.served.push(change.name().into());
        value.extend_from_slice(b"ok");
        if self.later { Progress::Waiting } else { Progress::Replied }
    }

    fn change_module(&mut self, change: &ModuleChange, value: &mut Vec<u8>) -> Progress {
        self.served.push(change.name().into());
        value.extend_from_slice(b"ok");
        if self.later { Progress::Waiting } else { Progress::Replied }
    }

    fn message(&mut self, message: &Message<'_>, body: &[u8], out: &mut Vec<u8>) -> Progress {
        assert_eq!(Message::decode(body).as_ref(), Ok(message));
        let name = message.operations.iter().next().map(|operation| operation.name.to_vec()).unwrap_or_default();
        self.served.push(name);
        if self.later {
            return Progress::Waiting;
        }
        wire::write_result(out, ResultCode(message.operations.len() as u8), 0);
        Progress::Replied
    }
}

fn address() -> SocketAddr {
    ([127, 0, 0, 1], 3000).into()
}

fn framed(kind: Kind, body: &[u8]) -> Vec<u8> {
    let mut out = Header { kind, body_bytes: body.len() }.to_bytes().to_vec();
    out.extend_from_slice(body);
    out
}

fn request(name: &str) -> Vec<u8> {
    let mut body = Vec::new();
    let mut message = wire::MessageWriter::begin(&mut body);
    message.bin(&mut body, name.as_bytes(), 0, &[0; 40]);
    message.end(&mut body, ResultCode::OK);
    framed(Kind::Message, &body)
}

/// What is said of a message that was not read.
fn unread(code: u8) -> Vec<u8> {
    let mut out = Vec::new();
    wire::write_result(&mut out, ResultCode(code), wire::info3::LAST);
    out
}

fn result(code: u8) -> Vec<u8> {
    let mut out = Vec::new();
    wire::write_result(&mut out, ResultCode(code), 0);
    out
}

const PLENTY: usize = 1 << 20;

#[test]
fn requests_may_arrive_in_any_pieces() {
    let mut rng = Rng::new(7);
    let all: Vec<u8> = (0..20).flat_map(|number| request(&format!("bin{number}"))).chain(framed(Kind::Info, b"node\n")).collect();
    for _ in 0..200 {
        let (mut session, mut server, mut out) = (Session::new(address(), 1_000), Echo::new(false), Vec::new());
        let mut rest = all.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.len().min(1 + rng.below(300) as usize));
            assert_eq!(session.receive(piece, &mut out, PLENTY, &mut server), Verdict::Continue);
            rest = after;
        }
        assert_eq!(server.served, (0..20).map(|number| format!("bin{number}").into_bytes()).collect::<Vec<_>>());
        assert_eq!(out, [result(1).repeat(20), framed(Kind::Info, b"node\tA1\n")].concat());
        assert_eq!(session.buffered_bytes(), 0);
    }
}

#[test]
fn one_request_is_in_flight_and_what_follows_waits() {
    let (mut session, mut server, mut out) = (Session::new(address(), 1_000), Echo::new(true), Vec::new());
    assert_eq!(session.receive(&request("a"), &mut out, PLENTY, &mut server), Verdict::Continue);
    assert_eq!((session.in_flight(), session.takes_requests(0, PLENTY)), (1, false));
    assert!(session.outstanding_bytes() > 0);
    let more = [request("b"), request("c")].concat();
    assert_eq!(session.receive(&more, &mut out, PLENTY, &mut server), Verdict::Pause);
    assert_eq!(session.receive(&[], &mut out, PLENTY, &mut server), Verdict::Pause);
    assert_eq!(server.served.len(), 1);
    session.append_late_reply(&result(0), &mut out);
    assert!(session.takes_requests(0, PLENTY));
    assert_eq!(session.receive(&[], &mut out, PLENTY, &mut server), Verdict::Pause, "for c");
    session.append_late_reply(&result(0), &mut out);
    assert_eq!(session.receive(&[], &mut out, PLENTY, &mut server), Verdict::Continue);
    session.append_late_reply(&result(0), &mut out);
    assert_eq!(server.served, [b"a", b"b", b"c"]);
    assert_eq!(out, result(0).repeat(3));
    assert_eq!((session.in_flight(), session.buffered_bytes(), session.outstanding_bytes()), (0, 0, 0));
}

#[test]
fn a_client_that_does_not_read_is_not_served() {
    let (mut session, mut server) = (Session::new(address(), 1_000), Echo::new(false));
    let mut out = Vec::new();
    let many = request("a").repeat(100);
    assert_eq!(session.receive(&many, &mut out, 0, &mut server), Verdict::Pause);
    assert!(server.served.is_empty());
    assert_eq!(session.receive(&[], &mut out, 100, &mut server), Verdict::Pause);
    assert_eq!(out.len(), 120, "what exceeds the limit is the last reply");
    out.clear();
    while session.receive(&[], &mut out, 100, &mut server) == Verdict::Pause {
        out.clear();
    }
    assert_eq!(server.served.len(), 100);
}

#[test]
fn what_is_broken_ends_the_connection_and_what_makes_no_sense_does_not() {
    let serve = |bytes: &[u8]| {
        let (mut session, mut server, mut out) = (Session::new(address(), 1_000), Echo::new(false), Vec::new());
        let verdict = session.receive(bytes, &mut out, PLENTY, &mut server);
        (verdict, out)
    };
    assert_eq!(serve(b"GET / HTTP/1.1\r\n\r\n"), (Verdict::Close, vec![]));
    assert_eq!(serve(&[2, 9, 0, 0, 0, 0, 0, 0]), (Verdict::Close, vec![]));
    assert_eq!(serve(&[2, 3, 0, 0, 8, 0, 0, 1]), (Verdict::Close, unread(4)), "more than 128 MiB");
    assert_eq!(serve(&[2, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), (Verdict::Close, unread(4)));
    assert_eq!(serve(&[2, 3, 0, 0, 0, 0, 0x03, 0xE8]), (Verdict::Continue, vec![]), "1,000 bytes may come");
    let senseless = [framed(Kind::Message, &[22; 30]), request("a")].concat();
    assert_eq!(serve(&senseless), (Verdict::Continue, [unread(4), result(1)].concat()));
    assert_eq!(serve(&framed(Kind::Message, &[])), (Verdict::Continue, unread(4)));
    assert_eq!(serve(&framed(Kind::Compressed, &[0; 20])), (Verdict::Close, unread(4)));
}

#[test]
fn a_request_that_is_too_long_is_skipped_and_refused() {
    let (mut session, mut server, mut out) = (Session::new(address(), 1_000), Echo::new(false), Vec::new());
    let long = framed(Kind::Message, &[0xAA; 100_000]);
    for piece in [request("a"), long, request("b")].concat().chunks(777) {
        assert_eq!(session.receive(piece, &mut out, PLENTY, &mut server), Verdict::Continue);
        assert!(session.buffered_bytes() < 2_000);
    }
    assert_eq!(server.served, [b"a", b"b"]);
    assert_eq!(out, [result(1), unread(13), result(1)].concat());
}

#[test]
fn compressed_requests_are_requests() {
    use std::io::Write;
    let compressed = |announced: u64, plain: &[u8]| {
        let mut zlib = flate2::write::ZlibEncoder::new(announced.to_be_bytes().to_vec(), flate2::Compression::default());
        zlib.write_all(plain).unwrap();
        framed(Kind::Compressed, &zlib.finish().unwrap())
    };
    let serve = |bytes: &[u8]| {
        let (mut session, mut server, mut out) = (Session::new(address(), 1_000), Echo::new(false), Vec::new());
        (session.receive(bytes, &mut out, PLENTY, &mut server), server.served)
    };
    let plain = request("a");
    assert_eq!(serve(&compressed(plain.len() as u64, &plain)), (Verdict::Continue, vec![b"a".to_vec()]));
    for announced in [0, plain.len() as u64 - 1, plain.len() as u64 + 1, u64::MAX] {
        assert_eq!(serve(&compressed(announced, &plain)), (Verdict::Close, vec![]), "{announced}");
    }
    let bomb = vec![0; 200_000];
    assert_eq!(serve(&compressed(900, &bomb)), (Verdict::Close, vec![]));
    let nested = framed(Kind::Compressed, &plain);
    assert_eq!(serve(&compressed(nested.len() as u64, &nested)), (Verdict::Close, vec![]));
}

#[test]
fn truncations_are_answered_by_name_at_once_or_later() {
    let ask = framed(Kind::Info, b"truncate:namespace=test;set=s\n");
    let expected = framed(Kind::Info, b"truncate:namespace=test;set=s\tok\n");
    let (mut session, mut out) = (Session::new(address(), 1_000), Vec::new());
    let _ = session.receive(&ask, &mut out, PLENTY, &mut Echo::new(false));
    assert_eq!(out, expected);
    out.clear();
    let mut server = Echo::new(true);
    let _ = session.receive(&[ask, request("a")].concat(), &mut out, PLENTY, &mut server);
    assert!(out.is_empty());
    session.append_late_reply(b"ok", &mut out);
    assert_eq!(out, expected);
    let _ = session.receive(&[], &mut out, PLENTY, &mut server);
    session.append_late_reply(&result(0), &mut out);
    assert_eq!(out, [expected, result(0)].concat());
    out.clear();
    let _ = session.receive(&framed(Kind::Info, b"truncate:namespace=test\n"), &mut out, PLENTY, &mut server);
    assert!(String::from_utf8_lossy(&out).contains("ERROR:4:"));
}

#[test]
fn commands_about_users_are_the_servers_to_answer() {
    let security = |command: u8| {
        let mut body = [0; 16];
        body[2] = command;
        let (mut session, mut out) = (Session::new(address(), 1_000), Vec::new());
        assert_eq!(session.receive(&framed(Kind::Security, &body), &mut out, PLENTY, &mut Echo::new(false)), Verdict::Continue);
        assert_eq!(out.len(), 24);
        out[9]
    };
    assert_eq!([0, 1, 20].map(security), [0, 1, 20], "the server answers them");
}

#[test]
fn who_has_to_log_in_first_is_told_nothing() {
    let mut server = Echo { lets_in: false, ..Echo::new(false) };
    let (mut session, mut out) = (Session::new(address(), 1_000), Vec::new());
    let _ = session.receive(&framed(Kind::Info, b"node\ntruncate:namespace=test\n"), &mut out, PLENTY, &mut server);
    let refused = "ERROR:80:not authenticated";
    assert_eq!(String::from_utf8_lossy(&out[HEADER_BYTES..]), format!("node\t{refused}\ntruncate:namespace=test\t{refused}\n"));
    assert!(server.served.is_empty());
}

#[test]
fn changes_of_indexes_are_answered_by_name_at_once_or_later() {
    let command = b"sindex-create:ns=test;set=s;indexname=i;indexdata=b,STRING\n";
    let expected = framed(Kind::Info, &[&command[..command.len() - 1], b"\tok\n"].concat());
    for later in [false, true] {
        let (mut session, mut out, mut server) = (Session::new(address(), 1_000), Vec::new(), Echo::new(later));
        let _ = session.receive(&framed(Kind::Info, command), &mut out, PLENTY, &mut server);
        assert_eq!(server.served, [b"i"]);
        if later {
            assert!(out.is_empty());
            session.append_late_reply(b"ok", &mut out);
        }
        assert_eq!(out, expected);
    }
    let (mut session, mut out, mut server) = (Session::new(address(), 1_000), Vec::new(), Echo::new(false));
    let _ = session.receive(
        &framed(Kind::Info, b"sindex-create:ns=test;indexname=i;exp=kQ==;bin=b;type=numeric\n"),
        &mut out,
        PLENTY,
        &mut server,
    );
    assert!(String::from_utf8_lossy(&out).contains("ERROR:16:"), "{}", String::from_utf8_lossy(&out));
    assert!(server.served.is_empty());
}
