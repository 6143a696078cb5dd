//! The machines of a network: running, dead, without power, paused; each with clocks of its own.

use super::clock::Clock;
use super::host::{Host, State};
use super::{Network, link::Link};
use crate::durable_state::{DurableState, Loss};
use crate::machine::Machine;
use crate::reactor::SimReactor;
use crate::setup::Setup;
use io::Handler;
use std::net::{IpAddr, Ipv4Addr};

impl<H: Handler<SimReactor>> Network<H> {
    /// A new machine; its process starts. Gives its number.
    pub fn add(&mut self, setup: &Setup) -> usize {
        let clock = Clock::new(self.now_us, &mut self.rng);
        let remains = DurableState::none(setup);
        self.hosts.push(Host { setup: setup.clone(), clock, state: State::Ended(remains, Loss::Process), boots: 0, paused: false });
        let node = self.hosts.len() - 1;
        self.start(node);
        node
    }

    /// Starts the process of a machine that has none; power comes back if it was gone.
    pub fn start(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let State::Ended(mut remains, loss) = std::mem::replace(&mut host.state, State::Changing) else {
            panic!("machine {node} runs already");
        };
        if loss == Loss::Power {
            host.clock.power_on(self.now_us, &mut self.rng);
        }
        remains.now = host.clock.read(self.now_us);
        self.trace.add("boot", &[node as u64, self.now_us]);
        host.boots += 1;
        host.paused = false;
        host.state = State::Running((self.boot)(&host.setup, remains));
    }

    /// Ends the process, or takes the power. Nothing happens when there is no process.
    pub fn kill(&mut self, node: usize, loss: Loss) {
        let host = &mut self.hosts[node];
        match std::mem::replace(&mut host.state, State::Changing) {
            State::Running(machine) => {
                self.trace.add("kill", &[node as u64, loss as u64, self.now_us]);
                host.state = State::Ended(machine.end(loss), loss);
                self.orphan_links(node, loss);
            }
            ended => host.state = ended,
        }
    }

    /// What is left of a machine that does not run.
    pub fn durable_state(&mut self, node: usize) -> Option<(&Setup, &mut DurableState)> {
        let host = &mut self.hosts[node];
        if let State::Ended(remains, _) = &mut host.state { Some((&host.setup, remains)) } else { None }
    }

    /// What the machine's next process is set up with.
    pub fn setup(&mut self, node: usize) -> &mut Setup {
        &mut self.hosts[node].setup
    }

    /// The process makes no step until [`Network::resume`], as after SIGSTOP; its connections stay, and take bytes.
    pub fn pause(&mut self, node: usize) {
        self.trace.add("pause", &[node as u64]);
        self.hosts[node].paused = true;
    }

    /// The process goes on.
    pub fn resume(&mut self, node: usize) {
        self.trace.add("resume", &[node as u64]);
        self.hosts[node].paused = false;
    }

    /// Somebody sets the machine's wall clock.
    pub fn set_wall_clock(&mut self, node: usize, by_us: i64) {
        self.hosts[node].clock.set_wall(by_us);
    }

    /// The machine, if its process runs (or is paused).
    pub fn machine(&mut self, node: usize) -> Option<&mut Machine<H>> {
        self.hosts[node].machine()
    }

    /// How often the machine was started.
    #[must_use]
    pub fn boots(&self, node: usize) -> u64 {
        self.hosts[node].boots
    }

    /// How many machines there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hosts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// Whether its process runs and is not paused.
    #[must_use]
    pub fn is_awake(&self, node: usize) -> bool {
        self.hosts[node].is_awake()
    }

    /// The address of a machine.
    #[must_use]
    pub fn address(node: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, (node >> 8) as u8, 1 + node as u8))
    }

    pub(super) fn host_of(&self, address: IpAddr) -> Option<usize> {
        (0..self.hosts.len()).find(|node| Self::address(*node) == address)
    }

    /// One machine has a step; then its requests are on their way.
    pub(super) fn step_host(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let now = host.clock.read(self.now_us);
        let State::Running(machine) = &mut host.state else { return };
        machine.step_at(now);
        self.trace.add("turn", &[node as u64, self.now_us, machine.trace().digest()]);
        let (accepted, kernel_requests) = (machine.take_accepted(), machine.take_kernel_requests());
        for (link, core, connection) in accepted {
            match self.links.get_mut(&link) {
                Some(link) => link.ends[1].connection = Some(connection),
                None => machine.disconnect((core, connection)),
            }
            if let Some(connection) = machine.connection((core, connection)) {
                (connection.linked, connection.window) = (true, 0);
            }
        }
        let over = machine.is_dead() || machine.has_shut_down();
        for (core, kernel_requests) in kernel_requests {
            self.ask(node, core, kernel_requests);
        }
        if over {
            self.kill(node, Loss::Process);
        }
    }

    /// Its process is gone: its kernel says so to the others, unless the power is gone as well.
    fn orphan_links(&mut self, node: usize, loss: Loss) {
        let mut links = std::mem::take(&mut self.links);
        for Link { ends, flows, .. } in links.values_mut() {
            for (end, flow) in ends.iter().zip(flows) {
                if end.node == node && flow.end_us.is_none() && (loss == Loss::Power || self.rng.below(2) == 0) {
                    flow.lose();
                    flow.resets = true;
                }
            }
        }
        self.links = links;
    }
}
