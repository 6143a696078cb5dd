//! The connections of the HTTP port that are being served.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that are being served, the oldest first. When there are too many the oldest is cut that does not wait for an order: who asks
/// now is answered, whoever has been connected and silent for longer.
pub(super) struct Connections {
    most: usize,
    served: Mutex<VecDeque<Arc<Conversation>>>,
}

/// A connection that is being served.
pub(super) struct Conversation {
    pub(super) stream: TcpStream,
    /// Whether it waits for an order, or for changes.
    pub(super) waits: AtomicBool,
}

impl Connections {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), served: Mutex::default() }
    }

    /// Orders that are carried out at once; more are refused. Half of the connections, so that questions are answered beside them.
    pub(super) fn orders_max(&self) -> usize {
        self.most.div_ceil(2)
    }

    /// Feeds that are read at once; more are refused. A quarter of the connections, for they last.
    pub(super) fn feeds_max(&self) -> usize {
        self.most.div_ceil(4)
    }

    /// Takes one in, and cuts the oldest if there are too many.
    pub(super) fn add(&self, stream: TcpStream) -> Arc<Conversation> {
        let connection = Arc::new(Conversation { stream, waits: AtomicBool::new(false) });
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.push_back(Arc::clone(&connection));
        if served.len() > self.most {
            cut(&mut served);
        }
        connection
    }

    pub(super) fn remove(&self, connection: &Arc<Conversation>) {
        self.served.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, connection));
    }

    pub(super) fn cut_oldest(&self) {
        cut(&mut self.served.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Ends the oldest connection that does not wait for an order: its thread sees the end of its stream.
fn cut(served: &mut VecDeque<Arc<Conversation>>) {
    if let Some(index) = served.iter().position(|connection| !connection.waits.load(Ordering::Acquire))
        && let Some(oldest) = served.remove(index)
    {
        // It may have ended by itself.
        let _ = oldest.stream.shutdown(Shutdown::Both);
    }
}
