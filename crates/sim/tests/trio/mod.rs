//! Three members, a keyspace `k` with two replicas, and a client that talks to one of them.

use crate::members;
use base::Rng;
use cql::wire::{Consistency, ProtocolVersion};
use sim::{Bound, Client, Network, Reply, Statement};

pub(crate) struct Trio {
    pub(crate) network: Network,
    pub(crate) rng: Rng,
    pub(crate) client: Client,
    pub(crate) node: usize,
}

impl Trio {
    /// With the tables that these statements make.
    pub(crate) fn start(seed: u64, tables: &[&str]) -> Self {
        let mut network = members::start(3, 2);
        let client = Client::begin(network.machine(0).unwrap(), 0, ProtocolVersion::V4, None);
        let mut trio = Self { network, rng: Rng::new(seed), client, node: 0 };
        trio.ask(&Statement::new("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}")).done();
        for table in tables {
            trio.ask(&Statement::new(*table)).done();
        }
        trio.whole();
        trio
    }

    pub(crate) fn ask(&mut self, statement: &Statement) -> Reply {
        members::ask(&mut self.network, self.node, &mut self.client, statement).unwrap()
    }

    pub(crate) fn rows(&mut self, text: &str) -> Vec<Vec<Bound>> {
        self.ask(&Statement::new(text).with(Consistency::One)).rows()
    }

    /// Every slot has both of its replicas.
    pub(crate) fn whole(&mut self) {
        members::wait(&mut self.network, "every slot has its replicas", |network| {
            (0..3).all(|node| network.machine(node).unwrap().takes_part() && members::is_replicated(network, node, "k", 2))
        });
    }

    pub(crate) fn talk_to(&mut self, node: usize) {
        self.node = node;
        self.client = Client::begin(self.network.machine(node).unwrap(), 0, ProtocolVersion::V4, None);
    }
}
