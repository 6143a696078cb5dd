//! Two sessions with bytes carried between them: what they agree on, and all the ways in which they must not.
#![allow(clippy::unwrap_used)]

mod clients;

use super::*;
use base::{Now, Rng};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType, date_time_ymd};
use rustls::ClientConnection;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

const DAY_S: i64 = 24 * 3600;
/// 2026-01-01.
const BEGIN_S: i64 = 1_767_225_600;

fn day(days: i64) -> Now {
    Now { monotonic_us: 0, wall_us: (BEGIN_S + days * DAY_S) * 1_000_000 }
}

fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        (params.not_before, params.not_after) = (date_time_ymd(2025, 1, 1), date_time_ymd(2035, 1, 1));
        let pem = params.self_signed(&key).expect("a certificate").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Certificate and key of the node at 10.0.0.`last`, valid for all of 2026.
    fn node(&self, last: u8, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([address(last).to_string()]).expect("parameters");
        (params.not_before, params.not_after) = (date_time_ymd(2026, 1, 1), date_time_ymd(2027, 1, 1));
        change(&mut params);
        (params.signed_by(&key, &self.issuer).expect("a certificate").pem(), key.serialize_pem())
    }

    fn config(&self, last: u8, at: Now, change: impl FnOnce(&mut CertificateParams)) -> Config {
        made(&self.node(last, change), &self.pem, last, at).expect("sound files")
    }
}

fn made(node: &(String, String), authority: &str, last: u8, at: Now) -> Result<Config, SetupError> {
    let files = Files { certificate: node.0.as_bytes(), key: node.1.as_bytes(), authority: authority.as_bytes() };
    Config::new(&files, address(last), at)
}

fn same(_: &mut CertificateParams) {}

struct Side {
    session: Session,
    heard: Vec<u8>,
    ended: Option<LinkError>,
}

impl Side {
    fn new(session: Result<Session, LinkError>) -> Self {
        Self { session: session.expect("entropy"), heard: Vec::new(), ended: None }
    }

    fn hear(&mut self, at: Now, bytes: &[u8]) {
        if self.ended.is_none() {
            self.ended = self.session.receive(at, bytes, |said| self.heard.extend_from_slice(said)).err();
        }
    }

    fn output(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.session.take_output(&mut out);
        assert!(!self.session.has_output());
        out
    }

    fn why(&self) -> String {
        self.ended.as_ref().map_or_else(String::new, ToString::to_string)
    }
}

/// The node at 10.0.0.1 dials 10.0.0.2, and says hello as soon as it may; `cut` says how many bytes go at a time.
fn dial(client: &Config, server: &Config, at: Now, mut cut: impl FnMut() -> usize) -> (Side, Side) {
    let (mut client, mut server) = (Side::new(Session::connecting(client, address(2))), Side::new(Session::accepted(server)));
    client.session.send(|out| out.extend_from_slice(b"hello"));
    loop {
        let (there, back) = (client.output(), server.output());
        if there.is_empty() && back.is_empty() {
            return (client, server);
        }
        for (bytes, to) in [(there, &mut server), (back, &mut client)] {
            let mut bytes = &bytes[..];
            while !bytes.is_empty() {
                let (now, rest) = bytes.split_at(cut().min(bytes.len()));
                to.hear(at, now);
                bytes = rest;
            }
        }
    }
}

#[test]
fn what_one_says_the_other_hears_however_the_bytes_come() {
    let authority = Authority::new("ours");
    let (one, two) = (authority.config(1, day(1), same), authority.config(2, day(1), same));
    for seed in 0..20 {
        let mut rng = Rng::new(seed);
        let (mut client, mut server) = dial(&one, &two, day(2), || 1 + rng.below(700) as usize);
        assert_eq!((client.why(), server.why()), (String::new(), String::new()));
        assert!(!client.session.is_handshaking() && !server.session.is_handshaking());
        assert_eq!(server.heard, b"hello");
        server.heard.clear();
        let (mut there, mut back) = (Vec::new(), Vec::new());
        for _ in 0..30 {
            let (from, to, all) =
                if rng.below(2) == 0 { (&mut client, &mut server, &mut there) } else { (&mut server, &mut client, &mut back) };
            let length = if rng.below(10) == 0 { 600 << 10 } else { rng.below(3_000) } as usize;
            let piece = vec![rng.next_u64() as u8; length];
            from.session.send(|out| out.extend_from_slice(&piece));
            all.extend_from_slice(&piece);
            let sealed = from.output();
            assert!(length < 16 || !sealed.windows(16).any(|window| window == &piece[..16]), "seed {seed}: it is not encrypted");
            for bytes in sealed.chunks(1 + rng.below(40_000) as usize) {
                to.hear(day(2), bytes);
            }
        }
        assert!(server.heard == there && client.heard == back, "seed {seed}");
    }
}

