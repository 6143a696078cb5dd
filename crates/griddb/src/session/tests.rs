#![allow(clippy::unwrap_used)]

use super::*;
use crate::wire::{MAGIC, error_of, put_i64, put_string};
use crate::{PARTITION_COUNT, PUBLIC_DATABASE};
use base::{BufferPool, Rng};

#[derive(Default)]
struct Fake {
    /// What LOGIN comes to; that nobody has to log in without.
    login: Option<Result<Progress, GridError>>,
    /// Who has asked to log in: the name, and the digest of the password.
    asked: Vec<(String, String)>,
    log_outs: usize,
    buffers: BufferPool,
    served: Vec<(i32, String)>,
    /// Of the client that was served last.
    transaction_timeout_s: u32,
    waits: bool,
    /// Plaintext alone without.
    transports: Option<Transports>,
}

impl Server for Fake {
    fn buffers(&mut self) -> &mut BufferPool {
        &mut self.buffers
    }

    fn cluster_name(&self) -> &str {
        "TarnDB"
    }

    fn transports(&self) -> Transports {
        self.transports.unwrap_or(Transports { plain: true, tls: false })
    }

    fn log_in(&mut self, login: Login<'_>) -> Result<Progress, GridError> {
        self.asked.push((login.user.to_owned(), login.digest.to_owned()));
        self.login.clone().unwrap_or(Ok(Progress::Replied))
    }

    fn log_out(&mut self) {
        self.log_outs += 1;
    }

    fn database(&self, name: &str) -> Option<i64> {
        (name == PUBLIC_DATABASE).then_some(0)
    }

    fn address(&self) -> SocketAddr {
        "127.0.0.1:10001".parse().unwrap()
    }

    fn owner(&self, database: &str, partition: u32) -> SocketAddr {
        assert_eq!(database, PUBLIC_DATABASE);
        SocketAddr::from(([127, 0, 0, 1], 10_001 + u16::from(partition == 5)))
    }

    fn statement(&mut self, statement: &Statement<'_>, _: &[u8], client: &Client, out: &mut Vec<u8>) -> Progress {
        self.served.push((statement.number(), client.database.to_string()));
        self.transaction_timeout_s = client.transaction_timeout_s;
        if self.waits {
            return Progress::Waiting;
        }
        statement.reply.write_done(out);
        Progress::Replied
    }
}

fn session() -> Session {
    Session::new("127.0.0.1:5000".parse().unwrap(), 1 << 16)
}

fn frame(number: i32, arguments: &[u8]) -> Vec<u8> {
    let mut body = [number.to_le_bytes(), 0_i32.to_le_bytes()].concat();
    if number == statement::CONNECT {
        put_i32(&mut body, 9);
    } else {
        put_i64(&mut body, 9);
    }
    body.extend_from_slice(arguments);
    let mut frame = MAGIC.to_le_bytes().to_vec();
    frame.extend_from_slice(&[0; 12]);
    put_i32(&mut frame, body.len() as i32);
    frame.extend_from_slice(&body);
    frame
}

fn connect_frame(version: i32) -> Vec<u8> {
    frame(statement::CONNECT, &[&version.to_le_bytes()[..], &2_i32.to_le_bytes(), &[1, 0]].concat())
}

fn login_frame(cluster_name: &str) -> Vec<u8> {
    login_frame_with(&[], cluster_name)
}

fn login_frame_with(options: &[u8], cluster_name: &str) -> Vec<u8> {
    login_frame_by(options, cluster_name, 0)
}

fn login_frame_by(options: &[u8], cluster_name: &str, mode: u8) -> Vec<u8> {
    let mut arguments = [&(options.len() as i32).to_le_bytes(), options].concat();
    put_string(&mut arguments, "admin");
    put_string(&mut arguments, "digest");
    put_i32(&mut arguments, 15);
    arguments.push(1);
    put_string(&mut arguments, cluster_name);
    arguments.push(mode);
    frame(statement::LOGIN, &arguments)
}

