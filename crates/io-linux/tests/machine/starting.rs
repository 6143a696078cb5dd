//! Starting and stopping a machine, and what refuses to start.

use crate::scripted::{Folder, Node, echo, listening};
use base::CoreId;
use io::{Handler, Placement, Reactor, Turn};
use io_linux::{CoreEnv, LinuxReactor, Options, Pinning, Signals, StartError, start};
use std::net::{SocketAddr, TcpListener, TcpStream};

/// Accepts when it is told so by its second core, and does nothing else.
struct Late;

impl Handler<LinuxReactor<()>> for Late {
    fn accepted(&mut self, _: &mut LinuxReactor<()>, _: io::ConnectionId, _: io::ListenerId, _: SocketAddr) {}
    fn received(&mut self, _: &mut LinuxReactor<()>, _: io::ConnectionId, _: &[u8]) {}
    fn drained(&mut self, _: &mut LinuxReactor<()>, _: io::ConnectionId) {}
    fn closed(&mut self, _: &mut LinuxReactor<()>, _: io::ConnectionId) {}
    fn completed(&mut self, _: &mut LinuxReactor<()>, _: io::DiskCompletion) {}
    fn message(&mut self, reactor: &mut LinuxReactor<()>, _: CoreId, (): ()) {
        reactor.start_accepting();
    }
    fn stopping(&mut self, reactor: &mut LinuxReactor<()>) {
        // The first request drains, the node ends when core 0 has seen it.
        reactor.stop_accepting();
        if reactor.core() == CoreId(0) {
            reactor.stop();
        }
    }
    fn turn(&mut self, _: &mut LinuxReactor<()>) -> Turn {
        Turn::Idle
    }
}

fn quiet(options: Options) -> Options {
    Options { pinning: Pinning::Off, signals: Signals::Ignore, ..options }
}

#[test]
fn clients_are_refused_until_the_node_accepts_and_after_it_stops() {
    let late = |_: &mut CoreEnv| Late;
    let mut options = quiet(listening(Placement::Spread));
    // Of its own: another test may be given a port of 127.0.0.1 that is free again.
    options.listeners[0].address = "127.0.0.77:0".parse().unwrap();
    let machine = start(options, vec![late, late]).unwrap();
    let address = machine.addresses()[0];
    assert!(TcpStream::connect(address).is_err(), "the node is not ready");
    machine.terminate();
    assert!(!machine.wait_accepting().unwrap());
    machine.join();
    assert!(TcpStream::connect(address).is_err(), "the node has ended");
}

#[test]
fn a_port_in_use_is_a_clear_error() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = quiet(listening(Placement::Spread));
    options.listeners[0].address = taken.local_addr().unwrap();
    let Err(error) = start(options, vec![|_: &mut CoreEnv| Late]) else { panic!("two servers on one port") };
    assert!(matches!(error, StartError::Listen { .. }));
    assert!(error.to_string().contains("another server has this port"), "{error}");
}

#[test]
fn a_second_node_on_the_same_port_does_not_start() {
    let node = Node::start::<()>(2, listening(Placement::Spread), |_| Box::new(echo));
    let mut options = quiet(listening(Placement::Spread));
    options.listeners[0].address = node.addresses[0];
    assert!(start(options, vec![|_: &mut CoreEnv| Late]).is_err());
}

#[test]
fn a_data_file_that_cannot_be_opened_is_a_clear_error() {
    let folder = Folder::new();
    let files = vec![vec![folder.0.join("good").into()], vec![folder.0.join("missing/bad").into()]];
    let late = |_: &mut CoreEnv| Late;
    let Err(error) = start(quiet(Options { files, ..Options::default() }), vec![late, late]) else { panic!("started without a file") };
    assert!(error.to_string().contains("missing/bad"), "{error}");
}

#[test]
fn pinned_cores_run() {
    let cores = io_linux::available_cpus().len();
    let options = Options { signals: Signals::Ignore, ..Options::default() };
    let late = |_: &mut CoreEnv| Late;
    let machine = start(options, vec![late; cores + 1]).unwrap();
    machine.terminate();
    machine.join();
    let machine = start(Options { signals: Signals::Ignore, ..Options::default() }, vec![late; cores]).unwrap();
    machine.terminate();
    machine.join();
}
