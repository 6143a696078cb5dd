//! Roles: who may log in, and who may change whom. They are part of the schema, and so reach every core and every member the way it does.
//!
//! There are superusers, who may do everything, and others: what they may do, [`crate::permissions`] says. Where permissions are not asked for, they use
//! keyspaces, tables and rows but manage no roles.
//!
//! Invariants of every schema that [`crate::ddl::apply`] makes: a role has been granted only roles that there are, and never itself by way of
//! others; somebody can log in who is a superuser.

use crate::ddl::{DdlError, PASSWORD_BYTES_MAX, content_version};
use crate::language::ast::{RoleOption, Statement};
use model::{Role, Schema};
use std::collections::{BTreeMap, BTreeSet};
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
        self.with_login(name).is_some_and(|role| role.password_hash.as_deref() == Some(hash))
    }

    /// As whom a client is served whose certificate has this identity.
    #[must_use]
    pub fn of_identity(self, identity: &str) -> Option<&'a str> {
        self.0.iter().find(|(_, role)| role.identities.contains(identity)).map(|(name, _)| name.as_str())
    }

    /// The hash to compare the password of a role with. Who cannot log in has one too, so that the time tells nobody who is there, where hashes are of [`HASH_COST`]; see
    /// [`Roles::logs_in`].
    #[must_use]
    pub fn hash_of(self, name: &str) -> &'a str {
        self.with_login(name).and_then(|role| role.password_hash.as_deref()).unwrap_or(NOBODYS_HASH)
    }

    /// The role itself, and those that it has been granted: directly, or also by way of others.
    pub(crate) fn granted(self, name: &str, by_way_of_others: bool) -> BTreeSet<&'a str> {
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
        return Err(DdlError::Password);
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

/// Puts the hash of a statement's password in its place.
pub fn set_hash(statement: &mut Statement, hash: &str) {
    let options = match statement {
        Statement::CreateRole(create) => &mut create.options,
        Statement::AlterRole(alter) => &mut alter.options,
        _ => return,
    };
    for option in options.iter_mut().filter(|option| matches!(option, RoleOption::Password(_))) {
        *option = RoleOption::HashedPassword(hash.into());
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
