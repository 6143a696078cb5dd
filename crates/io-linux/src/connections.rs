//! The connections of one core, by id. An id is never used twice: each use of an index has its own generation.

use crate::connection::Connection;
use io::ConnectionId;

#[derive(Debug)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

/// A table of connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Connections {
    pub(crate) fn insert(&mut self, connection: Connection) -> ConnectionId {
        let id = self.free_id();
        self.slots[id.index as usize].connection = Some(connection);
        id
    }

    /// The id of a connection that never was.
    pub(crate) fn used_up(&mut self) -> ConnectionId {
        let id = self.free_id();
        self.use_up(id);
        id
    }

    fn free_id(&mut self) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, connection: None });
            (self.slots.len() - 1) as u32
        });
        ConnectionId { index, generation: self.slots[index as usize].generation }
    }

    /// An index whose generations are used up is not used again.
    fn use_up(&mut self, id: ConnectionId) {
        let slot = &mut self.slots[id.index as usize];
        if let Some(generation) = slot.generation.checked_add(1) {
            slot.generation = generation;
            self.free.push(id.index);
        }
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        let slot = self.slots.get(id.index as usize)?;
        if slot.generation == id.generation { slot.connection.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(id.index as usize)?;
        if slot.generation == id.generation { slot.connection.as_mut() } else { None }
    }

    pub(crate) fn remove(&mut self, id: ConnectionId) -> Option<Connection> {
        self.get(id)?;
        self.use_up(id);
        self.slots[id.index as usize].connection.take()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        Connection::new(std::fs::File::open("/dev/null").unwrap().into())
    }

    #[test]
    fn an_id_of_a_closed_connection_finds_nobody() {
        let mut table = Connections::default();
        let first = table.insert(connection());
        assert!(table.remove(first).is_some());
        assert!(table.remove(first).is_none());
        let second = table.insert(connection());
        assert_eq!(first.index, second.index);
        assert_ne!(first, second);
        assert!(table.get(first).is_none());
        assert!(table.get_mut(second).is_some());
        let never = table.used_up();
        assert!(table.get(never).is_none());
        assert_ne!(table.insert(connection()), never);
    }
}