#[test]
fn who_is_not_of_the_cluster_is_refused_by_name_of_the_reason() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let short = |params: &mut CertificateParams| params.not_after = date_time_ymd(2026, 2, 1);
    let (one, two) = (ours.config(1, day(1), same), ours.config(2, day(1), same));
    let stranger = |last| theirs.config(last, day(1), same);
    // What is wrong, who dials, who listens, what each says at last.
    let table = [
        (
            "a stranger dials",
            stranger(1),
            ours.config(2, day(1), same),
            "the peer's certificate is refused: it is signed by none of the authorities that this node trusts",
            "the peer refused TLS: this node's certificate is signed by none of the authorities that the peer trusts",
        ),
        (
            "an expired certificate dials",
            ours.config(1, day(1), short),
            two,
            "the peer refused TLS: this node's certificate has expired, or is not valid yet",
            "the peer's certificate is refused: certificate expired: verification time 1775001600 (UNIX), but certificate is not valid after \
             1769904000 (5097600 seconds ago)",
        ),
        (
            "an expired certificate listens",
            one,
            ours.config(2, day(1), short),
            "the peer's certificate is refused: certificate expired: verification time 1775001600 (UNIX), but certificate is not valid after \
             1769904000 (5097600 seconds ago)",
            "the peer refused TLS: this node's certificate has expired, or is not valid yet",
        ),
        (
            "another node's certificate listens",
            ours.config(1, day(1), same),
            ours.config(3, day(1), same),
            "the peer's certificate is refused: it is not for this address: name the node's address in subjectAltName (IP:...)",
            "the peer refused TLS: this node's certificate is not for this use or address",
        ),
    ];
    for (what, client, server, client_says, server_says) in table {
        let (client, server) = dial(&client, &server, day(90), || 1_000);
        assert_eq!((client.why().as_str(), server.why().as_str()), (client_says, server_says), "{what}");
        assert!(server.heard.is_empty(), "{what}: heard by the server");
    }

    // It knows our authority, but ours does not know it: the dialling side has agreed before it is refused.
    let both = format!("{}{}", ours.pem, theirs.pem);
    let client = made(&theirs.node(1, same), &both, 1, day(1)).expect("sound files");
    let (client, server) = dial(&client, &ours.config(2, day(1), same), day(2), || 1_000);
    assert_eq!(server.why(), "the peer's certificate is refused: it is signed by none of the authorities that this node trusts");
    assert!(client.why().starts_with("the peer refused TLS: this node's certificate is signed by none"), "{}", client.why());
    assert!(server.heard.is_empty());
}

#[test]
fn what_a_peer_says_last_is_heard_and_nothing_behind_it() {
    let authority = Authority::new("ours");
    let (one, two) = (authority.config(1, day(1), same), authority.config(2, day(1), same));
    let (mut client, mut server) = dial(&one, &two, day(2), || 1_000);
    client.session.send(|out| out.extend_from_slice(b" and bye"));
    client.session.close();
    let bytes = client.output();
    server.hear(day(2), &[&bytes[..], &[23; 100]].concat());
    assert_eq!((server.ended, &server.heard[..]), (Some(LinkError::Closed), &b"hello and bye"[..]));
}

