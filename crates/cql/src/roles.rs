//! Roles: who may log in, and who may change whom. They are part of the schema, and so reach every core and every member the way it does.
//!
//! There are superusers, who may do everything, and others: what they may do, [`crate::permissions`] says. Where permissions are not asked for, they use
//! keyspaces, tables and rows but manage no roles.
//!
//! Invariants of every schema that [`crate::ddl::apply`] makes: a role has been granted only roles that there are, and never itself by way of
//! others; somebody can log in who is a superuser.

use crate::ddl::{DdlError, PASSWORD_BYTES_MAX, RoleError, content_version};
use crate::language::ast::{PasswordHashes, RoleOption, Statement};
use crate::whitelist;
use model::{Role, RoleLimits, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

/// The class by which drivers choose how to log in.
pub const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";

/// The name of the first superuser, as in Cassandra. It has no password that is known beforehand: see [`with_first_superuser`].
pub const DEFAULT_ROLE: &str = "cassandra";

/// What passwords are compared with that are nobody's.
const NOBODYS_HASH: &str = "$2b$10$TEDwZiPAH1KeXETkWVTqb.ChLV738ekqWq4LAZKqz63Mku3r2aMRm";

/// 2 to the power of so many rounds: what is hashed here, and what Cassandra takes. Hashes from elsewhere may have others, within bounds.
pub const HASH_COST: u32 = 10;
const HASH_COSTS: std::ops::RangeInclusive<u32> = 4..=14;
/// `$2b$10$`, 22 characters of salt, 31 of the hash.
const HASH_BYTES: usize = 60;

/// What a client proves that it knows a password by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The password.
    Password,
    /// What Aerospike's clients make of it before they send it.
    AerospikeHash,
    /// What GridDB's do.
    GridDbDigest,
}

/// What a proof is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verifier<'a> {
    /// A hash of bcrypt's.
    pub hash: &'a str,
    /// What it is the hash of. A password can be made into the other kinds of proof, not the other way round.
    pub of: Proof,
}

/// The roles of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Roles<'a>(pub(crate) &'a BTreeMap<String, Arc<Role>>);

impl<'a> Roles<'a> {
    /// Those that have been made. Before, there is the first superuser, whom nobody can log in as.
    #[must_use]
    pub fn of(schema: &'a Schema) -> Self {
        static DEFAULT: LazyLock<BTreeMap<String, Arc<Role>>> = LazyLock::new(|| {
            let role = Role { can_login: true, is_superuser: true, ..Role::default() };
            BTreeMap::from([(DEFAULT_ROLE.to_owned(), Arc::new(role))])
        });
        Self(if schema.roles.is_empty() { &DEFAULT } else { &schema.roles })
    }

    /// All, by name.
    pub(crate) fn all(self) -> impl Iterator<Item = (&'a String, &'a Arc<Role>)> {
        self.0.iter()
    }

    /// The role, if there is one of this name.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a Arc<Role>> {
        self.0.get(name)
    }

    /// The role, if it may log in.
    #[must_use]
    pub fn with_login(self, name: &str) -> Option<&'a Arc<Role>> {
        self.get(name).filter(|role| role.can_login)
    }

    /// Whether a password that fits this hash is that of a role that may log in.
    #[must_use]
    pub fn logs_in(self, name: &str, hash: &str) -> bool {
        let has = |role: &Arc<Role>| {
            [&role.password_hash, &role.aerospike_hash, &role.griddb_hash].iter().any(|own| own.as_deref() == Some(hash))
        };
        self.with_login(name).is_some_and(has)
    }

    /// As whom a client is served whose certificate has this identity.
    #[must_use]
    pub fn of_identity(self, identity: &str) -> Option<&'a str> {
        self.0.iter().find(|(_, role)| role.identities.contains(identity)).map(|(name, _)| name.as_str())
    }

    /// What to compare a proof of a role's password with. Who cannot log in has one too, so that the time tells nobody who is there, where hashes are of
    /// [`HASH_COST`]; see [`Roles::logs_in`].
    #[must_use]
    pub fn verifier(self, name: &str, proof: Proof) -> Verifier<'a> {
        let role = self.with_login(name);
        // That of the password itself takes the least time.
        let hashes = role.into_iter().flat_map(|role| {
            let hashes = [
                (&role.password_hash, Proof::Password),
                (&role.griddb_hash, Proof::GridDbDigest),
                (&role.aerospike_hash, Proof::AerospikeHash),
            ];
            hashes.into_iter().filter_map(|(hash, of)| Some(Verifier { hash: hash.as_deref()?, of }))
        });
        let mut usable = hashes.filter(|verifier| proof == Proof::Password || proof == verifier.of);
        usable.next().unwrap_or(Verifier { hash: NOBODYS_HASH, of: proof })
    }

    /// Whether a role may log in from an address: where it, or a role that it has been granted, has a whitelist, one of these has to have the address.
    #[must_use]
    pub fn admits(self, name: &str, address: IpAddr) -> bool {
        let granted = self.granted(name, true);
        let mut networks = granted.iter().filter_map(|name| self.get(name)).flat_map(|role| &role.whitelist).peekable();
        networks.peek().is_none() || networks.any(|network| whitelist::contains(network, address))
    }

    /// The limits of who has logged in as a role: the smallest of its own and those of roles that it has been granted.
    #[must_use]
    pub fn limits(self, name: &str) -> RoleLimits {
        let mut limits = RoleLimits::default();
        self.granted(name, true).into_iter().filter_map(|name| self.get(name)).for_each(|role| limits.tighten(&role.limits));
        limits
    }

    /// The role itself, and those that it has been granted: directly, or also by way of others.
    #[must_use]
    pub fn granted(self, name: &str, by_way_of_others: bool) -> BTreeSet<&'a str> {
        let mut all: BTreeSet<&str> = self.0.get_key_value(name).map(|(name, _)| name.as_str()).into_iter().collect();
        let mut next: Vec<&str> = all.iter().copied().collect();
        while let Some(role) = next.pop().and_then(|name| self.get(name)) {
            let new: Vec<&str> = role.member_of.iter().map(String::as_str).filter(|name| all.insert(name)).collect();
            if by_way_of_others {
                next.extend(new);
            }
        }
        all
    }

    /// Whether it, or a role that it has been granted, is a superuser.
    #[must_use]
    pub fn is_superuser(self, name: &str) -> bool {
        self.granted(name, true).into_iter().any(|name| self.get(name).is_some_and(|role| role.is_superuser))
    }
}

