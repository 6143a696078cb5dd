//! Members of a metadata group on one thread: a network that delays, loses and cuts, disks that are slow or fail, clocks that run at different rates,
//! processes that are killed or stopped. What must always hold is checked after every step.

mod checks;
mod messages;
mod proposals;

use super::test_parts::profile;
use super::timing::Waits;
use super::{Blobs, Event, Metadata, ProposalId, Stored};
use crate::command::Outcome;
use crate::raft_log::LOG_BLOB;
use crate::state::{Assignment, Profile, State};
use crate::versions::Versions;
use base::{Epoch, NodeId, Now, Rng};
use model::Schema;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const STEP_US: u64 = 5_000;

/// See the module.
pub(super) struct Net {
    pub(super) rng: Rng,
    pub(super) now_us: u64,
    pub(super) machines: BTreeMap<u128, Machine>,
    flying: BTreeMap<(u64, u64), (u128, u128, Vec<u8>)>,
    count: u64,
    /// From and to of cut directions.
    pub(super) cuts: BTreeSet<(u128, u128)>,
    pub(super) loss_percent: u64,
    waits: Waits,
    hashes: BTreeMap<u64, (u32, u128)>,
    newest: Arc<State>,
    /// Schema versions that somebody proposed, with what they were made from; those that were acknowledged.
    proposed: BTreeMap<u128, u128>,
    pub(super) acknowledged: BTreeSet<u128>,
    pub(super) unknown: usize,
    /// A machine whose messages are damaged in ways that checksums do not see. Nothing is promised then, but that nobody stumbles.
    pub(super) liar: Option<u128>,
    /// Whether the library's own check is on: that a leader without a majority steps down, and that nobody votes against a leader that is heard.
    pub(super) checks_quorum: bool,
    /// What the programs of new machines know.
    pub(super) versions: Versions,
    /// Whether the cores of nodes hear of it when leases without end are over.
    pub(super) leases_end: bool,
    trace: u32,
}

/// A machine: a disk, a clock, and a process that comes and goes.
pub(super) struct Machine {
    pub(super) metadata: Option<Metadata>,
    /// What the program knows that runs on it, from its next start on.
    pub(super) versions: Versions,
    blobs: Blobs,
    has_joined: bool,
    rate_ppm: i64,
    offset_us: u64,
    incarnation: u64,
    due_us: u64,
    stopped_until_us: u64,
    inbox: Vec<(u128, Vec<u8>)>,
    writing: Vec<(u64, String, Vec<u8>)>,
    pub(super) disk_us: u64,
    /// What becomes of what is stored.
    pub(super) disk: Stored,
    schemas: BTreeMap<ProposalId, u128>,
    joins: BTreeMap<ProposalId, u128>,
    /// Term of each watched slot that this process is primary of, and from when it serves it.
    serves: BTreeMap<(String, u16), (Epoch, u64)>,
    sync_at_us: u64,
}

impl Machine {
    fn local_us(&self, true_us: u64) -> u64 {
        self.offset_us + (true_us as i64 + true_us as i64 * self.rate_ppm / 1_000_000) as u64
    }

    fn now(&self, true_us: u64) -> Now {
        Now { monotonic_us: self.local_us(true_us), wall_us: 0 }
    }

    fn may_serve(&self, true_us: u64) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| self.local_us(true_us) < metadata.lease_until_us())
    }
}

impl Net {
    /// One founder, on machine 1.
    pub(super) fn new(seed: u64, waits: Waits) -> Self {
        Self::of_versions(seed, waits, Versions::KNOWN)
    }

    /// The same with programs that know `versions`.
    pub(super) fn of_versions(seed: u64, waits: Waits, versions: Versions) -> Self {
        let mut net = Self {
            rng: Rng::new(seed),
            now_us: 0,
            machines: BTreeMap::new(),
            flying: BTreeMap::new(),
            count: 0,
            cuts: BTreeSet::new(),
            loss_percent: 0,
            waits,
            hashes: BTreeMap::new(),
            newest: Arc::new(State::empty()),
            proposed: BTreeMap::new(),
            acknowledged: BTreeSet::new(),
            unknown: 0,
            liar: None,
            checks_quorum: true,
            versions,
            leases_end: true,
            trace: 0,
        };
        net.add(1);
        net
    }

