//! Commands about the schema: each keyspace has a slot map, with as many replicas as it asks for.

use crate::command::{Outcome, Refused};
use crate::nodes::{Learners, NodeSet};
use crate::state::due::Due;
use crate::state::member::MemberState;
use crate::state::slots::{Assignment, FACTOR_MAX, SlotMap};
use crate::state::{KEYSPACES_MAX, State};
use base::{NodeId, SLOT_COUNT, Slot};
use model::{Keyspace, Schema, schema_blob};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The version in which the schema has roles.
const ROLES_SINCE: u16 = 7;
/// The version in which tables have indexes, or compact storage.
const INDEXES_SINCE: u16 = 8;
/// The version in which roles have permissions.
const PERMISSIONS_SINCE: u16 = 9;

/// The version in which tables have materialized views.
const VIEWS_SINCE: u16 = 10;
/// The version in which keyspaces have functions.
const FUNCTIONS_SINCE: u16 = 11;
/// The version in which roles have identities.
const IDENTITIES_SINCE: u16 = 12;
/// The version in which roles have what clients of Aerospike and GridDB log in by.
const DIGEST_LOGINS_SINCE: u16 = 14;
/// The version in which columns have masks.
const MASKS_SINCE: u16 = 15;
/// The version in which tables have CDC logs.
const CDC_SINCE: u16 = 15;
/// The version in which roles have limits.
const ROLE_LIMITS_SINCE: u16 = 16;
/// The version in which record sets have indexes: who does not know values within cells would make entries of whole cells.
const RECORD_SET_INDEXES_SINCE: u16 = 18;
/// The version in which containers have SPATIAL indexes: who does not know them would make entries of texts.
const SPATIAL_INDEXES_SINCE: u16 = 19;
/// The version in which containers may be partitioned tables: who does not know them would write rows where nobody reads them.
const PARTITIONED_CONTAINERS_SINCE: u16 = 20;
/// The version in which functions may be modules of WebAssembly: who does not know them would run them as Lua.
const WASM_SINCE: u16 = 19;
/// The version in which records are locked by transactions: who does not know them would write over locks.
const RECORD_TRANSACTIONS_SINCE: u16 = 20;
/// The version in which bins may be texts of GeoJSON, with indexes of places and regions: who does not know them would give clients texts without a head, and make
/// entries of texts.
const GEOSPATIAL_SINCE: u16 = 21;
/// The version in which vectors may have more dimensions than two bytes count.
const LONG_VECTORS_SINCE: u16 = 23;
/// The version in which SASI indexes may take texts apart: who does not know that would make entries of whole texts.
const ANALYZERS_SINCE: u16 = 24;

impl State {
    /// Whether every member knows what roles are.
    #[must_use]
    pub fn knows_roles(&self) -> bool {
        self.protocol_version() >= ROLES_SINCE
    }

    /// Whether every member knows what indexes and compact storage are.
    #[must_use]
    pub fn knows_indexes(&self) -> bool {
        self.protocol_version() >= INDEXES_SINCE
    }

    /// Whether every member knows what permissions are.
    #[must_use]
    pub fn knows_permissions(&self) -> bool {
        self.protocol_version() >= PERMISSIONS_SINCE
    }

    /// Whether every member knows what materialized views are.
    #[must_use]
    pub fn knows_views(&self) -> bool {
        self.protocol_version() >= VIEWS_SINCE
    }

    /// Whether every member knows what users' functions are.
    #[must_use]
    pub fn knows_functions(&self) -> bool {
        self.protocol_version() >= FUNCTIONS_SINCE
    }

    /// Whether every member knows what identities of roles are.
    #[must_use]
    pub fn knows_identities(&self) -> bool {
        self.protocol_version() >= IDENTITIES_SINCE
    }

    /// Whether every member knows what clients of Aerospike and GridDB log in by.
    #[must_use]
    pub fn knows_digest_logins(&self) -> bool {
        self.protocol_version() >= DIGEST_LOGINS_SINCE
    }

