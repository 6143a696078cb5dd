//! Frames and first messages: their bytes, and bytes that are not theirs.

use super::*;
use crate::metadata::test_parts::profile;
use crate::raft_log::Identity;
use crate::state::{Profile, State};
use crate::{Command, Outcome, Versions};
use base::{NodeId, Rng};
use model::Schema;

fn frame(kind: Kind, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_frame(&mut bytes, kind, flags, |output| output.extend_from_slice(body));
    bytes
}

fn hello() -> Hello {
    Hello {
        protocol_versions: Versions::new(3, 5),
        cluster_name: "tarn".to_owned(),
        cluster_id: 7,
        node: Some(NodeId(2)),
        host_id: 2,
        incarnation: 20,
        core: 1,
        cores: 4,
        target_core: 1,
        node_address: Some("10.0.0.2:7000".to_owned()),
    }
}

fn me() -> Identity {
    Identity { cluster_name: "tarn".to_owned(), cluster_id: 7, node: NodeId(1), host_id: 1 }
}

/// Members 1, 2 and 3, of which 3 was removed; 2 has been started anew.
fn state() -> State {
    let mut state = State::founded(7, "tarn".to_owned(), profile(1, 10), Schema::empty(), 1);
    for host in 2..=3 {
        state.apply(host, &Command::Join { profile: profile(u128::from(host), host * 10), replaces: None });
    }
    state.apply(4, &Command::Remove { node: NodeId(3), force: false });
    let started = Command::Started { node: NodeId(2), previous: 20, profile: profile(2, 21) };
    assert_eq!(state.apply(5, &started), Outcome::Done);
    state
}

#[test]
fn a_frame_has_these_bytes() {
    let bytes = frame(Kind(33), 0x0201, b"abc");
    assert_eq!(bytes[..12], *b"TNN1\x21\x01\x01\x02\x03\0\0\0");
    assert_eq!(bytes[12..16], base::checksum(b"TNN1\x21\x01\x01\x02\x03\0\0\0abc").to_le_bytes());
    assert_eq!(bytes[16..], *b"abc");
    assert_eq!(u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]), 0x97F0_6DED);
}

#[test]
fn a_hello_has_these_bytes() {
    let mut expected = b"\x05\x04tarn".to_vec();
    expected.extend_from_slice(&7u128.to_le_bytes());
    expected.push(2);
    expected.extend_from_slice(&2u128.to_le_bytes());
    expected.extend_from_slice(&20u64.to_le_bytes());
    expected.extend_from_slice(&[1, 4, 1, 3]);
    let of_version_11 = expected.clone();
    expected.extend_from_slice(b"\x0d10.0.0.2:7000");
    assert_eq!(hello().encode(), expected);
    assert_eq!(Hello::decode(&expected), Ok(hello()));
    for len in (0..expected.len()).filter(|len| ![of_version_11.len() - 1, of_version_11.len()].contains(len)) {
        assert!(Hello::decode(&expected[..len]).is_err(), "{len}");
    }
    assert_eq!(Hello::decode(&of_version_11), Ok(Hello { node_address: None, ..hello() }));
    let later = [expected.as_slice(), b"of a later version"].concat();
    assert_eq!(Hello::decode(&later), Ok(hello()), "who knows more says it at the end");
    let of_version_2 = [b"\x02", &of_version_11[1..of_version_11.len() - 1]].concat();
    assert_eq!(Hello::decode(&of_version_2), Ok(Hello { protocol_versions: Versions::new(2, 2), node_address: None, ..hello() }));
    expected[of_version_11.len() - 1] = 6;
    assert!(Hello::decode(&expected).is_err(), "the oldest is not newer than the latest");
}

