//! Sessions with clients: the certificates that they show, or need not.

use super::*;

/// Files for clients: a certificate of this authority, and the authority of clients, if they need certificates.
fn for_clients(node: &(String, String), authority: Option<&str>) -> Result<ClientTls, SetupError> {
    ClientTls::new(&client_files(node, authority), day(1))
}

fn client_files<'a>(node: &'a (String, String), authority: Option<&'a str>) -> ClientFiles<'a> {
    needing(node, authority, CertificateNeed::ToConnect)
}

fn needing<'a>(node: &'a (String, String), authority: Option<&'a str>, need: CertificateNeed) -> ClientFiles<'a> {
    let authority = authority.map(|certificates| ClientAuthority { certificates: certificates.as_bytes(), need });
    ClientFiles { certificate: node.0.as_bytes(), key: node.1.as_bytes(), authority }
}

/// A client's side: what it ends with, and the serial number that it has seen.
fn client_of(tls: &ClientTls, trusted: &str, shows: Option<&(String, String)>, old: bool) -> (Side, Result<Vec<u8>, rustls::Error>) {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
    let versions: &[&rustls::SupportedProtocolVersion] = if old { &[&rustls::version::TLS12] } else { &[&rustls::version::TLS13] };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_details(provider, Arc::new(Fixed)).with_protocol_versions(versions).unwrap();
    let builder = builder.with_root_certificates(roots);
    let config = match shows {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            builder.with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
        }
    };
    let mut client = ClientConnection::new(Arc::new(config), ServerName::IpAddress(address(2).into())).unwrap();
    let mut server = Side::new(Session::with_client(tls));
    std::io::Write::write_all(&mut client.writer(), b"query").unwrap();
    for _ in 0..10 {
        let mut there = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut there).unwrap();
        }
        server.hear(day(2), &there);
        let back = server.output();
        let mut rest = &back[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            if let Err(error) = client.process_new_packets() {
                let mut last = Vec::new();
                while client.wants_write() {
                    client.write_tls(&mut last).unwrap();
                }
                server.hear(day(2), &last);
                return (server, Err(error));
            }
        }
    }
    let seen = client.peer_certificates().map(|chain| chain[0].to_vec()).unwrap_or_default();
    (server, Ok(seen))
}

/// The time of a test's client.
#[derive(Debug)]
struct Fixed;

impl rustls::time_provider::TimeProvider for Fixed {
    fn current_time(&self) -> Option<rustls::pki_types::UnixTime> {
        Some(rustls::pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(day(2).wall_s() as u64)))
    }
}

#[test]
fn clients_need_no_certificate_unless_an_authority_is_given() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (node, client, other) = (ours.node(2, same), ours.node(9, same), theirs.node(9, same));
    let (open, closed) = (for_clients(&node, None).unwrap(), for_clients(&node, Some(&ours.pem)).unwrap());
    for old in [false, true] {
        for (tls, shows, heard) in
            [(&open, None, true), (&closed, Some(&client), true), (&closed, None, false), (&closed, Some(&other), false)]
        {
            let (server, _) = client_of(tls, &ours.pem, shows, old);
            assert_eq!(server.heard == b"query", heard, "TLS 1.2: {old}, {}", server.why());
            assert_eq!(server.why().is_empty(), heard, "{}", server.why());
        }
        let (server, seen) = client_of(&open, &theirs.pem, None, old);
        assert!(seen.is_err() && server.why().contains("signed by none of the authorities that the peer trusts"), "{}", server.why());
    }
}

#[test]
fn a_certificate_for_clients_is_replaced_by_one_that_is_sound() {
    let ours = Authority::new("ours");
    let (first, second) = (ours.node(2, same), ours.node(2, same));
    let tls = for_clients(&first, None).unwrap();
    let seen = || client_of(&tls, &ours.pem, None, false).1.unwrap();
    let former = seen();
    assert_eq!(seen(), former);
    tls.replace(&client_files(&second, None)).unwrap();
    let latter = seen();
    assert_ne!(latter, former);
    let mixed = (first.0.clone(), second.1);
    assert!(matches!(tls.replace(&client_files(&mixed, None)), Err(SetupError::Mismatch)));
    let damaged = ("no certificate".to_owned(), first.1);
    assert!(matches!(tls.replace(&client_files(&damaged, None)), Err(SetupError::Certificate { .. })));
    assert!(matches!(tls.replace(&client_files(&ours.node(2, same), Some("nobody"))), Err(SetupError::Authority { .. })));
    assert_eq!(seen(), latter, "nothing is changed");
}