/// The results of the one reply in `out`, or the number of its error.
fn results(out: &[u8]) -> Result<&[u8], i32> {
    let header = FrameHeader::read(out, false, 1 << 20).unwrap().unwrap();
    assert_eq!(header.bytes + header.body_bytes, out.len());
    let body = &out[header.bytes..];
    let head = if body[..4] == statement::CONNECT.to_le_bytes() { 8 } else { 12 };
    let (status, results) = body[head..].split_first().unwrap();
    if *status == 0 { Ok(results) } else { Err(i32::from_le_bytes(*results[4..].first_chunk().unwrap())) }
}

fn ask(session: &mut Session, server: &mut Fake, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    assert_eq!(session.receive(bytes, &mut out, 1 << 20, server), Verdict::Continue);
    out
}

#[test]
fn a_client_connects_logs_in_and_learns_where_partitions_are() {
    let (mut session, mut server) = (session(), Fake::default());
    assert_eq!(results(&ask(&mut session, &mut server, &connect_frame(15))), Ok(&[0, 15, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0][..]));
    assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]))), Err(10_006));
    assert_eq!(results(&ask(&mut session, &mut server, &login_frame("other"))), Err(10_053));
    assert_eq!(results(&ask(&mut session, &mut server, &login_frame("TarnDB"))), Ok(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0][..]));
    let address = [127, 0, 0, 1, 0x11, 0x27, 0, 0];
    let master = frame(statement::GET_PARTITION_ADDRESS, &[0, 0, 0, 0, 1]);
    let expected = [&[128, 0, 0, 0, 0, 0, 1, 0][..], &address].concat();
    assert_eq!(results(&ask(&mut session, &mut server, &master)), Ok(&expected[..]));
    let owner = frame(statement::GET_PARTITION_ADDRESS, &[0, 0, 0, 0]);
    let expected = [&[128, 0, 0, 0, 1][..], &address, &[0]].concat();
    assert_eq!(results(&ask(&mut session, &mut server, &owner)), Ok(&expected[..]));
    let mut of_another = owner;
    // Behind the head of the frame and the statement's number.
    of_another[24] = 5;
    let expected = [&[128, 0, 0, 0, 1][..], &[127, 0, 0, 1, 0x12, 0x27, 0, 0], &[0]].concat();
    assert_eq!(results(&ask(&mut session, &mut server, &of_another)), Ok(&expected[..]));
    assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]))), Ok(&[][..]));
    assert_eq!(server.served, [(statement::GET_ROW, PUBLIC_DATABASE.to_owned())]);
    assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::LOGOUT, &[0; 4]))), Ok(&[][..]));
    assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]))), Err(10_006));
    assert_eq!(session.receive(&frame(statement::DISCONNECT, &[0; 4]), &mut Vec::new(), 1 << 20, &mut server), Verdict::Close);
}

#[test]
fn a_large_frame_in_pieces_is_received_into_a_buffer_that_is_used_again() {
    let mut server = Fake { buffers: BufferPool::new(1 << 20), ..Fake::default() };
    let mut session = session();
    ask(&mut session, &mut server, &connect_frame(15));
    ask(&mut session, &mut server, &login_frame("TarnDB"));
    let put = frame(statement::PUT_MULTIPLE_ROWS, &[7; 60_000]);
    let mut lent = None;
    for round in 0..3 {
        let (first, rest) = put.split_at(20_000 + round);
        assert!(ask(&mut session, &mut server, first).is_empty());
        let buffered = session.buffered_bytes();
        assert!((put.len()..2 * put.len()).contains(&buffered), "{buffered}");
        assert_eq!(*lent.get_or_insert(session.buffer.as_ptr()), session.buffer.as_ptr());
        assert_eq!(results(&ask(&mut session, &mut server, rest)), Ok(&[][..]));
        assert_eq!(session.buffered_bytes(), 0);
    }
    assert_eq!(server.served.len(), 3);
    assert!(ask(&mut session, &mut server, &put[..1_000]).is_empty());
    assert!(session.buffered_bytes() < 2_000, "it holds what arrived, not what was announced");
}

/// CONNECT of a client that would speak by these.
fn connect_by(plain: u8, tls: u8) -> Vec<u8> {
    frame(statement::CONNECT, &[&15_i32.to_le_bytes()[..], &2_i32.to_le_bytes(), &[plain, tls]].concat())
}