    /// Whether every member knows what masks of columns are.
    #[must_use]
    pub fn knows_masks(&self) -> bool {
        self.protocol_version() >= MASKS_SINCE
    }

    /// Whether every member writes CDC logs.
    #[must_use]
    pub fn knows_cdc(&self) -> bool {
        self.protocol_version() >= CDC_SINCE
    }

    /// Whether every member knows what limits of roles are.
    #[must_use]
    pub fn knows_role_limits(&self) -> bool {
        self.protocol_version() >= ROLE_LIMITS_SINCE
    }

    /// Whether every member knows what indexes of record sets are.
    #[must_use]
    pub fn knows_record_set_indexes(&self) -> bool {
        self.protocol_version() >= RECORD_SET_INDEXES_SINCE
    }

    /// Whether every member knows what SPATIAL indexes of containers are.
    #[must_use]
    pub fn knows_spatial_indexes(&self) -> bool {
        self.protocol_version() >= SPATIAL_INDEXES_SINCE
    }

    /// Whether every member knows what partitioned tables are.
    #[must_use]
    pub fn knows_partitioned_containers(&self) -> bool {
        self.protocol_version() >= PARTITIONED_CONTAINERS_SINCE
    }

    /// Whether every member can run functions in WebAssembly.
    #[must_use]
    pub fn knows_wasm(&self) -> bool {
        self.protocol_version() >= WASM_SINCE
    }

    /// Whether every member knows transactions over several records.
    #[must_use]
    pub fn knows_record_transactions(&self) -> bool {
        self.protocol_version() >= RECORD_TRANSACTIONS_SINCE
    }

    /// Whether every member knows GeoJSON as texts, and indexes of places and regions.
    #[must_use]
    pub fn knows_geospatial(&self) -> bool {
        self.protocol_version() >= GEOSPATIAL_SINCE
    }

    /// Whether every member knows vectors of more than 65,535 dimensions.
    #[must_use]
    pub fn knows_long_vectors(&self) -> bool {
        self.protocol_version() >= LONG_VECTORS_SINCE
    }

    /// Whether every member knows indexes that take texts apart.
    #[must_use]
    pub fn knows_analyzers(&self) -> bool {
        self.protocol_version() >= ANALYZERS_SINCE
    }

    /// Whether every member knows all that a schema has.
    fn knows_all_of(&self, schema: &Schema) -> bool {
        (schema.roles.is_empty() || self.knows_roles())
            && (!schema.has_indexes_or_compact_tables() || self.knows_indexes())
            && (!schema.has_permissions() || self.knows_permissions())
            && (!schema.has_views() || self.knows_views())
            && (!schema.has_functions() || self.knows_functions())
            && (!schema.has_identities() || self.knows_identities())
            && (!schema.has_digest_logins() || self.knows_digest_logins())
            && (!schema.has_masks() || self.knows_masks())
            && (!schema.has_cdc_logs() || self.knows_cdc())
            && (!schema.has_role_limits() || self.knows_role_limits())
            && (!schema.has_record_set_indexes() || self.knows_record_set_indexes())
            && (!schema.has_spatial_indexes() || self.knows_spatial_indexes())
            && (!schema.has_partitioned_containers() || self.knows_partitioned_containers())
            && (schema.wasm_functions().next().is_none() || self.knows_wasm())
            && (!schema.has_record_transactions() || self.knows_record_transactions())
            && (!schema.has_geospatial_bins() || self.knows_geospatial())
            && (!schema.has_long_vectors() || self.knows_long_vectors())
            && (!schema.has_analyzers() || self.knows_analyzers())
    }

