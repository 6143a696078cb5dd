//! TarnDB nodes of this very binary, with data of their own, started for the run and stopped after it: one by itself on 127.0.0.1, or a
//! cluster on 127.0.0.1, 127.0.0.2, and so on.

mod node;
mod ports;

use super::command::{LOOK_EVERY, unless_stopped};
use super::process::wait_until_quiet;
use super::spec::Protocol;
use super::system::{Health, Means, System, SystemError};
use crate::http;
use crate::study::{Disturbance, Which};
use base::format_size;
use node::{Node, Orders, Place};
use ports::{Ports, ip};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

const START_TIME_MAX: Duration = Duration::from_secs(120);
const STOP_TIME_MAX: Duration = Duration::from_secs(120);
/// Bytes of the log for each byte of data: half of it is free to write on.
const CAPACITY_BY_DATA: u64 = 2;
const CAPACITY_MIN: u64 = 1 << 30;
const CAPACITY_GRAIN: u64 = 64 << 20;
/// Memory that a node needs at least.
const MEMORY_MIN: u64 = 64 << 20;

/// One node or a cluster.
pub(super) struct PrivateNodes {
    name: String,
    /// What clients speak to them.
    protocol: Protocol,
    means: Means,
    ports: Ports,
    /// How many there are at first: what each is given depends on it, and stays when one is added.
    planned: usize,
    /// In the order in which they were first started.
    nodes: Vec<Node>,
    /// Those that were killed or stopped, the last one at the end.
    away: Vec<usize>,
}

/// `GET /status` of a node.
#[derive(Deserialize)]
struct Status {
    healthy: bool,
    #[serde(flatten)]
    report: ::node::Report,
}

impl PrivateNodes {
    pub(super) fn new(name: &str, protocol: Protocol, count: u32, means: Means) -> Result<Self, SystemError> {
        let ports = Ports::of(&means.directory, count)?;
        let planned = count as usize;
        let mut made = Self { name: name.to_owned(), protocol, means, ports, planned, nodes: Vec::new(), away: Vec::new() };
        // A run that goes on may have grown.
        let count = planned.max(if made.ports.is_cluster() { made.directories() } else { 0 });
        (0..count).for_each(|_| made.add());
        Ok(made)
    }

    fn directory(&self, index: usize) -> PathBuf {
        self.means.directory.join(format!("node-{}", index + 1))
    }

    /// Nodes that have been started before.
    fn directories(&self) -> usize {
        (0..).take_while(|index| self.directory(*index).is_dir()).count()
    }

    fn add(&mut self) {
        let index = self.nodes.len();
        let place = Place { ip: ip(index), client_port: self.ports.client, node_port: self.ports.node };
        self.nodes.push(Node::new(place, self.directory(index)));
    }

    /// Bytes of the log of each node.
    fn capacity(&self) -> u64 {
        let nodes = self.planned as u64;
        let replicas = u64::from(self.means.replication).clamp(1, nodes);
        let data = self.means.data_bytes.saturating_mul(replicas) / nodes;
        data.saturating_mul(CAPACITY_BY_DATA).max(CAPACITY_MIN).next_multiple_of(CAPACITY_GRAIN)
    }

    /// The memory limit of each node: without one a node by itself has its own default, which several could not have on one machine.
    fn memory_bytes(&self) -> Option<u64> {
        let of_cluster = || {
            let each = io_linux::memory_bytes() / 2 / (self.planned as u64 + 1);
            self.ports.is_cluster().then(|| (each >> 20 << 20).max(MEMORY_MIN))
        };
        self.means.memory_bytes.or_else(of_cluster)
    }

    /// Cores of each node: the CPUs are shared out, and one each is the least.
    fn cores(&self) -> usize {
        (self.means.cpus.len() / self.planned).max(1)
    }

    /// CPUs of a node: its own, if there are enough.
    fn cpus(&self, index: usize) -> Vec<usize> {
        let cores = self.cores();
        let own = self.means.cpus.get(index * cores..(index + 1) * cores);
        own.map_or_else(|| self.means.cpus.clone(), <[usize]>::to_vec)
    }

    /// Whether nodes have to share CPUs.
    fn shares_cpus(&self) -> bool {
        self.planned > self.means.cpus.len()
    }