#[test]
fn tls_follows_where_both_would_have_it() {
    for (offered, asked, told, expected) in [
        ((true, false), (1, 1), [1, 0], Verdict::Continue),
        ((true, true), (1, 0), [1, 1], Verdict::Continue),
        ((true, true), (1, 1), [1, 1], Verdict::StartTls),
        ((true, true), (0, 1), [1, 1], Verdict::StartTls),
        ((false, true), (0, 1), [0, 1], Verdict::StartTls),
        // The client knows why.
        ((false, true), (1, 0), [0, 1], Verdict::Close),
    ] {
        let (mut session, mut out) = (session(), Vec::new());
        let mut server = Fake { transports: Some(Transports { plain: offered.0, tls: offered.1 }), ..Fake::default() };
        assert_eq!(session.receive(&connect_by(asked.0, asked.1), &mut out, 1 << 20, &mut server), expected, "{offered:?} {asked:?}");
        assert_eq!(results(&out).unwrap()[10..], told);
        if expected == Verdict::StartTls {
            session.set_encrypted();
            ask(&mut session, &mut server, &connect_by(0, 1));
            assert!(results(&ask(&mut session, &mut server, &login_frame(""))).is_ok());
        }
    }
}

#[test]
fn nothing_but_connect_is_served_in_plaintext_where_clients_have_to_speak_tls() {
    let mut server = Fake { transports: Some(Transports { plain: false, tls: true }), ..Fake::default() };
    let mut out = Vec::new();
    assert_eq!(session().receive(&login_frame(""), &mut out, 1 << 20, &mut server), Verdict::Close);
    assert_eq!((results(&out), server.asked.len()), (Err(10_005), 0));
    // What comes before the answer is neither a statement nor TLS.
    let early = [connect_by(0, 1), login_frame("")].concat();
    assert_eq!(session().receive(&early, &mut Vec::new(), 1 << 20, &mut server), Verdict::Close);
    assert_eq!(server.asked.len(), 0);
}

#[test]
fn a_client_says_how_long_its_transactions_last() {
    let (mut session, mut server) = (session(), Fake::default());
    for (said, expected) in [(None, 300), (Some(20_i32), 20), (Some(0), 300), (Some(-1), 300), (Some(900), 300)] {
        let options = said.map_or_else(Vec::new, |said| [&[1, 0][..], &said.to_le_bytes()].concat());
        assert!(results(&ask(&mut session, &mut server, &login_frame_with(&options, ""))).is_ok());
        ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]));
        assert_eq!(server.transaction_timeout_s, expected, "{said:?}");
    }
}

#[test]
fn sessions_without_transactions_close_at_once() {
    let (mut session, mut server) = (session(), Fake::default());
    ask(&mut session, &mut server, &login_frame(""));
    let head = |session: i64, mode: u8| [&[3, 0, 0, 0, 0, 0, 0, 0][..], &session.to_le_bytes(), &[9; 16], &[0, 0, 0, 0, 1, mode]].concat();
    for (session_id, mode) in [(1, 0), (2, 1)] {
        ask(&mut session, &mut server, &frame(statement::PUT_ROW, &head(session_id, mode)));
    }
    server.served.clear();
    for session_id in [1, 2, 2] {
        assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::CLOSE_SESSION, &head(session_id, 0)))), Ok(&[][..]));
    }
    assert_eq!(server.served.len(), 1, "the one that has begun a transaction is closed where its container is");
    ask(&mut session, &mut server, &frame(statement::PUT_ROW, &head(4, 1)));
    assert_eq!(session.take_transactions().count(), 1, "it is aborted with the connection");
}

#[test]
fn what_is_not_served_is_refused() {
    let (mut session, mut server) = (session(), Fake::default());
    assert_eq!(results(&ask(&mut session, &mut server, &connect_frame(13))), Err(10_054));
    assert_eq!(results(&ask(&mut session, &mut server, &login_frame_by(&[], "", 2))), Err(10_005), "no challenge was offered");
    assert!(server.asked.is_empty());
    ask(&mut session, &mut server, &login_frame(""));
    assert_eq!(results(&ask(&mut session, &mut server, &frame(500, &[]))), Err(10_013));
    let long = frame(statement::PUT_ROW, &vec![0; 1 << 17]);
    let (head, tail) = long.split_at(1_000);
    assert_eq!(results(&ask(&mut session, &mut server, head)), Err(1_008));
    assert!(ask(&mut session, &mut server, tail).is_empty());
    assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]))), Ok(&[][..]));
    assert_eq!(session.receive(b"GET / HTTP/1.1", &mut Vec::new(), 1 << 20, &mut server), Verdict::Close);
}

