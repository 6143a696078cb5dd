//! A connection whose own address is known before the other side sees it.

use io_linux::BoundStream;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(60);

#[test]
fn the_other_side_sees_the_address_that_was_known_before() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let bound = BoundStream::bind(Ipv4Addr::LOCALHOST.into()).unwrap();
    let address = bound.address();
    let mut stream = bound.connect(&listener.local_addr().unwrap(), TIMEOUT).unwrap();
    let (mut other, peer) = listener.accept().unwrap();
    assert_eq!(peer, address);
    other.write_all(b"x").unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"x", "it blocks");
}

#[test]
fn nobody_listens() {
    let gone = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let error = BoundStream::bind(Ipv4Addr::LOCALHOST.into()).unwrap().connect(&gone, TIMEOUT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}