#[test]
fn messages_come_out_as_they_went_in() {
    let (aerospike_address, griddb_address) = (Some("a:3000".to_owned()), Some("g:10001".to_owned()));
    let told = Join { profile: Profile { aerospike_address, griddb_address, ..profile(5, 50) }, replaces: Some(NodeId(3)) };
    assert_eq!(Join::decode(&told.encode(17)).as_ref(), Ok(&told));
    let without = Join { profile: Profile { griddb_address: None, ..told.profile.clone() }, ..told.clone() };
    assert_eq!(Join::decode(&told.encode(16)).as_ref(), Ok(&without), "older members do not know where GridDB's clients are served");
    let alone = Join { profile: Profile { aerospike_address: None, ..told.profile.clone() }, ..told };
    assert_eq!(Join::decode(&alone.encode(17)), Ok(alone));
    let members = vec![(NodeId(1), "a:1".to_owned()), (NodeId(2), "b:2".to_owned())];
    let reply = JoinReply { cluster_name: "tarn".to_owned(), cluster_id: 7, node: NodeId(2), members };
    assert_eq!(JoinReply::decode(&reply.encode()), Ok(reply));
    let refusal = Refusal::ClusterName { theirs: "ä".repeat(2000), ours: "tarn".to_owned() }.message();
    let decoded = RefusalMessage::decode(&refusal.encode()).expect("a long text is cut");
    assert_eq!(decoded.code, 2);
    assert!(refusal.text.starts_with(&decoded.text) && decoded.text.len() <= 1024);
}

#[test]
fn frames_are_found_however_the_bytes_come() {
    let mut rng = Rng::new(3);
    let bodies: Vec<Vec<u8>> = (0..50).map(|len| vec![len as u8; len * len]).collect();
    let stream: Vec<u8> = bodies.iter().flat_map(|body| frame(Kind::METADATA, 0, body)).collect();
    for _ in 0..50 {
        let mut reader = FrameReader::new();
        let (mut fed, mut found) = (0, 0);
        while fed < stream.len() {
            let len = (1 + rng.below(3_000) as usize).min(stream.len() - fed);
            let mut bytes = &stream[fed..fed + len];
            fed += len;
            while let Some(frame) = reader.next_of(&mut bytes).expect("sound frames") {
                assert_eq!((frame.kind, frame.body), (Kind::METADATA, bodies[found].as_slice()));
                found += 1;
            }
        }
        assert_eq!((found, reader.waiting()), (bodies.len(), 0));
    }
}

#[test]
fn what_is_no_frame_is_said_to_be_none_before_its_body_is_waited_for() {
    let said = |bytes: &[u8]| {
        let mut reader = FrameReader::new();
        reader.feed(bytes);
        let error = reader.next_frame().expect_err("no frame");
        assert_eq!(FrameReader::new().next_of(&mut &*bytes), Err(error));
        assert_eq!(reader.next_of(&mut &*frame(Kind::HELLO, 0, b"")), Err(error), "the stream is lost");
        error
    };
    assert!(matches!(said(b"GE"), FrameError::Magic { .. }));
    assert_eq!(said(b"\x16\x03\x01\x02\0"), FrameError::Tls);
    assert_eq!(said(b"\x16"), FrameError::Magic { found: [22, 0, 0, 0] });
    let with = |at: usize, byte: u8| {
        let mut bytes = frame(Kind::METADATA, 0, b"body");
        bytes[at] = byte;
        bytes
    };
    assert_eq!(said(&with(5, 9)), FrameError::Version { found: 9 });
    assert_eq!(said(&with(4, 200)[..16]), FrameError::Kind { found: 200 });
    assert!(matches!(said(&with(11, 0xFF)[..16]), FrameError::TooLong { .. }));
    assert!(matches!(said(&with(6, 1)), FrameError::Checksum { .. }));
    assert!(matches!(said(&with(18, 1)), FrameError::Checksum { .. }));
}

#[test]
fn no_bytes_make_the_readers_stumble() {
    let mut rng = Rng::new(11);
    let reply = JoinReply { cluster_name: "tarn".to_owned(), cluster_id: 7, node: NodeId(2), members: vec![(NodeId(1), "a:1".to_owned())] };
    let bodies = [hello().encode(), Join { profile: profile(5, 50), replaces: None }.encode(Versions::KNOWN.latest()), reply.encode()];
    for round in 0..20_000 {
        let mut body = bodies[round % bodies.len()].clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(body.len() as u64) as usize;
            body[at] = rng.next_u64() as u8;
        }
        body.truncate(rng.below(2 * body.len() as u64) as usize);
        let _ = (Hello::decode(&body), Join::decode(&body), JoinReply::decode(&body), RefusalMessage::decode(&body));
        let mut reader = FrameReader::new();
        reader.feed(&frame(Kind::HELLO, 0, &body)[rng.below(2) as usize..]);
        let _ = reader.next_frame();
    }
}

