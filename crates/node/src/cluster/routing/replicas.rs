//! Which core can run a request, and whether enough replicas are there for its consistency level.

use crate::cluster::core::ClusterCore;
use crate::cluster::membership::roles::Role;
use crate::cluster::routing::requests::{Place, Route, Way};
use base::{CoreId, NodeId, TableId, Token};
use cql::CqlError;
use cql::wire::Consistency;
use shard::ShardError;

impl ClusterCore {
    /// How many replicas a level needs of a table's slots.
    pub(crate) fn required(&self, table: TableId, consistency: Consistency) -> u16 {
        let keyspace = self.view.keyspace_of(table);
        let factor = keyspace.and_then(|keyspace| self.view.slots_of(keyspace)).map_or(1, |slots| slots.factor);
        consistency.required(factor.into())
    }

    /// How many replicas a level needs of a slot, and how many are alive and have everything.
    pub(crate) fn counts(&self, place: &Place, consistency: Consistency) -> Option<(u16, u16)> {
        let keyspace = self.view.keyspace_of(place.table)?;
        let slots = self.view.slots_of(keyspace)?;
        let required = consistency.required(u16::from(slots.factor));
        // Nearly always; and where replicas are is a look into memory that no cache has.
        if let Some(standing) = self.roles.standing(keyspace, place.token.slot()).filter(|_| self.view.are_all_up) {
            return Some((required, standing.in_sync.into()));
        }
        let is_up = |node: &&NodeId| **node == self.view.me || self.view.is_peer_up(**node);
        let alive = slots.at(place.token.slot()).in_sync.iter().filter(is_up).count();
        Some((required, alive as u16))
    }

    /// Refuses what needs more replicas than there are.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(crate) fn check_replicas(&self, table: TableId, token: Token, consistency: Consistency) -> Result<(), CqlError> {
        match self.counts(&Place { table, token, description: None }, consistency) {
            Some((required, alive)) if alive < required => Err(CqlError::Unavailable { consistency, required, alive }),
            _ => Ok(()),
        }
    }

    /// As [`ClusterCore::check_replicas`], for a part of a request.
    pub(crate) fn too_few_replicas(&self, place: &Place, consistency: Consistency) -> Option<ShardError> {
        if consistency.reads_any() {
            return None;
        }
        let (required, alive) = self.counts(place, consistency)?;
        (alive < required).then_some(ShardError::Unavailable { consistency: consistency.code(), required, alive })
    }

    /// Who can run what is about this slot.
    pub(crate) fn way(&self, place: &Place, route: &Route, own_core: CoreId, cores: u16) -> Way {
        let slot = place.token.slot();
        let Some(keyspace) = self.view.keyspace_of(place.table) else { return Way::Nobody };
        if let Some((required, alive)) = self.counts(place, route.consistency)
            && alive < required
        {
            return Way::TooFew { required, alive };
        }
        if self.roles.standing(keyspace, slot).is_some_and(|standing| standing.role == Role::Primary) {
            return Way::Here;
        }
        let Some(assignment) = self.view.assignment(keyspace, slot) else { return Way::Nobody };
        // A part is one of many: they are all read where they are newest.
        let reads_any = !route.is_write && place.description.is_none() && route.reads_any;
        let me = &self.view.me;
        let has_all = || assignment.in_sync.contains(me) && !assignment.restarted.contains(me);
        if assignment.primary == *me || (reads_any && has_all()) {
            let core = slot.core(cores);
            return if core == own_core { Way::Here } else { Way::Core(core) };
        }
        match self.view.core_of(assignment.primary, slot) {
            Some(core) => Way::Member((assignment.primary, core)),
            _ => Way::Nobody,
        }
    }

    /// Whether this core has what a read may be answered from that is content with any replica.
    pub(crate) fn may_read_here(&self, table: TableId, token: Token) -> bool {
        let local = self.view.keyspace_of(table).and_then(|keyspace| self.roles.get(keyspace, token.slot()));
        local.is_some_and(|local| local.role == Role::Secondary)
    }
}
