//! Roles: who may log in, and who may change whom. They are part of the schema, and so reach every core and every member the way it does.
//!
//! There are superusers, who may do everything, and others, who use keyspaces, tables and rows but manage no roles. That is what Cassandra
//! does with `PasswordAuthenticator`, and without an authorizer, except that there everybody who has logged in may change everybody.
//!
//! Invariants of every schema that [`crate::ddl::apply`] makes: a role has been granted only roles that there are, and never itself by way of
//! others; somebody can log in who is a superuser.

use crate::ddl::{DdlError, PASSWORD_BYTES_MAX};
use crate::language::ast::{Identifier, ListRoles, RoleOption, Statement};
use crate::reply::ResultColumn;
use crate::system::row::{boolean, pairs, text};
use model::{DataType, Frozen, Role, Schema};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

/// The class by which drivers choose how to log in.
pub const AUTHENTICATOR: &str = "org.apache.cassandra.auth.PasswordAuthenticator";

/// The superuser that there is before any role has been made; its password is its name, as in Cassandra.
pub const DEFAULT_ROLE: &str = "cassandra";

/// Of [`DEFAULT_ROLE`]'s password.
const DEFAULT_HASH: &str = "$2b$10$TEDwZiPAH1KeXETkWVTqb.ChLV738ekqWq4LAZKqz63Mku3r2aMRm";

/// 2 to the power of so many rounds: what is hashed here, and what Cassandra takes. Hashes from elsewhere may have others, within bounds.
pub const HASH_COST: u32 = 10;
const HASH_COSTS: std::ops::RangeInclusive<u32> = 4..=14;
/// `$2b$10$`, 22 characters of salt, 31 of the hash.
const HASH_BYTES: usize = 60;

/// The roles of a schema.
#[derive(Clone, Copy, Debug)]
pub struct Roles<'a>(pub(crate) &'a BTreeMap<String, Arc<Role>>);

impl<'a> Roles<'a> {
    /// Those that have been made, or the default one.
    #[must_use]
    pub fn of(schema: &'a Schema) -> Self {
        static DEFAULT: LazyLock<BTreeMap<String, Arc<Role>>> = LazyLock::new(|| {
            let password_hash = Some(DEFAULT_HASH.to_owned());
            let role = Role { can_login: true, is_superuser: true, password_hash, member_of: BTreeSet::new() };
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

    /// The hash to compare the password of a role with. Who cannot log in has one too, so that the time tells nobody who is there, where hashes are of [`HASH_COST`]; see
    /// [`Roles::logs_in`].
    #[must_use]
    pub fn hash_of(self, name: &str) -> &'a str {
        self.with_login(name).and_then(|role| role.password_hash.as_deref()).unwrap_or(DEFAULT_HASH)
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
    // Nobody can log in with an empty one, or with a zero byte in it.
    if password.is_some_and(|password| !(1..=PASSWORD_BYTES_MAX).contains(&password.len()) || password.contains('\0')) {
        return Err(DdlError::Password);
    }
    Ok(password)
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

/// A result that is no table's.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The table of `system_auth` that the result claims to be of.
    pub table: &'static str,
    /// Its columns.
    pub columns: Vec<ResultColumn>,
    /// A value in wire bytes for each column.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// The keyspace that a [`Listing`] claims to be of.
pub const LISTING_KEYSPACE: &str = "system_auth";

/// Answers LIST ROLES and LIST USERS of somebody who has logged in; none if the statement is another one.
///
/// # Errors
/// When a role is not there, or not for these eyes.
pub fn list(statement: &Statement, schema: &Schema, role: &str) -> Option<Result<Listing, DdlError>> {
    let roles = Roles::of(schema);
    match statement {
        Statement::ListRoles(list) => Some(visible(roles, list, role).map(|names| listing(roles, names))),
        Statement::ListUsers => Some(visible(roles, &ListRoles { grantee: None, recursive: true }, role).map(|names| users(roles, names))),
        Statement::ListSuperusers => Some(Ok(superusers(roles))),
        _ => None,
    }
}

/// What `asker` may see of what a statement asks for.
fn visible<'a>(roles: Roles<'a>, list: &ListRoles, asker: &str) -> Result<BTreeSet<&'a str>, DdlError> {
    let Some(grantee) = list.grantee.as_ref().map(Identifier::as_str) else {
        let all = || roles.0.keys().map(String::as_str).collect();
        return Ok(if roles.is_superuser(asker) { all() } else { roles.granted(asker, list.recursive) });
    };
    if roles.get(grantee).is_none() {
        return Err(DdlError::UnknownRole(grantee.to_owned()));
    }
    if !roles.is_superuser(asker) && !roles.granted(asker, true).contains(grantee) {
        return Err(DdlError::HiddenRole(grantee.to_owned()));
    }
    Ok(roles.granted(grantee, list.recursive))
}

fn columns(named: &[(&str, DataType)]) -> Vec<ResultColumn> {
    named.iter().map(|(name, data_type)| ResultColumn { name: (*name).to_owned(), data_type: data_type.clone() }).collect()
}

/// Everybody may come in from everywhere.
const DATACENTERS: &str = "ALL";

fn listing(roles: Roles<'_>, names: BTreeSet<&str>) -> Listing {
    let options = DataType::Map(Arc::new(DataType::Text), Arc::new(DataType::Text), Frozen::No);
    let named = [
        ("role", DataType::Text),
        ("super", DataType::Boolean),
        ("login", DataType::Boolean),
        ("options", options),
        ("datacenters", DataType::Text),
    ];
    let no_options = || pairs(std::iter::empty());
    let row = |name: &str| {
        let can_login = roles.with_login(name).is_some();
        vec![text(name), boolean(roles.is_superuser(name)), boolean(can_login), no_options(), text(DATACENTERS)]
    };
    Listing { table: "roles", columns: columns(&named), rows: names.into_iter().map(row).collect() }
}

fn users(roles: Roles<'_>, names: BTreeSet<&str>) -> Listing {
    let named = [("name", DataType::Text), ("super", DataType::Boolean), ("datacenters", DataType::Text)];
    let row = |name: &str| vec![text(name), boolean(roles.is_superuser(name)), text(DATACENTERS)];
    let rows = names.into_iter().filter(|name| roles.with_login(name).is_some()).map(row).collect();
    Listing { table: "users", columns: columns(&named), rows }
}

fn superusers(roles: Roles<'_>) -> Listing {
    let rows = roles.0.keys().filter(|name| roles.is_superuser(name)).map(|name| vec![text(name)]).collect();
    Listing { table: "roles", columns: columns(&[("role", DataType::Text)]), rows }
}