    /// What `tarndb start` is told, besides where its data is and on which ports.
    fn flags(&self) -> Vec<(String, String)> {
        let size = |bytes: u64| format_size(bytes).replace(' ', "");
        let mut flags = vec![("--capacity".to_owned(), size(self.capacity())), ("--cores".to_owned(), self.cores().to_string())];
        if let Some(bytes) = self.memory_bytes() {
            flags.push(("--memory-limit".to_owned(), size(bytes)));
        }
        if self.ports.is_cluster() && self.protocol == Protocol::Aerospike {
            // Its clients cannot say it.
            let replicas = self.means.replication.clamp(1, self.planned as u32);
            flags.push(("--aerospike-replication-factor".to_owned(), replicas.to_string()));
        }
        if self.shares_cpus() && self.ports.is_cluster() {
            flags.push(("--pin".to_owned(), "off".to_owned()));
        }
        flags
    }

    fn spawn(&mut self, index: usize) -> Result<(), SystemError> {
        let flags = self.flags();
        let cpus = self.cpus(index);
        let founder = self.ports.node.filter(|_| index > 0).map(|port| format!("{}:{port}", ip(0)));
        let orders = Orders { protocol: self.protocol, flags: &flags, join: founder, cpus: &cpus };
        self.nodes[index].spawn(&orders)
    }

    fn unable(&self, what: &str, why: impl Into<String>) -> SystemError {
        SystemError::Unable { name: self.name.clone(), what: what.to_owned(), why: why.into() }
    }

    /// What the nodes that are ready say.
    fn statuses(&self) -> Vec<Option<Status>> {
        let ask = |http: &str| http::get(http, "/status", "application/json").ok().filter(http::Answer::is_ok);
        let ready = self.nodes.iter().filter_map(Node::ready);
        ready.map(|ready| ask(&ready.http).and_then(|answer| serde_json::from_str(&answer.body).ok())).collect()
    }

    /// Waits until the cluster says that nothing is missing, and how many seconds that took.
    fn wait_until_whole(&mut self, time: Duration) -> Result<f64, SystemError> {
        let started = Instant::now();
        while self.ports.is_cluster() && !self.health().is_some_and(|health| health.whole) {
            unless_stopped(&self.means.stop)?;
            self.look()?;
            if started.elapsed() > time {
                return Err(self.unable("become whole", format!("its nodes still miss something after {} s", time.as_secs())));
            }
            sleep(LOOK_EVERY);
        }
        Ok(started.elapsed().as_secs_f64())
    }

    /// The node that is killed or stopped.
    fn chosen(&self, which: Which) -> Result<usize, SystemError> {
        let mut running = (0..self.nodes.len()).rev().filter(|index| self.nodes[*index].is_running());
        let chosen = match which {
            Which::Last => running.next(),
            Which::Leader if !self.ports.is_cluster() => running.next(),
            Which::Leader => {
                let statuses = self.statuses();
                let clusters = || statuses.iter().flatten().filter_map(|status| status.report.cluster.as_ref());
                let leader = clusters().find_map(|cluster| cluster.members.iter().find(|member| Some(member.id) == cluster.leader));
                leader.and_then(|leader| running.find(|index| self.nodes[*index].place.client() == leader.cql_address))
            }
        };
        chosen.ok_or_else(|| self.unable("lose a node", format!("there is none to choose as `{}`", which.name())))
    }
}

impl System for PrivateNodes {
    fn start(&mut self) -> Result<(), SystemError> {
        let until = Instant::now() + START_TIME_MAX;
        // All at once: after a restart a majority is needed before anyone serves.
        for index in 0..self.nodes.len() {
            self.spawn(index)?;
        }
        for node in &mut self.nodes {
            node.wait_ready(self.protocol, until, &self.means.stop)?;
        }
        self.away.clear();
        self.wait_until_whole(START_TIME_MAX)?;
        Ok(())
    }

    fn address(&self) -> String {
        let known: Vec<String> = self.nodes.iter().map(|node| node.place.client()).collect();
        known.join(",")
    }

    fn pids(&self) -> Vec<u32> {
        self.nodes.iter().filter_map(Node::pid).collect()
    }