#[test]
fn a_clients_certificate_says_who_it_is() {
    let ours = Authority::new("ours");
    let node = ours.node(2, same);
    let uri = |uri: &str| SanType::URI(uri.try_into().unwrap());
    let named = |name: &str, uris: &[&str]| {
        ours.node(9, |params| {
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::OrganizationName, "TarnDB");
            params.distinguished_name.push(DnType::CommonName, name);
            params.subject_alt_names.extend(uris.iter().map(|name| uri(name)));
        })
    };
    let of = |identity: &str| ClientCertificate::Of(identity.to_owned());
    let table = [
        (None, ClientCertificate::None, ClientCertificate::None),
        (Some(named("jo", &[])), ClientCertificate::WithoutIdentity, of("jo")),
        (Some(named("jo", &["https://x/y"])), ClientCertificate::WithoutIdentity, of("jo")),
        (Some(named("jo", &["https://x/y", "spiffe://x/jo", "spiffe://x/no"])), of("spiffe://x/jo"), of("jo")),
    ];
    for need in [CertificateNeed::Optional, CertificateNeed::ToConnect, CertificateNeed::ToLogIn] {
        let is_optional = need == CertificateNeed::Optional;
        let tls = ClientTls::new(&needing(&node, Some(&ours.pem), need), day(1)).unwrap();
        for (old, (shows, spiffe, common_name)) in [false, true].into_iter().flat_map(|old| table.iter().map(move |row| (old, row))) {
            let (server, _) = client_of(&tls, &ours.pem, shows.as_ref(), old);
            assert_eq!(server.heard == b"query", is_optional || shows.is_some(), "{}", server.why());
            assert_eq!(&server.session.client_certificate(IdentityKind::Spiffe), spiffe);
            assert_eq!(&server.session.client_certificate(IdentityKind::CommonName), common_name);
        }
        let stranger = Authority::new("theirs").node(9, same);
        let (server, _) = client_of(&tls, &ours.pem, Some(&stranger), false);
        assert!(server.heard.is_empty(), "a certificate that nobody has signed is worse than none");
    }
}

/// Whether the server has heard what the client says, and why not.
fn hears(client: Session, server: Session) -> (bool, Side, Side) {
    let (mut client, mut server) = (Side::new(Ok(client)), Side::new(Ok(server)));
    client.session.send(|out| out.extend_from_slice(b"query"));
    for _ in 0..10 {
        server.hear(day(2), &client.output());
        client.hear(day(2), &server.output());
    }
    (server.heard == b"query", client, server)
}

#[test]
fn a_node_trusts_itself_and_nobody_else() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (node, other) = (ours.node(2, same), ours.node(2, same));
    let needs = [None, Some(CertificateNeed::Optional), Some(CertificateNeed::ToConnect), Some(CertificateNeed::ToLogIn)];
    for need in needs {
        let of = |files| {
            let files = needing(files, need.map(|_| theirs.pem.as_str()), need.unwrap_or(CertificateNeed::Optional));
            ClientTls::new(&files, day(1)).unwrap()
        };
        let (tls, others) = (of(&node), of(&other));
        assert_eq!(tls.certificate_need(), need);
        for (server, heard) in [(&tls, true), (&others, false)] {
            let (has_heard, client, _) = hears(Session::to_itself(&tls).unwrap(), Session::with_itself(server).unwrap());
            assert_eq!((has_heard, client.why().is_empty()), (heard, heard), "{need:?}: {}", client.why());
        }
        // At its own end a certificate of the clients' authority is worth nothing, and its own is worth nothing among clients.
        let shown = |authority: &Authority, (certificate, key): &(String, String)| {
            let pem = format!("{certificate}{key}");
            Session::to_server(&Trust::new(authority.pem.as_bytes(), Some(pem.as_bytes()), day(1)).unwrap(), "10.0.0.2").unwrap()
        };
        let client = shown(&ours, &theirs.node(9, same));
        assert!(!hears(client, Session::with_itself(&tls).unwrap()).0, "{need:?}");
        if need.is_some() {
            assert!(!hears(shown(&ours, &node), Session::with_client(&tls).unwrap()).0, "{need:?}");
        }
    }
}

#[test]
fn operators_may_show_a_certificate_where_clients_may_or_have_to() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let node = ours.node(2, same);
    let shown = |authority: &Authority| {
        let (certificate, key) = authority.node(9, same);
        certificate + &key
    };
    let (good, bad) = (shown(&ours), shown(&theirs));
    for (need, rows) in [
        (None, [(None, true, false), (Some(&good), true, false), (Some(&bad), true, false)]),
        (Some(CertificateNeed::ToConnect), [(None, true, false), (Some(&good), true, true), (Some(&bad), false, false)]),
        (Some(CertificateNeed::Optional), [(None, true, false), (Some(&good), true, true), (Some(&bad), false, false)]),
        (Some(CertificateNeed::ToLogIn), [(None, true, false), (Some(&good), true, true), (Some(&bad), false, false)]),
    ] {
        let authority = need.map(|_| ours.pem.as_str());
        let tls = ClientTls::new(&needing(&node, authority, need.unwrap_or(CertificateNeed::Optional)), day(1)).unwrap();
        for (pem, heard, has_shown) in rows {
            let trust = Trust::new(ours.pem.as_bytes(), pem.map(|pem| pem.as_bytes()), day(1)).unwrap();
            let (has_heard, _, server) = hears(Session::to_server(&trust, "10.0.0.2").unwrap(), Session::with_operator(&tls).unwrap());
            assert_eq!((has_heard, server.session.has_client_certificate()), (heard, has_shown), "{need:?}");
        }
    }
}

#[test]
fn what_is_to_be_shown_has_a_certificate_and_its_key() {
    let ours = Authority::new("ours");
    let (one, other) = (ours.node(2, same), ours.node(3, same));
    let trust = |pem: String| Trust::new(ours.pem.as_bytes(), Some(pem.as_bytes()), day(1));
    assert!(trust(format!("{}{}", one.0, one.1)).is_ok());
    assert!(trust(format!("{}{}", one.1, one.0)).is_ok());
    assert!(matches!(trust(format!("{}{}", one.0, other.1)), Err(SetupError::Key { .. })));
    assert!(matches!(trust(one.0.clone()), Err(SetupError::Key { .. })));
    assert!(matches!(trust(one.1.clone()), Err(SetupError::Certificate { .. })));
}
