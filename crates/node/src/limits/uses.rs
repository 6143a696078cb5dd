//! What the clients of limited roles use of a node, over all of its cores.

use super::bucket::Bucket;
use cql::roles::Roles;
use cql::system::RoleUsage;
use model::{Limit, RoleLimits, Schema};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The rates that are counted by requests, in the order of [`RoleUse::rates`].
pub(super) const RATES: [Limit; 3] = [Limit::Requests, Limit::Reads, Limit::Writes];

/// Of all roles that have limits and clients. A core locks it when roles have changed or somebody logs in, no request does.
#[derive(Debug, Default)]
pub struct RoleUses(Mutex<BTreeMap<Arc<str>, Arc<RoleUse>>>);

/// Of one role.
#[derive(Debug)]
pub(super) struct RoleUse {
    pub(super) role: Arc<str>,
    /// As the core that has asked last knows them.
    limits: Mutex<RoleLimits>,
    connections: AtomicU32,
    pub(super) rates: [Bucket; RATES.len()],
    pub(super) bytes: Bucket,
    pub(super) refused_requests: AtomicU64,
    pub(super) refused_connections: AtomicU64,
}

impl RoleUses {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<RoleUse>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a role uses, which has these limits now. What nobody holds any more is forgotten.
    pub(super) fn of(&self, role: &str, limits: &RoleLimits) -> Arc<RoleUse> {
        let mut all = self.lock();
        all.retain(|name, role_use| &**name == role || Arc::strong_count(role_use) > 1);
        let name: Arc<str> = role.into();
        let role_use = all.entry(Arc::clone(&name)).or_insert_with(|| {
            Arc::new(RoleUse {
                role: name,
                limits: Mutex::default(),
                connections: AtomicU32::new(0),
                rates: Default::default(),
                bytes: Bucket::default(),
                refused_requests: AtomicU64::new(0),
                refused_connections: AtomicU64::new(0),
            })
        });
        let mut known = role_use.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != *limits {
            limits.clone_into(&mut known);
            // What was taken at another rate is forgiven.
            role_use.rates.iter().chain([&role_use.bytes]).for_each(Bucket::empty);
        }
        drop(known);
        Arc::clone(role_use)
    }

    /// All, by role, with their limits as they are now.
    #[must_use]
    pub fn shown(&self, schema: &Schema) -> Vec<RoleUsage> {
        let shown = |role_use: &Arc<RoleUse>| RoleUsage {
            role: role_use.role.as_ref().to_owned(),
            limits: Roles::of(schema).limits(&role_use.role),
            connections: role_use.connections(),
            refused_requests: role_use.refused_requests.load(Ordering::Relaxed),
            refused_connections: role_use.refused_connections.load(Ordering::Relaxed),
        };
        self.lock().values().map(shown).collect()
    }
}

impl RoleUse {
    pub(super) fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Counts another connection, unless there are `most`.
    pub(super) fn connect(&self, most: Option<u64>) -> bool {
        let counted = self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |connections| {
            most.is_none_or(|most| u64::from(connections) < most).then_some(connections + 1)
        });
        counted.is_ok()
    }

    /// Counts one less.
    pub(super) fn disconnect(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts one less if there are more than `most`: cores that end connections end no more than are too many, together.
    pub(super) fn disconnect_surplus(&self, most: u64) -> bool {
        let surplus = |connections: u32| (u64::from(connections) > most).then(|| connections - 1);
        self.connections.fetch_update(Ordering::Relaxed, Ordering::Relaxed, surplus).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_counted_up_to_the_limit_and_down_to_a_new_one() {
        let (uses, limits) = (RoleUses::default(), RoleLimits::default());
        let role_use = uses.of("app", &limits);
        assert!(Arc::ptr_eq(&role_use, &uses.of("app", &limits)));
        assert_eq!((0..5).filter(|_| role_use.connect(Some(3))).count(), 3);
        assert!(role_use.connect(None));
        assert_eq!((0..5).filter(|_| role_use.disconnect_surplus(1)).count(), 3);
        role_use.disconnect();
        assert_eq!(uses.shown(&Schema::empty())[0].connections, 0);
        drop(role_use);
        uses.of("other", &limits);
        assert_eq!(uses.shown(&Schema::empty()).len(), 1, "what nobody holds is forgotten");
    }

    #[test]
    fn another_limit_forgives_what_was_taken_at_the_former_one() {
        let (uses, mut limits) = (RoleUses::default(), RoleLimits::default());
        limits.set(Limit::Bytes, 1);
        let role_use = uses.of("app", &limits);
        role_use.bytes.charge(100, 1, 5);
        uses.of("app", &limits);
        assert!(!role_use.bytes.has_some(5));
        limits.set(Limit::Bytes, 2);
        uses.of("app", &limits);
        assert!(role_use.bytes.has_some(5));
    }
}
