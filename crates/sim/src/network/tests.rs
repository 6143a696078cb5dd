//! The network under machines that only chat: each end of a connection says a sequence that the other knows.

use super::Network;
use crate::durable_state::Loss;
use crate::machine::{CoreEnv, Machine};
use crate::reactor::SimReactor;
use crate::setup::{NODE_PORT, Setup};
use base::{CoreId, Rng};
use io::{ConnectionId, DiskCompletion, Handler, ListenerId, Reactor, Turn};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;

const CORES: u16 = 2;
const TALK_US: u64 = 5_000;
const AGAIN_US: u64 = 100_000;

/// One end of a connection.
#[derive(Default)]
struct Talk {
    /// Which node was requested; none, at the end that accepted.
    kernel_requests: Option<usize>,
    made: bool,
    said: u64,
    heard: u64,
}

/// What all cores have gone through.
#[derive(Debug, Default)]
struct Notes {
    made: u64,
    accepted: u64,
    wrong_core: u64,
    closed: u64,
    never_made: u64,
    heard: BTreeMap<usize, u64>,
}

struct Chat {
    node: usize,
    others: Vec<usize>,
    talks: BTreeMap<ConnectionId, Talk>,
    due: BTreeMap<usize, u64>,
    notes: Rc<RefCell<Notes>>,
    started: bool,
}

fn byte(asker: bool, offset: u64) -> u8 {
    (offset * 31 + offset / 251 + u64::from(asker) * 101) as u8
}

impl Handler<SimReactor> for Chat {
    fn accepted(&mut self, reactor: &mut SimReactor, connection: ConnectionId, listener: ListenerId, peer: SocketAddr) {
        assert_eq!(listener, ListenerId(3));
        assert_eq!(peer.port() % CORES, reactor.core().0);
        self.notes.borrow_mut().accepted += 1;
        self.notes.borrow_mut().wrong_core += u64::from(reactor.core() != CoreId(1));
        self.talks.insert(connection, Talk { made: true, ..Talk::default() });
    }

    fn connected(&mut self, _: &mut SimReactor, connection: ConnectionId) {
        self.notes.borrow_mut().made += 1;
        let talk = self.talks.get_mut(&connection).unwrap();
        assert!(!std::mem::replace(&mut talk.made, true));
    }

    fn received(&mut self, _: &mut SimReactor, connection: ConnectionId, bytes: &[u8]) {
        let talk = self.talks.get_mut(&connection).unwrap();
        assert!(talk.made);
        for said in bytes {
            assert_eq!(*said, byte(talk.kernel_requests.is_none(), talk.heard), "byte {} of a stream", talk.heard);
            talk.heard += 1;
        }
        *self.notes.borrow_mut().heard.entry(self.node).or_default() += bytes.len() as u64;
    }

    fn drained(&mut self, _: &mut SimReactor, _: ConnectionId) {}

    fn closed(&mut self, reactor: &mut SimReactor, connection: ConnectionId) {
        let talk = self.talks.remove(&connection).unwrap();
        self.notes.borrow_mut().closed += 1;
        self.notes.borrow_mut().never_made += u64::from(!talk.made);
        if let Some(other) = talk.kernel_requests {
            self.due.insert(other, reactor.now().monotonic_us + AGAIN_US);
        }
    }

    fn completed(&mut self, _: &mut SimReactor, _: DiskCompletion) {}

    fn message(&mut self, _: &mut SimReactor, _: CoreId, _: node::Message) {}

    fn stopping(&mut self, reactor: &mut SimReactor) {
        reactor.stop();
    }

    fn turn(&mut self, reactor: &mut SimReactor) -> Turn {
        if !std::mem::replace(&mut self.started, true) {
            reactor.start_accepting();
            self.due = self.others.iter().map(|other| (*other, 0)).collect();
        }
        let now_us = reactor.now().monotonic_us;
        for other in self.others.clone() {
            if self.due.get(&other).is_some_and(|due_us| *due_us <= now_us) {
                self.due.remove(&other);
                let to = SocketAddr::new(Network::<Self>::address(other), NODE_PORT);
                let connection = reactor.connect(to, Some((CoreId(1), CORES)));
                self.talks.insert(connection, Talk { kernel_requests: Some(other), ..Talk::default() });
            }
        }
        for (connection, talk) in &mut self.talks {
            let mut words = [0; 64];
            reactor.entropy(&mut words[..1]);
            let count = usize::from(words[0]) * 2;
            if reactor.unsent_bytes(*connection) > 10_000 {
                continue;
            }
            let Some(output) = reactor.output(*connection) else { continue };
            for _ in 0..count {
                output.push(byte(talk.kernel_requests.is_some(), talk.said));
                talk.said += 1;
            }
        }
        Turn::At(now_us + TALK_US)
    }
}

