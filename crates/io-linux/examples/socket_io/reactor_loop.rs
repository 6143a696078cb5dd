//! This crate's reactor with the smallest handler.

use base::CoreId;
use io::{ConnectionId, DiskCompletion, Handler, ListenerId, Placement, Reactor, Turn};
use io_linux::{CoreEnv, LinuxReactor, ListenerOptions, Options, Pinning, start};
use std::net::SocketAddr;

struct Fixed {
    reply: Vec<u8>,
    accepting: bool,
}

impl Handler<LinuxReactor<()>> for Fixed {
    fn accepted(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId, _: ListenerId, _: SocketAddr) {}
    fn received(&mut self, reactor: &mut LinuxReactor<()>, connection: ConnectionId, bytes: &[u8]) {
        let output = reactor.output(connection).unwrap();
        for _ in 0..crate::requests(bytes) {
            output.extend_from_slice(&self.reply);
        }
    }
    fn drained(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId) {}
    fn closed(&mut self, _: &mut LinuxReactor<()>, _: ConnectionId) {}
    fn completed(&mut self, _: &mut LinuxReactor<()>, _: DiskCompletion) {}
    fn message(&mut self, _: &mut LinuxReactor<()>, _: CoreId, (): ()) {}
    fn stopping(&mut self, reactor: &mut LinuxReactor<()>) {
        reactor.stop();
    }
    fn turn(&mut self, reactor: &mut LinuxReactor<()>) -> Turn {
        if !self.accepting {
            self.accepting = true;
            reactor.start_accepting();
        }
        // A node always has a next deadline: its flush.
        Turn::At(reactor.now().monotonic_us + 100_000)
    }
}

pub(crate) fn run() {
    let listener = ListenerOptions { address: "127.0.0.1:0".parse().unwrap(), placement: Placement::Spread };
    let options = Options { listeners: vec![listener], pinning: Pinning::Off, ..Options::default() };
    let machine = start(options, vec![|_: &mut CoreEnv| Fixed { reply: crate::reply(), accepting: false }]).unwrap();
    println!("{}", machine.addresses()[0].port());
    machine.join();
}