    /// A machine that joins; the first one founds.
    pub(super) fn add(&mut self, host: u128) {
        let machine = Machine {
            metadata: None,
            versions: self.versions,
            blobs: Blobs::default(),
            has_joined: false,
            rate_ppm: self.rng.below(40_001) as i64 - 20_000,
            offset_us: self.rng.below(1 << 30),
            incarnation: 0,
            due_us: 0,
            stopped_until_us: 0,
            inbox: Vec::new(),
            writing: Vec::new(),
            disk_us: 500,
            disk: Stored::Yes,
            schemas: BTreeMap::new(),
            joins: BTreeMap::new(),
            serves: BTreeMap::new(),
            sync_at_us: 0,
        };
        self.machines.insert(host, machine);
        self.start(host);
    }

    /// Starts the machine's process, if it does not run.
    pub(super) fn start(&mut self, host: u128) {
        let (seed, incarnation) = (self.rng.next_u64(), self.rng.next_u64() | 1);
        let waits = self.waits;
        let now_us = self.now_us;
        let machine = self.machines.get_mut(&host).expect("a machine");
        if machine.metadata.is_some() {
            return;
        }
        let profile = Profile { protocol_versions: machine.versions, ..profile(host, incarnation) };
        let now = machine.now(now_us);
        let mut metadata = if machine.blobs.log.is_empty() {
            match host {
                1 => Metadata::found("net", profile, Schema::empty(), now, seed),
                _ => Metadata::join("net", profile, None, now, seed),
            }
        } else {
            Metadata::restore(&machine.blobs, "net", profile, now, seed).expect("blobs are replaced as a whole")
        };
        metadata.waits = waits;
        machine.metadata = Some(metadata);
        (machine.incarnation, machine.due_us, machine.disk) = (incarnation, now_us, Stored::Yes);
        machine.serves.clear();
    }

    /// Ends the machine's process. What was being written is there or not.
    pub(super) fn kill(&mut self, host: u128) {
        let keeps = self.rng.below(2) == 0;
        let machine = self.machines.get_mut(&host).expect("a machine");
        machine.metadata = None;
        machine.inbox.clear();
        for (_, name, bytes) in machine.writing.drain(..) {
            if keeps {
                store(&mut machine.blobs, &name, bytes);
            }
        }
        machine.schemas.clear();
        machine.joins.clear();
    }

    /// The machine's process does nothing for a while; what is sent to it waits.
    pub(super) fn stop(&mut self, host: u128, for_us: u64) {
        let until_us = self.now_us + for_us;
        self.machines.get_mut(&host).expect("a machine").stopped_until_us = until_us;
    }

    pub(super) fn run_ms(&mut self, ms: u64) {
        let end_us = self.now_us + ms * 1000;
        while self.now_us < end_us {
            self.now_us += self.rng.below(STEP_US) + 1;
            self.deliver();
            let hosts: Vec<u128> = self.machines.keys().copied().collect();
            for host in hosts {
                self.step(host);
            }
            if self.liar.is_none() {
                self.check();
            }
        }
    }

    fn step(&mut self, host: u128) {
        let now_us = self.now_us;
        let machine = self.machines.get_mut(&host).expect("a machine");
        if now_us < machine.stopped_until_us {
            return;
        }
        let now = machine.now(now_us);
        let Some(metadata) = &mut machine.metadata else { return };
        if let Some(group) = &mut metadata.group {
            group.raw.raft.check_quorum = self.checks_quorum;
        }
        for (from, bytes) in std::mem::take(&mut machine.inbox) {
            if let Some(node) = member_of(&self.newest, from) {
                metadata.receive(now, node, &bytes);
            }
        }
        let (done, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut machine.writing).into_iter().partition(|(due_us, ..)| *due_us <= now_us);
        machine.writing = waiting;
        for (_, name, bytes) in done {
            if machine.disk == Stored::Yes {
                store(&mut machine.blobs, &name, bytes);
            }
            metadata.written(now, &name, machine.disk);
        }
        // A timer that is due, or now and then one that is not.
        if machine.local_due(now_us) || self.rng.below(20) == 0 {
            let metadata = machine.metadata.as_mut().expect("it runs");
            let due = metadata.turn(now);
            machine.due_us = due.unwrap_or(u64::MAX);
        }
        self.flush(host);
        self.ask_to_join(host);
        self.fill(host);
    }