#[test]
fn two_authorities_are_trusted_while_one_takes_the_others_place() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let both = format!("{}{}", old.pem, new.pem);
    let of_old = made(&old.node(1, same), &both, 1, day(1)).expect("sound files");
    let of_new = made(&new.node(2, same), &both, 2, day(1)).expect("sound files");
    let (client, server) = dial(&of_old, &of_new, day(2), || 1_000);
    assert_eq!((client.why(), server.why(), &server.heard[..]), (String::new(), String::new(), &b"hello"[..]));
}

#[test]
fn a_peer_without_a_certificate_is_not_heard() {
    let authority = Authority::new("ours");
    let server = authority.config(2, day(1), same);
    let mut roots = rustls::RootCertStore::empty();
    let pem = rustls::pki_types::pem::PemObject::from_pem_slice(authority.pem.as_bytes()).expect("a certificate");
    roots.add(pem).expect("an authority");
    let one = authority.config(1, day(1), same);
    let anonymous =
        rustls::ClientConfig::builder_with_details(Arc::new(rustls::crypto::ring::default_provider()), one.client.time_provider.clone())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .expect("a version")
            .with_root_certificates(roots)
            .with_no_client_auth();
    let mut client =
        ClientConnection::new(Arc::new(anonymous), rustls::pki_types::ServerName::IpAddress(address(2).into())).expect("a client");
    std::io::Write::write_all(&mut client.writer(), b"hello").expect("room");
    let mut server = Side::new(Session::accepted(&server));
    while client.wants_write() {
        let mut bytes = Vec::new();
        client.write_tls(&mut bytes).expect("a buffer");
        server.hear(day(2), &bytes);
        let _ = client.read_tls(&mut &server.output()[..]).map(|_| client.process_new_packets());
    }
    assert_eq!(server.why(), "the peer's certificate is refused: it has none");
    assert!(server.heard.is_empty());
}

#[test]
fn who_speaks_no_tls_is_told_apart_by_the_first_bytes() {
    let authority = Authority::new("ours");
    let (one, two) = (authority.config(1, day(1), same), authority.config(2, day(1), same));
    for (bytes, begins) in [(&b"TNN1\x01\x01\0\0"[..], *b"TNN1"), (b"GET / HTTP/1.1\r\n\r\n", *b"GET "), (&[0; 100], [0; 4])] {
        for step in [1, 100] {
            for side in [Session::accepted(&two), Session::connecting(&one, address(2))] {
                let mut side = Side::new(side);
                bytes.chunks(step).for_each(|piece| side.hear(day(2), piece));
                assert_eq!(side.ended, Some(LinkError::NoTls { begins }));
            }
        }
    }
}

