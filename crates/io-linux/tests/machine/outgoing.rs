//! Connections that a core asks for.

use crate::scripted::{Event, Node, echo, listening};
use base::{CoreId, Rng};
use io::{ListenerId, Placement, Reactor, Turn};
use io_linux::Options;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{self, Receiver, Sender};

/// What the core that asks is told, and what it got.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Connected,
    Received(Vec<u8>),
    Closed,
}

fn nobody() -> Options {
    Options::default()
}

/// A node of one core that connects to `to` in its first turn, writes `first` at once, and tells what happens.
fn asking(to: SocketAddr, lands_on: Option<(CoreId, u16)>, first: Vec<u8>) -> (Node, Receiver<Told>) {
    let (sender, told): (Sender<Told>, _) = mpsc::channel();
    let node = Node::start::<()>(1, nobody(), move |_| {
        let (sender, first) = (sender.clone(), first.clone());
        let mut connection = None;
        Box::new(move |reactor, event| {
            let what = match event {
                Event::Turn if connection.is_none() => {
                    let id = reactor.connect(to, lands_on);
                    if let Some(output) = reactor.output(id) {
                        output.extend_from_slice(&first);
                    }
                    connection = Some(id);
                    return Turn::Idle;
                }
                Event::Connected(id) => (id, Told::Connected),
                Event::Received(id, bytes) => (id, Told::Received(bytes.to_vec())),
                Event::Closed(id) => (id, Told::Closed),
                _ => return Turn::Idle,
            };
            assert_eq!(Some(what.0), connection);
            let _ = sender.send(what.1);
            Turn::Idle
        })
    });
    (node, told)
}

fn received(told: &Receiver<Told>, count: usize) -> Vec<u8> {
    let mut all = Vec::new();
    while all.len() < count {
        match told.recv().unwrap() {
            Told::Received(bytes) => all.extend(bytes),
            other => panic!("{other:?} after {} of {count} bytes", all.len()),
        }
    }
    all
}

#[test]
fn bytes_written_before_the_connection_is_made_arrive_and_are_answered() {
    let other = Node::start::<()>(2, listening(Placement::Spread), |_| Box::new(echo));
    let mut sent = vec![0; 8 << 20];
    Rng::new(3).fill(&mut sent);
    let (_node, told) = asking(other.addresses[0], None, sent.clone());
    assert_eq!(told.recv().unwrap(), Told::Connected);
    assert!(received(&told, sent.len()) == sent);
    drop(other);
    assert_eq!(told.recv().unwrap(), Told::Closed);
}

#[test]
fn the_other_sides_core_can_be_chosen() {
    let other = Node::start::<()>(3, listening(Placement::ByClientPort), |core| {
        Box::new(move |reactor, event| {
            if let Event::Accepted(connection, ListenerId(0), _) = event {
                reactor.output(connection).unwrap().push(core.0 as u8);
            }
            Turn::Idle
        })
    });
    for core in [0, 1, 2, 2, 1, 0, 1, 1] {
        let (_node, told) = asking(other.addresses[0], Some((CoreId(core), 3)), Vec::new());
        assert_eq!(told.recv().unwrap(), Told::Connected);
        assert_eq!(received(&told, 1), [core as u8]);
    }
}

#[test]
fn other_addresses_of_loopback_can_be_reached() {
    let mut options = listening(Placement::ByClientPort);
    options.listeners[0].address = "127.0.0.9:0".parse().unwrap();
    let other = Node::start::<()>(2, options, |_| Box::new(echo));
    let (_node, told) = asking(other.addresses[0], Some((CoreId(1), 2)), b"hello".to_vec());
    assert_eq!(told.recv().unwrap(), Told::Connected);
    assert_eq!(received(&told, 5), b"hello");
}

#[test]
fn a_port_where_nobody_listens_closes_the_connection() {
    let address = "127.0.0.1:1".parse().unwrap();
    for lands_on in [None, Some((CoreId(0), 4))] {
        let (_node, told) = asking(address, lands_on, b"lost".to_vec());
        assert_eq!(told.recv().unwrap(), Told::Closed);
    }
}

#[test]
fn an_address_that_cannot_be_reached_closes_the_connection() {
    for address in ["255.255.255.255:9", "127.0.0.1:0"] {
        let (_node, told) = asking(address.parse().unwrap(), Some((CoreId(1), 2)), b"lost".to_vec());
        assert_eq!(told.recv().unwrap(), Told::Closed, "{address}");
    }
}

#[test]
fn a_connection_that_is_closed_before_it_is_made_is_gone() {
    let other = Node::start::<()>(1, listening(Placement::Spread), |_| Box::new(echo));
    let to = other.addresses[0];
    let (sender, told) = mpsc::channel();
    let _node = Node::start::<()>(1, nobody(), move |_| {
        let (sender, mut asked) = (sender.clone(), 0);
        Box::new(move |reactor, event| {
            match event {
                Event::Turn if asked < 2 => {
                    asked += 1;
                    let id = reactor.connect(to, None);
                    reactor.output(id).unwrap().push(1);
                    if asked == 1 {
                        reactor.close(id)
                    } else {
                        reactor.abort(id)
                    }
                    assert!(reactor.output(id).is_none());
                    return Turn::Again;
                }
                Event::Connected(_) => drop(sender.send(Told::Connected)),
                Event::Closed(_) => drop(sender.send(Told::Closed)),
                _ => {}
            }
            Turn::Idle
        })
    });
    assert_eq!([told.recv().unwrap(), told.recv().unwrap()], [Told::Closed, Told::Closed]);
}

#[test]
#[allow(unsafe_code, reason = "the standard library cannot choose how many handshakes wait")]
fn a_peer_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: no pointers are passed.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    // The one place is taken, and the kernel then drops what asks for another.
    let _taken = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (_node, told) = asking(listener.local_addr().unwrap(), Some((CoreId(0), 1)), b"lost".to_vec());
    assert_eq!(told.recv().unwrap(), Told::Closed);
}
