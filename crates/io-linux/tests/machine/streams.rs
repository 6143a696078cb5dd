//! Bytes in and out: order, cuts, pipelining, readers that stop reading.

use crate::scripted::{Event, Node, echo, listening};
use base::Rng;
use io::{Placement, Reactor, Turn};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    Rng::new(seed).fill(&mut bytes);
    bytes
}

#[test]
fn echo_returns_the_same_bytes_however_they_are_cut() {
    let node = Node::start::<()>(2, listening(Placement::Spread), |_| Box::new(echo));
    let clients: Vec<_> = (0..8)
        .map(|seed| {
            let stream = node.connect();
            thread::spawn(move || {
                let sent = random_bytes(seed, 3_000_000);
                let mut writer = stream.try_clone().unwrap();
                let copy = sent.clone();
                let writing = thread::spawn(move || {
                    let (mut rng, mut rest) = (Rng::new(seed + 100), &copy[..]);
                    while !rest.is_empty() {
                        // Mostly tiny, sometimes larger than the receive buffer.
                        let most = if rng.below(10) == 0 { 200_000 } else { 300 };
                        let piece = 1 + rng.below(most) as usize;
                        let (now, later) = rest.split_at(piece.min(rest.len()));
                        writer.write_all(now).unwrap();
                        rest = later;
                    }
                });
                let mut received = vec![0; sent.len()];
                (&stream).read_exact(&mut received).unwrap();
                writing.join().unwrap();
                assert!(received == sent, "seed {seed}");
            })
        })
        .collect();
    clients.into_iter().for_each(|client| client.join().unwrap());
}

#[test]
fn bytes_sent_before_the_end_of_stream_are_answered() {
    let node = Node::start::<()>(1, listening(Placement::Spread), |_| Box::new(echo));
    let sent = random_bytes(1, 500_000);
    let stream = node.connect();
    let mut writer = stream.try_clone().unwrap();
    let copy = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&copy).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    (&stream).read_to_end(&mut received).unwrap();
    writing.join().unwrap();
    assert!(received == sent);
}

#[test]
fn thousands_of_connections_open_and_close() {
    let (opened, closed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (Arc::clone(&opened), Arc::clone(&closed));
    let node = Node::start::<()>(2, listening(Placement::Spread), move |_| {
        let (opened, closed) = counters.clone();
        Box::new(move |reactor, event| {
            match event {
                Event::Accepted(..) => drop(opened.fetch_add(1, Ordering::Relaxed)),
                Event::Closed(..) => drop(closed.fetch_add(1, Ordering::Relaxed)),
                _ => {}
            }
            echo(reactor, event)
        })
    });
    for round in 0..10u8 {
        let mut streams: Vec<_> = (0..400).map(|_| node.connect()).collect();
        for stream in &mut streams {
            stream.write_all(&[round]).unwrap();
        }
        for stream in &mut streams {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [round]);
        }
        for stream in &mut streams {
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
    }
    assert_eq!(opened.load(Ordering::Relaxed), 4000);
    // The end of stream that each client saw is sent before the core notes the close; stopping the node orders the two.
    drop(node);
    assert_eq!(closed.load(Ordering::Relaxed), 4000);
}

/// The most output that the back-pressured echo below lets wait before it stops reading.
const BACKLOG_MAX: usize = 256 * 1024;

#[test]
fn a_client_that_never_reads_costs_bounded_memory_and_gets_all_when_it_reads() {
    let most = Arc::new(AtomicUsize::new(0));
    let drained = Arc::new(AtomicU64::new(0));
    let shared = (Arc::clone(&most), Arc::clone(&drained));
    let (blocked_sender, blocked) = std::sync::mpsc::channel();
    let node = Node::start::<()>(1, listening(Placement::Spread), move |_| {
        let ((most, drained), blocked) = (shared.clone(), blocked_sender.clone());
        Box::new(move |reactor, event| {
            match event {
                Event::Received(connection, bytes) => {
                    reactor.output(connection).unwrap().extend_from_slice(bytes);
                    let unsent = reactor.unsent_bytes(connection);
                    most.fetch_max(unsent, Ordering::Relaxed);
                    if unsent > BACKLOG_MAX {
                        reactor.set_reading(connection, false);
                        let _ = blocked.send(());
                    }
                }
                Event::Drained(connection) => {
                    drained.fetch_add(1, Ordering::Relaxed);
                    reactor.set_reading(connection, true);
                }
                _ => {}
            }
            Turn::Idle
        })
    });
    let sent = random_bytes(9, 64 << 20);
    let stream = node.connect();
    let mut writer = stream.try_clone().unwrap();
    let copy = sent.clone();
    let writing = thread::spawn(move || writer.write_all(&copy).unwrap());
    // Nothing is read before the server has stopped reading.
    blocked.recv().unwrap();
    // Another client is served meanwhile.
    let mut other = node.connect();
    other.write_all(b"hello").unwrap();
    let mut reply = [0; 5];
    other.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"hello");
    let mut received = vec![0; sent.len()];
    (&stream).read_exact(&mut received).unwrap();
    writing.join().unwrap();
    assert!(received == sent);
    assert!(drained.load(Ordering::Relaxed) > 0);
    let most = most.load(Ordering::Relaxed);
    assert!(most <= BACKLOG_MAX + 64 * 1024, "{most} bytes waited");
}

#[test]
fn a_paused_connection_delivers_nothing_until_it_reads_again() {
    let node = Node::start::<()>(1, listening(Placement::Spread), |_| {
        let mut paused = None;
        Box::new(move |reactor, event| {
            match event {
                Event::Received(connection, b"pause") => {
                    reactor.set_reading(connection, false);
                    reactor.output(connection).unwrap().extend_from_slice(b"paused");
                    paused = Some(connection);
                }
                Event::Received(connection, b"resume") => {
                    reactor.output(connection).unwrap().extend_from_slice(b"resumed");
                    reactor.set_reading(paused.take().unwrap(), true);
                }
                Event::Received(connection, bytes) => {
                    assert_ne!(Some(connection), paused, "delivered {bytes:?} while paused");
                    reactor.output(connection).unwrap().extend_from_slice(bytes);
                }
                _ => {}
            }
            Turn::Idle
        })
    });
    let (mut one, mut other) = (node.connect(), node.connect());
    let exchange = |stream: &mut std::net::TcpStream, request: &[u8], expected: &[u8]| {
        stream.write_all(request).unwrap();
        let mut reply = vec![0; expected.len()];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply, expected);
    };
    exchange(&mut one, b"pause", b"paused");
    one.write_all(b"while paused").unwrap();
    // The end of stream is there before the bytes are read: reading them must go on to it without another event.
    one.shutdown(Shutdown::Write).unwrap();
    // The server goes round its loop many times with the bytes waiting in the kernel.
    for _ in 0..100 {
        exchange(&mut other, b"ping", b"ping");
    }
    exchange(&mut other, b"resume", b"resumed");
    let mut rest = Vec::new();
    one.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"while paused");
}
