//! One core's reactor: keeps what the core asks for until the machine does it.

use crate::connection::{Connection, Phase};
use base::{CoreId, Rng};
use io::{ConnectionId, DiskRequest, DiskTag, Now, Reactor};
use node::Message;
use sim_disk::Disk;
use std::net::SocketAddr;

/// A core's window to its machine.
pub struct SimReactor {
    pub(crate) core: CoreId,
    pub(crate) cores: u16,
    pub(crate) now: Now,
    /// By index; an index is used again once its connection is gone.
    pub(crate) connections: Vec<Connection>,
    pub(crate) disk: Disk,
    pub(crate) outbox: Vec<(CoreId, Message)>,
    pub(crate) blobs: Vec<(DiskTag, String, Vec<u8>)>,
    pub(crate) dice: Rng,
    pub(crate) accepting: bool,
    pub(crate) stopped: bool,
}

impl SimReactor {
    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(id.index as usize).filter(|connection| connection.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(id.index as usize).filter(|connection| connection.id == id)
    }
}

impl Reactor for SimReactor {
    type Message = Message;

    fn now(&self) -> Now {
        self.now
    }

    fn core(&self) -> CoreId {
        self.core
    }

    fn cores(&self) -> u16 {
        self.cores
    }

    fn output(&mut self, id: ConnectionId) -> Option<&mut Vec<u8>> {
        self.get_mut(id).filter(|connection| connection.phase == Phase::Open).map(|connection| &mut connection.output)
    }

    fn put_output(&mut self, id: ConnectionId, output: Vec<u8>) {
        if let Some(place) = self.output(id) {
            *place = output;
        }
    }

    fn unsent_bytes(&self, id: ConnectionId) -> usize {
        self.get(id).map_or(0, |connection| connection.output.len())
    }

    fn set_reading(&mut self, id: ConnectionId, reading: bool) {
        if let Some(connection) = self.get_mut(id) {
            connection.reading = reading;
        }
    }

    fn close(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id)
            && connection.phase == Phase::Open
        {
            connection.phase = Phase::Closing;
        }
    }

    fn abort(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get_mut(id) {
            connection.output.clear();
            connection.phase = Phase::Closing;
        }
    }

    /// This machine is alone: nobody answers.
    fn connect(&mut self, _: SocketAddr, _: Option<(CoreId, u16)>) -> ConnectionId {
        let id = ConnectionId { index: self.connections.len() as u32, generation: 0 };
        self.connections.push(Connection::new(id));
        self.abort(id);
        id
    }

    fn submit(&mut self, tag: DiskTag, request: DiskRequest) {
        match request {
            DiskRequest::ReplaceBlob { name, bytes } => self.blobs.push((tag, name, bytes)),
            request => self.disk.submit(tag, request),
        }
    }

    fn send(&mut self, to: CoreId, message: Message) {
        self.outbox.push((to, message));
    }

    fn entropy(&mut self, bytes: &mut [u8]) {
        self.dice.fill(bytes);
    }

    fn start_accepting(&mut self) {
        self.accepting = true;
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}