#[test]
fn unauthenticated_peers_are_told_why_they_are_refused() {
    let state = state();
    let known = state.protocol_version();
    let ours = Versions::new(known - 1, known);
    let answer = |change: fn(&mut Hello)| {
        let mut hello = Hello { incarnation: 21, protocol_versions: Versions::new(3, known + 1), ..hello() };
        change(&mut hello);
        accept(&hello, &me(), ours, 2, &state)
    };
    assert_eq!(answer(|_| {}), Ok(known), "the latest that both know");
    assert_eq!(answer(|hello| hello.incarnation = 22), Ok(known), "a process that has just started, and is about to say so");
    assert_eq!(answer(|hello| hello.incarnation = 20), Err(Refusal::OldProcess { node: NodeId(2) }));
    assert!(matches!(answer(|hello| hello.cluster_name = "other".to_owned()), Err(Refusal::ClusterName { .. })));
    assert!(matches!(answer(|hello| hello.cluster_id = 8), Err(Refusal::ClusterId { .. })));
    assert_eq!(answer(|hello| hello.node = Some(NodeId(9))), Ok(known), "it came while this node was away");
    assert_eq!(answer(|hello| hello.node = Some(NodeId(3))), Err(Refusal::Gone { node: NodeId(3) }));
    assert!(matches!(answer(|hello| hello.host_id = 9), Err(Refusal::OtherHost { .. })));
    assert_eq!(answer(|hello| hello.host_id = 1), Err(Refusal::Myself));
    assert_eq!(answer(|hello| hello.target_core = 2), Err(Refusal::NoSuchCore { core: 2, cores: 2 }));
    let joins: fn(&mut Hello) = |hello| (hello.node, hello.cluster_id, hello.host_id) = (None, 0, 77);
    assert_eq!(answer(joins), Ok(known));
    let mut joiner = Hello { protocol_versions: ours, ..hello() };
    joins(&mut joiner);
    assert_eq!(accept(&joiner, &me(), ours, 2, &State::empty()), Err(Refusal::NotYetMember));
    let text = Refusal::Gone { node: NodeId(3) }.to_string();
    assert_eq!(text, "member 3 was removed from the cluster; empty its data directory to join as a new one");
}

#[test]
fn who_speaks_no_version_that_is_known_is_told_whom_to_upgrade() {
    let state = state();
    let known = state.protocol_version();
    let ours = Versions::new(known, known + 1);
    let answer = |theirs| link_version(theirs, ours, &state);
    assert_eq!(answer(Versions::new(known, known)), Ok(known));
    assert_eq!(answer(Versions::new(known + 1, known + 2)), Ok(known + 1), "what is known here of the cluster's version may be old");
    let (old, new) = (Versions::new(1, known - 1), Versions::new(known + 2, known + 3));
    assert_eq!(answer(old), Err(Refusal::Version { theirs: old, ours }));
    assert_eq!(answer(new), Err(Refusal::Version { theirs: new, ours }));
    let text = |theirs, ours| Refusal::Version { theirs, ours }.to_string();
    let expected =
        "it speaks version 2 of the nodes' protocol, this node 3 to 4; upgrade it first to a release that knows versions of both";
    assert_eq!(text(Versions::new(2, 2), Versions::new(3, 4)), expected);
    let expected =
        "it speaks version 5 to 6 of the nodes' protocol, this node 3; upgrade this node first to a release that knows versions of both";
    assert_eq!(text(Versions::new(5, 6), Versions::new(3, 3)), expected);
}

#[test]
fn who_does_not_know_what_the_cluster_goes_by_is_refused() {
    let newer = |host, incarnation| {
        let mut profile = profile(host, incarnation);
        profile.protocol_versions = Versions::new(3, 4);
        profile
    };
    let mut state = State::founded(7, "tarn".to_owned(), newer(1, 10), Schema::empty(), 1);
    assert_eq!(state.apply(2, &Command::Join { profile: newer(2, 20), replaces: None }), Outcome::Joined(NodeId(2)));
    let back = Versions::new(3, 3);
    let refusal = link_version(back, Versions::new(3, 4), &state).expect_err("all members know 4");
    assert_eq!(refusal, Refusal::Outdated { theirs: back, agreed: 4 });
    let expected = "it speaks version 3 of the nodes' protocol, and all members know version 4, which the cluster goes by; start it with a release that knows 4";
    assert_eq!(refusal.to_string(), expected);
}
