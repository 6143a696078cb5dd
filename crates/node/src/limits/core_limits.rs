//! What a core knows of limited roles that have clients on it.

use super::bucket::Stash;
use super::uses::{RATES, RoleUse, RoleUses};
use crate::request_figures::RequestKind;
use cql::roles::Roles;
use model::{Limit, RoleLimits, Schema};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A role's share, as connections have it; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShareNumber(u32);

impl ShareNumber {
    pub(crate) const NONE: Self = Self(0);
}

/// Of limited roles.
#[derive(Debug, Default)]
pub(crate) struct CoreLimits {
    shares: Vec<Share>,
    /// That of the connection which is being served.
    current: ShareNumber,
    /// Whether any role has limits.
    is_any: bool,
}

#[derive(Debug)]
struct Share {
    role_use: Arc<RoleUse>,
    limits: RoleLimits,
    /// In the order of [`RATES`].
    rates: [Option<u64>; RATES.len()],
    stashes: [Stash; RATES.len()],
}

/// Why something is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the role {role} has reached its limit {} = {allowed} on this node", limit.name())]
pub(crate) struct OverLimit {
    role: Arc<str>,
    limit: Limit,
    allowed: u64,
}

impl CoreLimits {
    /// Whether any role has limits.
    #[inline]
    pub(crate) fn is_any(&self) -> bool {
        self.is_any
    }

    /// Requests are those of a connection with this share from now on.
    #[inline]
    pub(crate) fn enter(&mut self, share: ShareNumber) {
        self.current = share;
    }

    /// Whether the connection that is being served is one of a limited role.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        self.current != ShareNumber::NONE
    }

    /// Counts a request of that connection.
    ///
    /// # Errors
    /// When it is one too many.
    #[cold]
    pub(crate) fn admit(&mut self, kind: RequestKind, cores: u16, now_us: u64) -> Result<(), OverLimit> {
        let Some(share) = (self.current.0 as usize).checked_sub(1).and_then(|index| self.shares.get_mut(index)) else { return Ok(()) };
        let now_ns = now_us.saturating_mul(1_000);
        let refused = share.take(kind, cores, now_ns).err();
        match refused {
            None => Ok(()),
            Some(limit) => {
                share.role_use.refused_requests.fetch_add(1, Ordering::Relaxed);
                Err(share.over(limit))
            }
        }
    }

    /// A connection has had so many bytes of requests, or replies.
    pub(crate) fn charge(&self, share: ShareNumber, bytes: usize, now_us: u64) {
        let Some(share) = (share.0 as usize).checked_sub(1).and_then(|index| self.shares.get(index)) else { return };
        if let Some(rate) = share.limits.get(Limit::Bytes) {
            share.role_use.bytes.charge(bytes as u64, rate, now_us.saturating_mul(1_000));
        }
    }

    /// The share of clients of a role; none if it has no limits.
    pub(super) fn share_of(&mut self, schema: &Schema, uses: &RoleUses, role: &str) -> ShareNumber {
        if !self.is_any {
            return ShareNumber::NONE;
        }
        let found = self.shares.iter().position(|share| &*share.role_use.role == role);
        let index = found.or_else(|| {
            let limits = Roles::of(schema).limits(role);
            (!limits.is_empty()).then(|| {
                let role_use = uses.of(role, &limits);
                let rates = RATES.map(|limit| limits.get(limit));
                self.shares.push(Share { role_use, limits, rates, stashes: Default::default() });
                self.shares.len() - 1
            })
        });
        index.map_or(ShareNumber::NONE, |index| ShareNumber(index as u32 + 1))
    }

    /// Counts a connection.
    ///
    /// # Errors
    /// When it is one too many.
    pub(super) fn connect(&self, share: ShareNumber) -> Result<(), OverLimit> {
        let Some(share) = self.share(share) else { return Ok(()) };
        if share.role_use.connect(share.limits.get(Limit::Connections)) {
            return Ok(());
        }
        share.role_use.refused_connections.fetch_add(1, Ordering::Relaxed);
        Err(share.over(Limit::Connections))
    }

    /// Whether another connection would be one too many.
    pub(super) fn check_connection(&self, share: ShareNumber) -> Result<(), OverLimit> {
        let Some(share) = self.share(share) else { return Ok(()) };
        match share.limits.get(Limit::Connections) {
            Some(most) if u64::from(share.role_use.connections()) >= most => {
                share.role_use.refused_connections.fetch_add(1, Ordering::Relaxed);
                Err(share.over(Limit::Connections))
            }
            _ => Ok(()),
        }
    }

    /// Counts a connection in any case: it was there before there were limits.
    pub(super) fn take_over(&self, share: ShareNumber) {
        if let Some(share) = self.share(share) {
            share.role_use.connect(None);
        }
    }

    /// Whether a connection is one too many, as limits are now. Then it is not counted any more.
    pub(super) fn is_surplus(&self, share: ShareNumber) -> bool {
        let most = self.share(share).and_then(|share| Some((share, share.limits.get(Limit::Connections)?)));
        most.is_some_and(|(share, most)| share.role_use.disconnect_surplus(most))
    }

    /// A connection has ended.
    pub(super) fn disconnect(&self, share: ShareNumber) {
        if let Some(share) = self.share(share) {
            share.role_use.disconnect();
        }
    }

    /// As they were before the schema changed; from now on there are those of the new one.
    pub(super) fn replace(&mut self, schema: &Schema) -> Self {
        std::mem::replace(self, Self { is_any: schema.has_role_limits(), ..Self::default() })
    }

    fn share(&self, number: ShareNumber) -> Option<&Share> {
        self.shares.get((number.0 as usize).checked_sub(1)?)
    }
}