    pub(crate) fn change_schema(&mut self, expected: u128, document: &[u8]) -> Outcome {
        let found = self.schema.version;
        if found != expected {
            return Outcome::Refused(Refused::SchemaChanged { found });
        }
        let schema = match schema_blob::decode(document) {
            Ok(schema) if schema.version != found && self.knows_all_of(&schema) => schema,
            _ => return Outcome::Refused(Refused::BadSchema),
        };
        if !self.members.values().any(|member| member.state != MemberState::Removed) {
            return Outcome::Refused(Refused::BadSchema);
        }
        if schema.keyspaces.len() > KEYSPACES_MAX as usize {
            return Outcome::Refused(Refused::TooMany { what: "keyspaces", limit: KEYSPACES_MAX });
        }
        self.schema = Arc::new(schema);
        self.follow_schema();
        Outcome::Done
    }

    /// Makes the keyspaces' slot maps those of the schema.
    pub(crate) fn follow_schema(&mut self) {
        let schema = Arc::clone(&self.schema);
        self.keyspaces.retain(|name, _| schema.keyspaces.contains_key(name));
        self.follow_factors();
        self.follow_members();
        for (name, keyspace) in &schema.keyspaces {
            if !self.keyspaces.contains_key(name) {
                let map = self.new_map(self.factor(keyspace));
                self.keyspaces.insert(name.clone(), Arc::new(map));
            }
        }
    }

    /// Makes the keyspaces' factors those of the schema and the data centres there are.
    pub(crate) fn follow_factors(&mut self) {
        let mut keyspaces = std::mem::take(&mut self.keyspaces);
        for (name, map) in &mut keyspaces {
            let factor = self.schema.keyspaces.get(name).map_or(map.factor, |keyspace| self.factor(keyspace));
            if factor != map.factor {
                let map = Arc::make_mut(map);
                map.factor = factor;
                map.due = Due::of_all();
            }
        }
        self.keyspaces = keyspaces;
    }

    /// How many replicas `keyspace` asks for, in the data centres that there are; one at least.
    fn factor(&self, keyspace: &Keyspace) -> u8 {
        let parameters = &keyspace.replication.parameters;
        let number = |text: &String| text.split('/').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or(0);
        let sum: u32 = if keyspace.replication.class.ends_with("NetworkTopologyStrategy") {
            let members = self.members.values().filter(|member| member.state != MemberState::Removed);
            let centres: BTreeSet<&String> = members.map(|member| &member.profile.data_center).collect();
            centres.into_iter().filter_map(|centre| parameters.get(centre)).map(number).fold(0, u32::saturating_add)
        } else {
            parameters.get("replication_factor").map_or(1, number)
        };
        sum.clamp(1, u32::from(FACTOR_MAX)) as u8
    }

    /// Who would be the primary of a slot of a keyspace that is made now.
    #[must_use]
    pub fn primary_of_new(&self, slot: Slot, factor: u8) -> Option<NodeId> {
        let targets = self.placement.targets(usize::from(slot.0), factor.clamp(1, FACTOR_MAX));
        targets.iter().copied().find(|node| self.is_up(*node))
    }

    /// A map for a keyspace without rows: whoever is up has all there is.
    fn new_map(&self, factor: u8) -> SlotMap {
        let epoch = self.epoch();
        let anyone = self.members.values().filter(|member| member.state != MemberState::Removed).map(|member| member.id);
        let fallback = anyone.clone().find(|node| self.is_up(*node)).or_else(|| anyone.clone().next());
        let fallback = fallback.expect("a cluster has a member");
        let assign = |slot: usize| {
            let up = self.placement.targets(slot, factor).iter().copied().filter(|node| self.is_up(*node));
            let primary = up.clone().next().unwrap_or(fallback);
            let in_sync: NodeSet = up.chain([primary]).collect();
            let (restarted, learners) = (NodeSet::new(), Learners::default());
            Assignment { epoch, term: epoch, primary, transfer_from: None, in_sync, restarted, learners }
        };
        SlotMap::new(factor, &(0..SLOT_COUNT as usize).map(assign).collect::<Vec<_>>())
    }
}
