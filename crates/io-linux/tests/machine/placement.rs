//! Which core gets which connection, and which ports the listeners have.

use crate::scripted::{Event, Node, listening};
use io::{ListenerId, Placement, Reactor, Turn};
use io_linux::ListenerOptions;
use std::io::Read;
use std::net::TcpStream;

/// A node whose connections are told their core and listener.
fn telling(cores: u16, placements: &[Placement]) -> Node {
    let mut options = listening(placements[0]);
    let address = options.listeners[0].address;
    options.listeners = placements.iter().map(|placement| ListenerOptions { address, placement: *placement }).collect();
    Node::start::<()>(cores, options, |core| {
        Box::new(move |reactor, event| {
            if let Event::Accepted(connection, ListenerId(listener), peer) = event {
                assert_eq!(reactor.core(), core);
                assert!(peer.ip().is_loopback());
                reactor.output(connection).unwrap().extend_from_slice(&[core.0 as u8, listener as u8]);
            }
            Turn::Idle
        })
    })
}

fn told(stream: &mut TcpStream) -> (u16, u16) {
    let mut reply = [0; 2];
    stream.read_exact(&mut reply).unwrap();
    (reply[0].into(), reply[1].into())
}

#[test]
fn the_clients_port_names_the_core() {
    let node = telling(3, &[Placement::ByClientPort]);
    let mut seen = [0; 3];
    for _ in 0..60 {
        let mut stream = node.connect();
        let (core, _) = told(&mut stream);
        assert_eq!(core, stream.local_addr().unwrap().port() % 3);
        seen[usize::from(core)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
}

#[test]
fn spread_connections_are_shared_out_evenly() {
    let node = telling(4, &[Placement::Spread]);
    let (mut streams, mut seen) = (Vec::new(), [0; 4]);
    // One after the other: of two cores that accept at once, both may take the same core for the emptiest.
    for _ in 0..40 {
        let mut stream = node.connect();
        seen[usize::from(told(&mut stream).0)] += 1;
        streams.push(stream);
    }
    assert_eq!(seen, [10; 4]);
}

#[test]
fn each_listener_has_its_own_free_port_and_number() {
    let node = telling(2, &[Placement::Spread, Placement::ByClientPort, Placement::Spread]);
    let ports: std::collections::BTreeSet<u16> = node.addresses.iter().map(|address| address.port()).collect();
    assert_eq!(ports.len(), 3);
    assert!(!ports.contains(&0));
    for (number, address) in node.addresses.iter().enumerate() {
        let mut stream = TcpStream::connect(address).unwrap();
        assert_eq!(usize::from(told(&mut stream).1), number);
    }
}