impl Share {
    /// Takes a request.
    fn take(&mut self, kind: RequestKind, cores: u16, now_ns: u64) -> Result<(), Limit> {
        if self.limits.get(Limit::Bytes).is_some() && !self.role_use.bytes.has_some(now_ns) {
            return Err(Limit::Bytes);
        }
        for (index, limit) in RATES.into_iter().enumerate() {
            let counts = match limit {
                Limit::Reads => kind == RequestKind::Read,
                Limit::Writes => kind == RequestKind::Write,
                _ => true,
            };
            if let Some(rate) = self.rates[index].filter(|_| counts)
                && !self.stashes[index].take(&self.role_use.rates[index], rate, cores, now_ns)
            {
                return Err(limit);
            }
        }
        Ok(())
    }

    fn over(&self, limit: Limit) -> OverLimit {
        OverLimit { role: Arc::clone(&self.role_use.role), limit, allowed: self.limits.get(limit).unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Role;

    fn schema(limits: &[(Limit, u64)]) -> Schema {
        let mut role = Role::default();
        limits.iter().for_each(|(limit, value)| role.limits.set(*limit, *value));
        let mut schema = Schema::empty();
        schema.roles.insert("app".to_owned(), Arc::new(role));
        schema
    }

    #[test]
    fn a_request_counts_by_its_kind_and_by_what_its_connection_has_had() {
        let schema = schema(&[(Limit::Writes, 2), (Limit::Bytes, 1_000)]);
        let (mut limits, uses) = (CoreLimits::default(), RoleUses::default());
        limits.replace(&schema);
        let share = limits.share_of(&schema, &uses, "app");
        assert_eq!(limits.share_of(&schema, &uses, "other"), ShareNumber::NONE);
        assert!(limits.admit(RequestKind::Write, 1, 1_000_000).is_ok() && !limits.is_limited(), "of nobody");
        limits.enter(share);
        let mut served = |kind, now_us| (0..10).filter(|_| limits.admit(kind, 1, now_us).is_ok()).count();
        assert_eq!((served(RequestKind::Write, 1_000_000), served(RequestKind::Read, 1_000_000)), (1, 10));
        assert_eq!(served(RequestKind::Write, 1_450_000), 1);
        limits.charge(share, 3_000, 1_500_000);
        let over = limits.admit(RequestKind::Other, 1, 2_000_000).expect_err("the bytes have to be paid for");
        assert_eq!(over.to_string(), "the role app has reached its limit bytes_per_second = 1000 on this node");
        assert!(limits.admit(RequestKind::Other, 1, 4_500_000).is_ok());
        assert_eq!(uses.shown(&schema)[0].refused_requests, 9 + 9 + 1);
    }

    #[test]
    fn limits_follow_the_schema() {
        let (mut limits, uses) = (CoreLimits::default(), RoleUses::default());
        limits.replace(&Schema::empty());
        assert!(!limits.is_any() && limits.share_of(&Schema::empty(), &uses, "app") == ShareNumber::NONE);
        let two = schema(&[(Limit::Connections, 2)]);
        limits.replace(&two);
        let share = limits.share_of(&two, &uses, "app");
        let connected: Vec<bool> = (0..3).map(|_| limits.connect(share).is_ok()).collect();
        assert_eq!(connected, [true, true, false]);
        let one = schema(&[(Limit::Connections, 1)]);
        let before = limits.replace(&one);
        let share = limits.share_of(&one, &uses, "app");
        assert_eq!((limits.is_surplus(share), limits.is_surplus(share)), (true, false));
        before.disconnect(ShareNumber(1));
        assert!(limits.check_connection(share).is_ok());
    }
}