#[test]
fn damaged_and_truncated_handshakes_end_or_wait_and_never_agree() {
    let authority = Authority::new("ours");
    let (one, two) = (authority.config(1, day(1), same), authority.config(2, day(1), same));
    let first = Side::new(Session::connecting(&one, address(2))).output();
    for length in 0..first.len() {
        let mut server = Side::new(Session::accepted(&two));
        server.hear(day(2), &first[..length]);
        assert!(server.ended.is_none() && server.session.is_handshaking() && !server.session.has_output(), "after {length} bytes");
    }
    let mut rng = Rng::new(7);
    let mut ended = 0;
    for round in 0..400 {
        let (mut client, mut server) = (Side::new(Session::connecting(&one, address(2))), Side::new(Session::accepted(&two)));
        client.session.send(|out| out.extend_from_slice(b"hello"));
        // One byte of the client's hello, or of what follows it, is another one when it arrives.
        let damaged = rng.below(2);
        for flight in 0..3 {
            let mut bytes = client.output();
            if flight == damaged {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
            server.hear(day(2), &bytes);
            client.hear(day(2), &server.output());
        }
        // The version in the head of a record that is not encrypted means nothing.
        assert!(server.heard.is_empty() || server.heard == b"hello", "round {round}");
        ended += usize::from(server.ended.is_some() || client.ended.is_some() || server.session.is_handshaking());
    }
    assert!(ended > 380, "{ended} of 400 were noticed");
    for round in 0..2_000 {
        let mut garbage = vec![0; 1 + rng.below(40_000) as usize];
        garbage.iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        // Most of it looks like a record.
        let head = [[22, 3, 1], [23, 3, 3], [21, 3, 3], [20, 3, 3]][rng.below(4) as usize];
        garbage.iter_mut().zip(head).take(rng.below(4) as usize).for_each(|(byte, head)| *byte = head);
        let mut side = Side::new(if round % 2 == 0 { Session::accepted(&two) } else { Session::connecting(&one, address(2)) });
        garbage.chunks(1 + rng.below(9_000) as usize).for_each(|bytes| side.hear(day(2), bytes));
        assert!(side.session.is_handshaking() && side.heard.is_empty());
    }
}

#[test]
fn a_handshake_without_end_is_not_collected() {
    let authority = Authority::new("ours");
    let two = authority.config(2, day(1), same);
    // A client hello of 16 MiB less one byte, in records of 16 KiB.
    let mut record = vec![22, 3, 1, 0x40, 0, 1, 0xFF, 0xFF, 0xFF];
    record.resize(5 + 0x4000, 0);
    let mut server = Side::new(Session::accepted(&two));
    let mut taken = 0;
    while server.ended.is_none() && taken < 1 << 20 {
        server.hear(day(2), &record);
        taken += record.len();
    }
    assert!(taken <= 80 << 10, "{taken} bytes were taken");
}

#[test]
fn files_that_are_of_no_use_are_refused_at_once() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let node = ours.node(1, same);
    let said =
        |node: &(String, String), authority: &str, at: Now| made(node, authority, 1, at).map(|_| ()).expect_err("useless").to_string();
    let with = |certificate: &str, key: &str| (certificate.to_owned(), key.to_owned());
    let table = [
        ("holds no certificate in PEM", said(&with("", &node.1), &ours.pem, day(1))),
        ("holds no certificate in PEM", said(&with(&node.1, &node.1), &ours.pem, day(1))),
        ("holds no private key in PEM without a password", said(&with(&node.0, &node.0), &ours.pem, day(1))),
        ("holds no certificate in PEM", said(&node, "nothing", day(1))),
        ("is not the key of the certificate that is given with it", said(&with(&node.0, &ours.node(1, same).1), &ours.pem, day(1))),
        (
            "other nodes would refuse it at 10.0.0.1: it is signed by none of the authorities that this node trusts",
            said(&node, &theirs.pem, day(1)),
        ),
        (
            "other nodes would refuse it at 10.0.0.1: it is not for this address: name the node's address in subjectAltName (IP:...)",
            said(&ours.node(2, same), &ours.pem, day(1)),
        ),
        (
            "other nodes would refuse it at 10.0.0.1: it is not for this use: extendedKeyUsage must have serverAuth and clientAuth, or be left out",
            said(&ours.node(1, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth]), &ours.pem, day(1)),
        ),
        (
            "other nodes would refuse it at 10.0.0.1: certificate expired: verification time 1801785600 (UNIX), but certificate is not valid \
             after 1798761600 (3024000 seconds ago)",
            said(&node, &ours.pem, day(400)),
        ),
        (
            "other nodes would refuse it at 10.0.0.1: certificate not valid yet: verification time 1766361600 (UNIX), but certificate is not \
             valid before 1767225600 (864000 seconds in future)",
            said(&node, &ours.pem, day(-10)),
        ),
    ];
    for (expected, found) in table {
        assert_eq!(expected, found);
    }
    let damaged = node.0.replacen("MII", "!!!", 1);
    assert!(said(&with(&damaged, &node.1), &ours.pem, day(1)).starts_with("is damaged: "));
    for at in 0..node.0.len() {
        let cut = with(&node.0[..at], &node.1);
        let _ = made(&cut, &ours.pem, 1, day(1));
    }
}

#[test]
fn a_certificate_that_expires_soon_is_noticed() {
    let authority = Authority::new("ours");
    assert!(!authority.config(1, day(300), same).expires_soon());
    assert!(authority.config(1, day(340), same).expires_soon());
    assert_eq!(authority.config(1, day(340), same).not_after_s(), Some(1_798_761_600));
    assert_eq!(format!("{:?}", authority.config(1, day(1), same)), "Config { .. }");
}
