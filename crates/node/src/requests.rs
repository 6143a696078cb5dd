//! Requests whose reply comes later.

use cql::exec::Coordinator;
use crate::message::ReplyHeader;
use io::ConnectionId;

/// A request of this core. Never used twice, so that a late answer finds nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    index: u32,
    generation: u32,
}

impl RequestId {
    /// As two numbers.
    #[must_use]
    pub fn to_parts(self) -> (u32, u32) {
        (self.index, self.generation)
    }

    /// The inverse of [`RequestId::to_parts`].
    #[must_use]
    pub fn from_parts(index: u32, generation: u32) -> Self {
        Self { index, generation }
    }
}

/// A request that waits.
pub struct Request {
    /// Who asked.
    pub connection: ConnectionId,
    /// How the reply starts.
    pub reply: ReplyHeader,
    /// What it waits for.
    pub work: Work,
}

/// What a request waits for.
pub enum Work {
    /// One reply, which is the whole frame.
    Single,
    /// Parts that a coordinator asked for.
    Coordinated {
        /// Who knows what comes next.
        coordinator: Box<dyn Coordinator>,
        /// What came of each part.
        results: Vec<Vec<u8>>,
        /// How many parts are still out.
        left: usize,
    },
}

/// All requests of a core that wait.
#[derive(Default)]
pub struct Requests {
    slots: Vec<(u32, Option<Request>)>,
    free: Vec<u32>,
}

impl Requests {
    /// Keeps a request.
    pub fn insert(&mut self, request: Request) -> RequestId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            (self.slots.len() - 1) as u32
        });
        let (generation, slot) = &mut self.slots[index as usize];
        *slot = Some(request);
        RequestId { index, generation: *generation }
    }

    /// The request, if it still waits.
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut Request> {
        let (generation, slot) = self.slots.get_mut(id.index as usize)?;
        if *generation == id.generation { slot.as_mut() } else { None }
    }

    /// Ends the wait.
    pub fn remove(&mut self, id: RequestId) -> Option<Request> {
        let (generation, slot) = self.slots.get_mut(id.index as usize)?;
        if *generation != id.generation {
            return None;
        }
        let request = slot.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(id.index);
        Some(request)
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
