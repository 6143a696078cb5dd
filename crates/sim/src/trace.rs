//! The trace of a run: a digest of everything that happened, in order.
//!
//! Two runs of one seed must have the same trace; where they part is found with TARNDB_TRACE=1, which prints every event.

use base::checksum;

/// A digest that every event changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    digest: u64,
    events: u64,
    prints: bool,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Self { digest: 0, events: 0, prints: std::env::var_os("TARNDB_TRACE").is_some() }
    }

    /// Whether every event is printed.
    pub(crate) fn prints(&self) -> bool {
        self.prints
    }

    /// Something happened; the numbers say what.
    pub(crate) fn add(&mut self, what: &'static str, numbers: &[u64]) {
        self.events += 1;
        for number in [u64::from(checksum(what.as_bytes()))].iter().chain(numbers) {
            self.digest = (self.digest.rotate_left(5) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
        if self.prints {
            eprintln!("{:>8} {what} {numbers:?} {:016x}", self.events, self.digest);
        }
    }

    /// The digest of all events so far.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// How many there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }
}