/// The password that a statement sets, and that [`set_hash`] has to replace before the statement is carried out.
///
/// # Errors
/// When nobody could log in with it.
pub fn password_of(statement: &Statement) -> Result<Option<&str>, DdlError> {
    let password =
        options_of(statement).iter().find_map(|option| if let RoleOption::Password(text) = option { Some(&**text) } else { None });
    if password.is_some_and(|password| !is_password(password)) {
        return Err(RoleError::Password.into());
    }
    Ok(password)
}

/// Whether somebody could log in with it: it is not empty, has no zero byte, and is not longer than what the hash takes.
#[must_use]
pub fn is_password(text: &str) -> bool {
    (1..=PASSWORD_BYTES_MAX).contains(&text.len()) && !text.contains('\0')
}

/// The schema with its first superuser, whose password has this hash; `None` if there are roles.
#[must_use]
pub fn with_first_superuser(schema: &Schema, hash: &str) -> Option<Schema> {
    if !schema.roles.is_empty() {
        return None;
    }
    let role = Role { can_login: true, is_superuser: true, password_hash: Some(hash.to_owned()), ..Role::default() };
    let mut schema = schema.clone();
    schema.roles.insert(DEFAULT_ROLE.to_owned(), Arc::new(role));
    schema.version = content_version(&schema);
    Some(schema)
}

/// The schema as it is written where some member of the cluster does not know what clients of Aerospike and GridDB log in by.
#[must_use]
pub fn without_digest_logins(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    for role in schema.roles.values_mut() {
        let role = Arc::make_mut(role);
        (role.aerospike_hash, role.griddb_hash) = (None, None);
        role.whitelist.clear();
    }
    schema.version = content_version(&schema);
    schema
}

/// Puts the hashes of a statement's password in its place.
pub fn set_hash(statement: &mut Statement, hashes: &PasswordHashes) {
    let options = match statement {
        Statement::CreateRole(create) => &mut create.options,
        Statement::AlterRole(alter) => &mut alter.options,
        _ => return,
    };
    for option in options.iter_mut().filter(|option| matches!(option, RoleOption::Password(_))) {
        *option = RoleOption::PasswordHashes(hashes.clone());
    }
}

fn options_of(statement: &Statement) -> &[RoleOption] {
    match statement {
        Statement::CreateRole(create) => &create.options,
        Statement::AlterRole(alter) => &alter.options,
        _ => &[],
    }
}

/// Whether this is a hash of bcrypt's that can be compared with in reasonable time.
pub(crate) fn is_hash(text: &str) -> bool {
    let Some((version, rest)) = text.strip_prefix('$').and_then(|rest| rest.split_once('$')) else { return false };
    let Some((cost, digest)) = rest.split_once('$') else { return false };
    let is_known = ["2a", "2b", "2x", "2y"].contains(&version);
    let is_cost = cost.len() == 2 && cost.parse().is_ok_and(|cost| HASH_COSTS.contains(&cost));
    let is_digest = digest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/');
    // The last characters of salt and hash have fewer bits than the others.
    let ends_well = |at: usize, ends: &[u8]| digest.as_bytes().get(at).is_some_and(|byte| ends.contains(byte));
    text.len() == HASH_BYTES && is_known && is_cost && is_digest && ends_well(21, b".Oeu") && ends_well(52, b".CGKOSWaeimquy26")
}
