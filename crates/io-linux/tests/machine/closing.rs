//! How connections end.

use crate::scripted::{Event, Node, listening};
use io::{Placement, Reactor, Turn};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Answers everything with `count` bytes and closes.
fn answer_and_close(count: usize) -> (Node, mpsc::Receiver<Instant>) {
    let (closed, closings) = mpsc::channel();
    let node = Node::start::<()>(1, listening(Placement::Spread), move |_| {
        let closed = closed.clone();
        Box::new(move |reactor, event| {
            match event {
                Event::Received(connection, _) => {
                    reactor.output(connection).unwrap().resize(count, 7);
                    reactor.close(connection);
                    assert!(reactor.output(connection).is_none(), "a closing connection takes no output");
                }
                Event::Closed(_) => closed.send(Instant::now()).unwrap(),
                _ => {}
            }
            Turn::Idle
        })
    });
    (node, closings)
}

/// A client is cut five seconds after the close.
const CUT_AFTER: Duration = Duration::from_millis(4_900);

/// A client sends a request and gets a reply of so many bytes. A slow machine may take it longer than until it is cut: then another one tries.
fn exchange(node: &Node, request: &[u8], bytes: usize) {
    let attempt = || -> std::io::Result<usize> {
        let mut stream = node.connect();
        stream.write_all(request)?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply)?;
        Ok(reply.len())
    };
    for _ in 0..20 {
        let start = Instant::now();
        let got = attempt();
        if matches!(got, Ok(count) if count == bytes) {
            return;
        }
        assert!(start.elapsed() >= CUT_AFTER, "{got:?} of {bytes} bytes");
    }
    panic!("no client is in time");
}

#[test]
fn a_client_that_is_still_sending_gets_the_last_reply() {
    let (node, closings) = answer_and_close(1000);
    // More than fits between the two: the server closes long before it has been taken, and a plain close would reset the connection.
    exchange(&node, &vec![1; 32 << 20], 1000);
    closings.recv().unwrap();
}

#[test]
fn a_close_sends_all_output_first() {
    let (node, closings) = answer_and_close(8 << 20);
    exchange(&node, b"x", 8 << 20);
    closings.recv().unwrap();
}

#[test]
fn a_client_that_does_not_take_the_last_bytes_is_cut_after_five_seconds() {
    let (node, closings) = answer_and_close(64 << 20);
    let mut stream = node.connect();
    let start = Instant::now();
    stream.write_all(b"x").unwrap();
    let closed = closings.recv().unwrap();
    let took = closed - start;
    assert!(took >= CUT_AFTER, "closed after {took:?}");
    let mut reply = Vec::new();
    let end = stream.read_to_end(&mut reply);
    assert!(end.is_err() || reply.len() < 64 << 20);
}

#[test]
fn an_abort_drops_the_output() {
    let (closed, closings) = mpsc::channel();
    let node = Node::start::<()>(1, listening(Placement::Spread), move |_| {
        let closed = closed.clone();
        Box::new(move |reactor, event| {
            match event {
                // What the kernel did not take of the first reply is dropped when the client asks again.
                Event::Received(connection, _) if reactor.unsent_bytes(connection) > 0 => {
                    reactor.abort(connection);
                    assert_eq!(reactor.unsent_bytes(connection), 0);
                }
                Event::Received(connection, _) => reactor.output(connection).unwrap().resize(64 << 20, 7),
                Event::Closed(_) => closed.send(()).unwrap(),
                _ => {}
            }
            Turn::Idle
        })
    });
    let mut stream = node.connect();
    stream.write_all(b"x").unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    stream.write_all(b"x").unwrap();
    closings.recv().unwrap();
    let mut reply = Vec::new();
    let end = stream.read_to_end(&mut reply);
    assert!(end.is_err() || reply.len() < 64 << 20);
}

#[test]
fn a_reset_connection_is_reported_once() {
    let (closed, closings) = mpsc::channel();
    let node = Node::start::<()>(1, listening(Placement::Spread), move |_| {
        let closed = closed.clone();
        Box::new(move |reactor, event| {
            match event {
                Event::Received(connection, bytes) => {
                    let reply = bytes.to_vec();
                    reactor.output(connection).unwrap().extend_from_slice(&reply);
                }
                Event::Closed(connection) => {
                    assert!(reactor.output(connection).is_none());
                    assert_eq!(reactor.unsent_bytes(connection), 0);
                    reactor.close(connection);
                    reactor.set_reading(connection, true);
                    closed.send(connection).unwrap();
                }
                _ => {}
            }
            Turn::Idle
        })
    });
    let mut stream = node.connect();
    stream.write_all(b"unread reply").unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    // Dropping a socket with unread bytes resets the connection.
    drop(stream);
    closings.recv().unwrap();
    drop(node);
    assert!(closings.recv().is_err(), "closed was reported twice");
}

#[test]
fn a_peer_that_vanishes_while_paused_is_noticed() {
    let (closed, closings) = mpsc::channel();
    let node = Node::start::<()>(1, listening(Placement::Spread), move |_| {
        let closed = closed.clone();
        Box::new(move |reactor, event| {
            match event {
                Event::Received(connection, _) => {
                    reactor.set_reading(connection, false);
                    // More than the kernel's buffers take, so that the rest waits for the client.
                    reactor.output(connection).unwrap().resize(64 << 20, 7);
                }
                Event::Closed(connection) => closed.send(connection).unwrap(),
                _ => {}
            }
            Turn::Idle
        })
    });
    let mut stream = node.connect();
    stream.write_all(b"x").unwrap();
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    drop(stream);
    closings.recv().unwrap();
}

#[test]
fn connections_above_the_bound_are_closed_at_once_and_places_are_used_again() {
    let options = io_linux::Options { connections_max: 3, ..listening(Placement::Spread) };
    let accepted = Arc::new(Mutex::new(0));
    let counter = Arc::clone(&accepted);
    let node = Node::start::<()>(1, options, move |_| {
        let counter = Arc::clone(&counter);
        Box::new(move |reactor, event| {
            if let Event::Accepted(..) = event {
                *counter.lock().unwrap() += 1;
            }
            crate::scripted::echo(reactor, event)
        })
    });
    let is_served = |stream: &mut TcpStream| {
        let mut byte = [0];
        stream.write_all(b"x").is_ok() && matches!(stream.read(&mut byte), Ok(1))
    };
    let mut served: Vec<_> = (0..3).map(|_| node.connect()).collect();
    assert!(served.iter_mut().all(is_served));
    for _ in 0..20 {
        assert!(!is_served(&mut node.connect()));
    }
    assert!(served.iter_mut().all(is_served));
    let mut leaving = served.pop().unwrap();
    leaving.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(leaving.read(&mut [0]).unwrap(), 0);
    // The place was free before the client saw the end of stream.
    assert!(is_served(&mut node.connect()));
    assert_eq!(*accepted.lock().unwrap(), 4);
}