#[test]
fn a_heartbeat_is_answered_while_a_statement_is_in_flight() {
    let (mut session, mut server) = (session(), Fake { waits: true, ..Fake::default() });
    ask(&mut session, &mut server, &login_frame(""));
    assert!(ask(&mut session, &mut server, &frame(statement::GET_ROW, &[])).is_empty());
    assert_eq!(session.in_flight(), 1);
    assert!(results(&ask(&mut session, &mut server, &connect_frame(15))).is_ok());
    let mut out = Vec::new();
    assert_eq!(session.receive(&frame(statement::GET_ROW, &[]), &mut out, 1 << 20, &mut server), Verdict::Pause);
    assert_eq!((out.len(), server.served.len()), (0, 1));
    session.append_late_reply(b"late", &mut out);
    assert_eq!(session.receive(&[], &mut out, 1 << 20, &mut server), Verdict::Continue);
    assert_eq!((&out[..], server.served.len()), (&b"late"[..], 2));
}

#[test]
fn arbitrary_bytes_end_in_replies_or_the_end() {
    let mut random = Rng::new(3);
    let whole =
        [connect_frame(15), login_frame(""), frame(statement::GET_PARTITION_ADDRESS, &[0, 0, 0, 0, 1]), frame(121, &[7; 40])].concat();
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        let (mut session, mut server) = (session(), Fake::default());
        let mut out = Vec::new();
        for piece in bytes.chunks(1 + random.below(60) as usize) {
            if session.receive(piece, &mut out, 1 << 20, &mut server) != Verdict::Continue {
                break;
            }
        }
        assert!(session.buffered_bytes() <= 1 << 10);
    }
}

#[test]
fn a_log_in_may_be_decided_later() {
    let (mut session, mut server) = (session(), Fake { login: Some(Ok(Progress::Waiting)), ..Fake::default() });
    assert!(ask(&mut session, &mut server, &login_frame("TarnDB")).is_empty());
    assert_eq!(server.asked, [("admin".to_owned(), "digest".to_owned())]);
    assert_eq!(session.in_flight(), 1);
    assert!(results(&ask(&mut session, &mut server, &connect_frame(15))).is_ok(), "a heartbeat is answered meanwhile");
    let mut out = Vec::new();
    assert_eq!(session.receive(&frame(statement::GET_ROW, &[]), &mut out, 1 << 20, &mut server), Verdict::Pause);
    assert!(server.served.is_empty(), "nothing is served to who may be nobody");
    let mut reply = Vec::new();
    assert!(session.finish_login(Ok(()), &mut reply));
    assert_eq!(results(&reply), Ok(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0][..]));
    session.append_late_reply(&reply, &mut out);
    assert_eq!(session.receive(&[], &mut out, 1 << 20, &mut server), Verdict::Continue);
    assert_eq!(server.served.len(), 1);
}

#[test]
fn who_is_refused_is_nobody() {
    let refused = GridError::new(ErrorCode::TXN_AUTH_FAILED, "no");
    let (mut session, mut server) = (session(), Fake::default());
    ask(&mut session, &mut server, &login_frame(""));
    assert!(results(&ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]))).is_ok());
    // At once, and later: the connection was somebody's before.
    server.login = Some(Err(refused.clone()));
    let reply = ask(&mut session, &mut server, &login_frame(""));
    assert_eq!(error_of(&reply, false), Some(refused.clone()));
    let reply = ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]));
    assert_eq!(results(&reply), Err(10_006));
    // Behind the head of the frame, the statement and its number.
    assert_eq!(reply[32], Status::NodeError as u8, "the client that has it now connects again");
    assert_eq!(server.log_outs, 2, "the server forgets who it was");
    server.login = Some(Ok(Progress::Waiting));
    ask(&mut session, &mut server, &login_frame(""));
    let mut reply = Vec::new();
    assert!(!session.finish_login(Err(refused), &mut reply));
    session.append_late_reply(&reply, &mut Vec::new());
    assert_eq!(results(&reply), Err(10_005));
    assert_eq!(results(&ask(&mut session, &mut server, &frame(statement::GET_ROW, &[]))), Err(10_006));
}