    fn observe(&mut self, host: u128, event: Event) {
        match event {
            Event::Applied { state } => self.applied(host, state),
            Event::StorageFailed { .. } | Event::StorageFull { .. } => {
                let metadata = self.machines[&host].metadata.as_ref().expect("it runs");
                assert!(metadata.lease_until_us() == 0 || metadata.is_alone());
            }
            Event::StorageWorks => {}
            Event::NotFollowed { why, .. } => assert!(self.liar.is_some(), "host {host}: {why}"),
            Event::Outdated { agreed } => assert!(self.liar.is_some(), "host {host} does not know version {agreed}"),
            Event::Done { proposal, outcome } => {
                let machine = self.machines.get_mut(&host).expect("a machine");
                self.unknown += usize::from(outcome == Outcome::Unknown);
                if let Some(version) = machine.schemas.remove(&proposal)
                    && outcome == Outcome::Done
                {
                    self.acknowledged.insert(version);
                }
                if let Some(joiner) = machine.joins.remove(&proposal)
                    && let Outcome::Joined(node) = outcome
                {
                    let reply = machine.metadata.as_ref().expect("it runs").join_reply(node);
                    let now_us = self.now_us;
                    let joiner = self.machines.get_mut(&joiner).expect("a machine");
                    let now = joiner.now(now_us);
                    if let Some(metadata) = &mut joiner.metadata {
                        metadata.joined(now, &reply);
                        joiner.has_joined = true;
                        joiner.due_us = now_us;
                    }
                }
            }
        }
    }

    /// From now on, if it was `before`. A disk that has failed stays so: the member is silent.
    pub(super) fn change_disk(&mut self, host: u128, before: Stored, after: Stored) {
        let machine = self.machines.get_mut(&host).expect("a machine");
        if machine.disk == before {
            machine.disk = after;
        }
    }

    /// Everybody is there and connected again.
    pub(super) fn heal(&mut self) {
        self.cuts.clear();
        self.loss_percent = 0;
        let hosts: Vec<u128> = self.machines.keys().copied().collect();
        for host in hosts {
            let machine = self.machines.get_mut(&host).expect("a machine");
            (machine.stopped_until_us, machine.disk_us) = (0, 500);
            let disk = std::mem::replace(&mut machine.disk, Stored::Yes);
            if disk == Stored::Failed {
                self.kill(host);
            }
            self.start(host);
        }
    }

    pub(super) fn newest(&self) -> &Arc<State> {
        &self.newest
    }

    /// The machines whose members vote.
    pub(super) fn voters(&self) -> Vec<u128> {
        let group =
            self.machines.values().filter_map(|machine| machine.metadata.as_ref()?.group.as_ref()).max_by_key(|group| group.committed());
        let ids: Vec<NodeId> = group.map(|group| group.voters().collect()).unwrap_or_default();
        ids.iter().filter_map(|id| self.newest.members.get(id)).map(|member| member.profile.host_id).collect()
    }

    /// What each machine makes of the situation.
    pub(super) fn describe(&self) -> String {
        let line = |(host, machine): (&u128, &Machine)| match &machine.metadata {
            None => format!("host {host}: no process\n"),
            Some(metadata) => format!(
                "host {host}: member {:?}, entry {}, leader {:?}, serves {}, {}\n",
                metadata.node(),
                metadata.state().version,
                metadata.leader(),
                machine.may_serve(self.now_us),
                metadata.describe(),
            ),
        };
        self.machines.iter().map(line).collect()
    }

    pub(super) fn trace(&self) -> u32 {
        self.trace
    }
}

impl Machine {
    fn local_due(&self, true_us: u64) -> bool {
        self.local_us(true_us) >= self.due_us
    }
}

fn store(blobs: &mut Blobs, name: &str, bytes: Vec<u8>) {
    match name {
        LOG_BLOB => blobs.log = bytes,
        _ => blobs.snapshot = Some(bytes),
    }
}

fn member_of(state: &State, host: u128) -> Option<NodeId> {
    state.members.values().find(|member| member.profile.host_id == host).map(|member| member.id)
}

/// A primary that has restarted waits until it has let the others go.
fn acts_as_primary(assignment: &Assignment, node: NodeId) -> bool {
    assignment.primary == node && !assignment.restarted.contains(&node)
}
