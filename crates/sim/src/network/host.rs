//! A machine of a network: running, dead, without power, paused; with clocks of its own.

use super::clock::Clock;
use crate::durable_state::{DurableState, Loss};
use crate::machine::{Machine, Rest};
use crate::reactor::SimReactor;
use crate::setup::Setup;
use io::Handler;

pub(super) enum State<H> {
    Running(Machine<H>),
    Ended(DurableState, Loss),
    /// Between the two.
    Changing,
}

/// A machine, or what is left of it.
pub(super) struct Host<H> {
    pub(super) setup: Setup,
    pub(super) clock: Clock,
    pub(super) state: State<H>,
    /// How often it was started: what belongs to an earlier process belongs to nobody.
    pub(super) boots: u64,
    pub(super) paused: bool,
}

impl<H: Handler<SimReactor>> Host<H> {
    pub(super) fn machine(&mut self) -> Option<&mut Machine<H>> {
        if let State::Running(machine) = &mut self.state { Some(machine) } else { None }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    /// Nothing gets in or out.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.state, State::Ended(_, Loss::Power))
    }

    pub(super) fn is_awake(&self) -> bool {
        self.is_running() && !self.paused
    }

    /// When it has something to do next, by the true time.
    pub(super) fn due_us(&self, now_us: u64) -> u64 {
        let State::Running(machine) = &self.state else { return u64::MAX };
        if self.paused {
            return u64::MAX;
        }
        match machine.rest() {
            Rest::None => now_us,
            Rest::Until(at_us) => self.clock.when(at_us),
            Rest::Forever => u64::MAX,
        }
    }
}
