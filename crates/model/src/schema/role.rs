//! A role: who may log in, and what it may do.

use crate::permission::{Permissions, Resource};
use crate::role_limits::RoleLimits;
use std::collections::{BTreeMap, BTreeSet};

/// Somebody who may log in, or a group of such.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// Whether it may log in.
    pub can_login: bool,
    /// Whether it may do everything.
    pub is_superuser: bool,
    /// Its password as bcrypt stores it: `$2b$cost$salt and hash`. None of a password that only a client of another protocol has set.
    pub password_hash: Option<String>,
    /// What Aerospike's clients send in place of its password, hashed by bcrypt once more. Of a password that such a client has set, there is only this.
    pub aerospike_hash: Option<String>,
    /// The same of what GridDB's clients send.
    pub griddb_hash: Option<String>,
    /// The roles that it has been granted, by name.
    pub member_of: BTreeSet<String>,
    /// What it has been allowed itself, on what; never nothing.
    pub permissions: BTreeMap<Resource, Permissions>,
    /// Whoever shows a certificate of one of these identities is this role. An identity is one role's.
    pub identities: BTreeSet<String>,
    /// The addresses and networks that it, and whoever has been granted it, may log in from; empty for all.
    pub whitelist: BTreeSet<String>,
    /// How much each of its clients, and of those of roles that have been granted it, may ask a node for.
    pub limits: RoleLimits,
}

impl Role {
    /// Whether it has a password.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password_hash.is_some() || self.aerospike_hash.is_some() || self.griddb_hash.is_some()
    }
}