    fn caveat(&self) -> Option<String> {
        let cpus = if self.means.cpus.is_empty() { io_linux::available_cpus().len() } else { self.means.cpus.len() };
        let nodes = self.nodes.len();
        if nodes == 1 {
            return None;
        }
        if nodes <= cpus {
            return Some("the nodes share the memory, the device and the loopback of one machine.".to_owned());
        }
        let cpus = if cpus == 1 { "one CPU".to_owned() } else { format!("{cpus} CPUs") };
        Some(format!(
            "the nodes share {cpus}, the memory, the device and the loopback of one machine: more of them make nothing faster here, \
             and what one does takes time from the others."
        ))
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = self.flags().into_iter().collect();
        settings.insert("cpus".to_owned(), format!("{:?}", self.means.cpus));
        settings.insert(
            "durability".to_owned(),
            "memory: acknowledged writes survive kill -9 at once, loss of power after the flush interval".to_owned(),
        );
        settings.insert("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        settings
    }

    fn settle(&mut self, timeout_s: f64) -> Result<Option<f64>, SystemError> {
        let whole = self.wait_until_whole(Duration::from_secs_f64(timeout_s))?;
        let quiet = wait_until_quiet(&self.pids(), timeout_s - whole, &self.means.stop)?;
        let quiet = quiet.ok_or_else(|| self.unable("settle", format!("it still writes after {timeout_s} s")))?;
        Ok(Some(if whole > LOOK_EVERY.as_secs_f64() { whole + quiet } else { quiet }))
    }

    fn drop_caches(&mut self) -> Result<(), SystemError> {
        self.stop();
        self.start()
    }

    fn disturb(&mut self, disturbance: Disturbance, which: Which) -> Result<(), SystemError> {
        match disturbance {
            Disturbance::KillNode | Disturbance::StopNode => {
                let chosen = self.chosen(which)?;
                if disturbance == Disturbance::KillNode {
                    self.nodes[chosen].kill();
                } else {
                    self.nodes[chosen].ask_to_end();
                    self.nodes[chosen].wait_end(Instant::now() + STOP_TIME_MAX);
                }
                self.away.push(chosen);
                Ok(())
            }
            Disturbance::StartNode => {
                let chosen = self.away.pop().ok_or_else(|| self.unable("start a node", "none was killed or stopped before"))?;
                self.spawn(chosen)
            }
            Disturbance::AddNode if self.ports.is_cluster() => {
                if self.nodes.len() >= usize::from(u8::MAX) {
                    return Err(self.unable("add a node", "there are as many as it can have"));
                }
                self.add();
                self.spawn(self.nodes.len() - 1)
            }
            Disturbance::AddNode => Err(self.unable(
                "add a node",
                "it is a single node; `nodes = 3` in the study or tarndb?nodes=3 makes it a cluster, \
                 or give one as --target and the command that adds a node to it with --on add-node='…'",
            )),
        }
    }

    fn look(&mut self) -> Result<(), SystemError> {
        self.nodes.iter_mut().try_for_each(|node| node.look(self.protocol))
    }

    fn health(&self) -> Option<Health> {
        let running = self.nodes.iter().filter(|node| node.is_running()).count();
        let statuses = self.statuses();
        let ready = statuses.len() == running;
        if !self.ports.is_cluster() {
            return Some(Health { ready, whole: ready, ..Health::default() });
        }
        let reports = || statuses.iter().flatten().map(|status| &status.report);
        let clusters = || reports().filter_map(|report| report.cluster.as_ref());
        let down = clusters().map(|cluster| cluster.members.iter().filter(|member| member.state == "down").count()).max();
        let unavailable = clusters().map(|cluster| u64::from(cluster.unavailable_slots)).max();
        let being_taken: u64 = reports().flat_map(|report| &report.cores).map(|core| u64::from(core.unserved)).sum();
        // As long as there is no keyspace nobody holds anything.
        let has_all = |status: &Status| {
            let members = status.report.cluster.iter().flat_map(|cluster| &cluster.members);
            let holding = members.clone().filter(|member| member.replicas > 0).count();
            status.healthy && members.count() == self.nodes.len() && (holding == 0 || holding == self.nodes.len())
        };
        Some(Health {
            ready,
            down: down.unwrap_or(0),
            unserved: unavailable.unwrap_or(0) + being_taken,
            whole: ready && running == self.nodes.len() && statuses.iter().all(|status| status.as_ref().is_some_and(has_all)),
        })
    }

    fn stop(&mut self) {
        self.nodes.iter_mut().for_each(Node::ask_to_end);
        let until = Instant::now() + STOP_TIME_MAX;
        self.nodes.iter_mut().for_each(|node| node.wait_end(until));
    }
}

impl Drop for PrivateNodes {
    fn drop(&mut self) {
        self.stop();
    }
}