#[test]
fn only_who_has_logged_in_learns_which_databases_there_are() {
    let options = [&5_i16.to_le_bytes()[..], &5_i32.to_le_bytes(), b"other"].concat();
    let (mut session, mut server) = (session(), Fake { login: Some(Ok(Progress::Waiting)), ..Fake::default() });
    for (outcome, code) in [(Err(GridError::new(ErrorCode::TXN_AUTH_FAILED, "no")), 10_005), (Ok(()), 10_087)] {
        assert!(ask(&mut session, &mut server, &login_frame_with(&options, "")).is_empty());
        let mut reply = Vec::new();
        assert!(!session.finish_login(outcome, &mut reply));
        assert_eq!(results(&reply), Err(code));
        session.append_late_reply(&reply, &mut Vec::new());
    }
}

#[test]
fn long_names_are_refused_before_they_are_kept() {
    let (mut session, mut server) = (session(), Fake { login: Some(Ok(Progress::Waiting)), ..Fake::default() });
    let options = [&5_i16.to_le_bytes()[..], &1_025_i32.to_le_bytes(), &[b'x'; 1_025]].concat();
    assert_eq!(results(&ask(&mut session, &mut server, &login_frame_with(&options, ""))), Err(1_008));
    assert!(server.asked.is_empty() && session.in_flight() == 0);
}

#[test]
fn what_is_no_error_has_none() {
    let (mut session, mut server) = (session(), Fake::default());
    let reply = ask(&mut session, &mut server, &login_frame(""));
    assert_eq!(error_of(&reply, false), None);
    let error = ask(&mut session, &mut server, &login_frame("other"));
    assert_eq!(error_of(&error, false).map(|error| error.code), Some(ErrorCode::TXN_CLUSTER_NAME_INVALID));
    for length in 0..error.len() {
        assert_eq!(error_of(&error[..length], false), None, "{length}");
    }
}

#[test]
fn a_client_of_this_project_is_let_in_and_told_the_version() {
    let mut session = session();
    let mut server = Fake::default();
    let mut ask = |number, write: &dyn Fn(&mut Vec<u8>)| {
        let (mut arguments, mut out) = (Vec::new(), Vec::new());
        write(&mut arguments);
        assert_eq!(session.receive(&frame(number, &arguments), &mut out, 1 << 16, &mut server), Verdict::Continue);
        results(&out).map(<[u8]>::to_vec)
    };
    assert_eq!(ask(statement::TARNDB_VERSION, &|_| {}), Err(ErrorCode::TXN_AUTH_REQUIRED.0), "who has not logged in is told nothing");
    let connected = ask(statement::CONNECT, &crate::client::connect).unwrap();
    assert_eq!(crate::client::read_connected(&mut Reader::new(&connected)), Ok(AUTHENTICATION_MODE));
    let login = |cluster_name| crate::client::LoginArguments { user: "ann", digest: "digest", cluster_name, database: Some("public") };
    assert_eq!(ask(statement::LOGIN, &|out| crate::client::log_in(&login("other"), out)), Err(ErrorCode::TXN_CLUSTER_NAME_INVALID.0));
    assert!(ask(statement::LOGIN, &|out| crate::client::log_in(&login("TarnDB"), out)).is_ok());
    let master = ask(statement::GET_PARTITION_ADDRESS, &crate::client::find_master).unwrap();
    let partitions = crate::client::read_master(&mut Reader::new(&master)).unwrap();
    assert_eq!((partitions.count, partitions.is_by_crc), (PARTITION_COUNT, true));
    let version = ask(statement::TARNDB_VERSION, &|_| {}).unwrap();
    assert_eq!(Reader::new(&version).string(), Ok(env!("CARGO_PKG_VERSION")));
    assert_eq!(server.asked, [("ann".to_owned(), "digest".to_owned())]);
}