fn chat(seed: u64, nodes: usize) -> (Network<Chat>, Rc<RefCell<Notes>>) {
    let notes = Rc::new(RefCell::new(Notes::default()));
    let shared = Rc::clone(&notes);
    let mut network = Network::new(
        seed,
        Box::new(move |setup: &Setup, remains| {
            let node = setup.seed as usize;
            Machine::assemble(setup, remains, |_: CoreEnv<'_>| Chat {
                node,
                others: (0..nodes).filter(|other| *other != node).collect(),
                talks: BTreeMap::new(),
                due: BTreeMap::new(),
                notes: Rc::clone(&shared),
                started: false,
            })
        }),
    );
    for node in 0..nodes {
        network.add(&Setup { cores: CORES, ..Setup::small(node as u64) });
    }
    (network, notes)
}

/// After the faults are healed every machine hears from every other one.
fn all_is_well(network: &mut Network<Chat>, notes: &RefCell<Notes>) {
    network.heal_links();
    for node in 0..network.len() {
        network.resume(node);
        if network.machine(node).is_none() {
            network.start(node);
        }
    }
    network.sleep(12_000_000);
    notes.borrow_mut().heard.clear();
    let closed = notes.borrow().closed;
    network.sleep(1_000_000);
    let notes = notes.borrow();
    assert!((0..network.len()).all(|node| notes.heard.get(&node).is_some_and(|bytes| *bytes > 1_000)), "{notes:?}");
    // A kernel that does not know that the other end is gone may still time out.
    assert!(notes.closed - closed < 10, "{notes:?}");
}

#[test]
fn streams_arrive_in_order_through_everything() {
    for seed in 1..=6 {
        let (mut network, notes) = chat(seed, 3);
        let mut rng = Rng::new(seed);
        for _ in 0..12 {
            let (one, other) = (rng.below(3) as usize, rng.below(3) as usize);
            match rng.below(8) {
                0 => network.cut(one, other),
                1 => {
                    network.cut(one, other);
                    network.cut(other, one);
                }
                2 => network.slow(one, other, rng.below(300_000)),
                3 => network.pause(one),
                4 => network.resume(one),
                5 => {
                    let loss = [Loss::Process, Loss::Power][rng.below(2) as usize];
                    network.kill(one, loss);
                }
                6 if network.machine(one).is_none() => network.start(one),
                _ => network.heal_link(one, other),
            }
            network.sleep(rng.below(2_000_000));
        }
        all_is_well(&mut network, &notes);
        let notes = notes.borrow();
        assert!(notes.wrong_core * 5 < notes.accepted, "{notes:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_of_a_network() {
    let run = |seed| {
        let (mut network, _) = chat(seed, 3);
        network.sleep(300_000);
        network.kill(1, Loss::Power);
        network.cut(0, 2);
        network.sleep(300_000);
        network.start(1);
        network.sleep(300_000);
        network.trace().clone()
    };
    for seed in 1..4 {
        assert_eq!(run(seed), run(seed));
        assert_ne!(run(seed), run(seed + 100));
    }
}

#[test]
fn a_cut_in_one_direction_keeps_back_that_direction_until_the_ends_give_up() {
    let (mut network, notes) = chat(7, 2);
    network.sleep(1_000_000);
    network.cut(0, 1);
    network.sleep(500_000);
    notes.borrow_mut().heard.clear();
    network.sleep(2_000_000);
    assert!(!notes.borrow().heard.contains_key(&1), "{notes:?}");
    assert!(notes.borrow().heard[&0] > 1_000, "{notes:?}");
    let closed = notes.borrow().closed;
    network.sleep(8_000_000);
    assert!(notes.borrow().closed > closed, "{notes:?}");
    all_is_well(&mut network, &notes);
}

#[test]
fn a_short_cut_breaks_no_connection_and_loses_no_byte() {
    let (mut network, notes) = chat(8, 2);
    network.sleep(1_000_000);
    let closed = notes.borrow().closed;
    network.cut(0, 1);
    network.cut(1, 0);
    network.sleep(3_000_000);
    network.heal_links();
    network.sleep(1_000_000);
    assert_eq!(notes.borrow().closed, closed);
    all_is_well(&mut network, &notes);
}

#[test]
fn a_paused_machine_keeps_its_connections_and_says_nothing() {
    let (mut network, notes) = chat(9, 2);
    network.sleep(1_000_000);
    network.pause(1);
    network.sleep(500_000);
    notes.borrow_mut().heard.clear();
    let closed = notes.borrow().closed;
    network.sleep(20_000_000);
    assert_eq!((notes.borrow().closed, notes.borrow().heard.len()), (closed, 0));
    network.resume(1);
    network.sleep(500_000);
    assert!(notes.borrow().heard.len() == 2, "{notes:?}");
}

#[test]
fn who_is_dead_refuses_and_who_has_no_power_does_not_answer() {
    for (loss, refusals) in [(Loss::Process, 20..400), (Loss::Power, 1..20)] {
        let (mut network, notes) = chat(10, 2);
        network.sleep(1_000_000);
        network.kill(1, loss);
        network.sleep(10_000_000);
        let never_made = notes.borrow().never_made;
        assert!(refusals.contains(&never_made), "{loss:?}: {notes:?}");
        all_is_well(&mut network, &notes);
    }
}
