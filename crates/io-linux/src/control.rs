//! What all cores of a node share: flags for the whole node, and for each core a way to wake it.
//!
//! Waking: a core that is about to sleep says so, then looks for work once more, then sleeps. Whoever gives it work makes the work
//! visible first, then looks whether it sleeps. A full fence between the two steps on both sides means that at least one sees the other,
//! so no wake-up is lost, and a busy core costs its peers no system call.

use crate::errno::Errno;
use crate::event_counter::{open_event_counter, raise_event};
use crate::listener::Listener;
use io::DiskCompletion;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};

/// Padded to its own cache lines, so that one core's sleeping does not slow its neighbour.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct CoreControl {
    sleeping: AtomicBool,
    wake: OwnedFd,
    /// Connections of this core, those on their way to it included.
    pub(crate) connections: AtomicU32,
    has_completions: AtomicBool,
    completions: Mutex<Vec<DiskCompletion>>,
}

impl CoreControl {
    fn new() -> Result<Self, Errno> {
        Ok(Self {
            sleeping: AtomicBool::new(false),
            wake: open_event_counter()?,
            connections: AtomicU32::new(0),
            has_completions: AtomicBool::new(false),
            completions: Mutex::new(Vec::new()),
        })
    }

    /// Says that this core is about to sleep. It must look for work after this and before sleeping.
    pub(crate) fn announce_sleep(&self) {
        self.sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Says that this core is awake.
    pub(crate) fn announce_awake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }

    /// Wakes the core if it may be sleeping. What it is to find must have been made visible before.
    pub(crate) fn wake_if_sleeping(&self) {
        fence(Ordering::SeqCst);
        if self.sleeping.load(Ordering::Relaxed) && self.sleeping.swap(false, Ordering::Relaxed) {
            self.wake();
        }
    }

    fn wake(&self) {
        raise_event(&self.wake);
    }

    /// The descriptor to watch, edge-triggered.
    pub(crate) fn wake_descriptor(&self) -> RawFd {
        self.wake.as_raw_fd()
    }

    /// Gives the core the completion of work that another thread did for it.
    pub(crate) fn complete(&self, completion: DiskCompletion) {
        self.completions.lock().unwrap_or_else(PoisonError::into_inner).push(completion);
        self.has_completions.store(true, Ordering::Release);
        self.wake_if_sleeping();
    }

    pub(crate) fn has_completions(&self) -> bool {
        self.has_completions.load(Ordering::Acquire)
    }

    /// Takes the completions of other threads' work.
    pub(crate) fn take_completions(&self) -> Vec<DiskCompletion> {
        let mut completions = self.completions.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_completions.store(false, Ordering::Release);
        std::mem::take(&mut completions)
    }
}

/// How far the node is with letting clients in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Accepting {
    /// The handlers are not ready.
    NotYet,
    /// Clients are accepted.
    Open,
    /// The listener of this number could not be opened, with this errno.
    Failed { listener: usize, code: i32 },
    /// The node drains or has ended.
    Closed,
}

/// Node-wide state.
pub(crate) struct Control {
    pub(crate) cores: Vec<CoreControl>,
    pub(crate) listeners: Vec<Listener>,
    /// Changes whenever one of the flags below does: the only thing a busy core looks at.
    generation: AtomicU32,
    stopping: AtomicBool,
    stopped: AtomicBool,
    open: AtomicBool,
    /// How many connections a core serves.
    connections_max: AtomicU32,
    /// How many more clients may be on their way to a core that is full, or wait there until it may cut others for them.
    surplus_max: AtomicU32,
    accepting: Mutex<Accepting>,
    accepting_changed: Condvar,
}

impl Control {
    pub(crate) fn new(cores: usize, listeners: Vec<Listener>) -> Result<Self, Errno> {
        Ok(Self {
            cores: (0..cores).map(|_| CoreControl::new()).collect::<Result<_, _>>()?,
            listeners,
            generation: AtomicU32::new(0),
            stopping: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            open: AtomicBool::new(false),
            connections_max: AtomicU32::new(0),
            surplus_max: AtomicU32::new(0),
            accepting: Mutex::new(Accepting::NotYet),
            accepting_changed: Condvar::new(),
        })
    }

    /// Where the listeners are bound.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().map(|listener| listener.address).collect()
    }

    /// How many connections a core serves.
    pub(crate) fn connections_max(&self) -> u32 {
        self.connections_max.load(Ordering::Relaxed)
    }

    /// How many more clients may wait for one.
    pub(crate) fn surplus_max(&self) -> u32 {
        self.surplus_max.load(Ordering::Relaxed)
    }

    /// Sets both, before clients are let in.
    pub(crate) fn bound_connections(&self, connections_max: u32, surplus_max: u32) {
        self.connections_max.store(connections_max, Ordering::Relaxed);
        self.surplus_max.store(surplus_max, Ordering::Relaxed);
    }

    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether the operator asked the node to end.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Whether the node has ended.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Whether the listeners listen.
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// The operator asks the node to end. Returns whether it had been asked before.
    pub(crate) fn ask_to_stop(&self) -> bool {
        let before = self.stopping.swap(true, Ordering::AcqRel);
        self.changed();
        before
    }

    /// All cores end after their current turn.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.set_accepting(Accepting::Closed);
    }

    /// Opens the listeners, unless that happened before or the node ends.
    pub(crate) fn start_accepting(&self) {
        let mut accepting = self.accepting.lock().unwrap_or_else(PoisonError::into_inner);
        if *accepting != Accepting::NotYet {
            return;
        }
        let failed = self.listeners.iter().enumerate().find_map(|(listener, socket)| Some((listener, socket.listen().err()?.0)));
        *accepting = match failed {
            None => Accepting::Open,
            Some((listener, code)) => Accepting::Failed { listener, code },
        };
        self.open.store(failed.is_none(), Ordering::Release);
        if failed.is_some() {
            self.stopped.store(true, Ordering::Release);
        }
        drop(accepting);
        self.changed();
        self.accepting_changed.notify_all();
    }

    /// Closes the listeners for good.
    pub(crate) fn stop_accepting(&self) {
        self.set_accepting(Accepting::Closed);
    }

    fn set_accepting(&self, to: Accepting) {
        let mut accepting = self.accepting.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*accepting, Accepting::Failed { .. }) {
            *accepting = to;
        }
        if self.open.swap(false, Ordering::AcqRel) {
            self.listeners.iter().for_each(Listener::refuse);
        }
        drop(accepting);
        self.changed();
        self.accepting_changed.notify_all();
    }

    /// Blocks until the node accepts, failed to, or ended.
    pub(crate) fn wait_accepting(&self) -> Accepting {
        let accepting = self.accepting.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.accepting_changed.wait_while(accepting, |state| *state == Accepting::NotYet);
        waited.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Wakes all cores, each for a turn at least.
    pub(crate) fn wake_all(&self) {
        self.cores.iter().for_each(CoreControl::wake);
    }

    fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.cores.iter().for_each(CoreControl::wake_if_sleeping);
    }
}
