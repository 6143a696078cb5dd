//! Privileges, as permissions on resources: what is granted by one protocol holds in all.
//!
//! | privilege | is |
//! |---|---|
//! | read | SELECT |
//! | write | MODIFY |
//! | read-write | SELECT, MODIFY |
//! | read-write-udf | SELECT, MODIFY; EXECUTE on functions |
//! | truncate | DROP |
//! | sindex-admin | ALTER on all keyspaces |
//! | udf-admin | CREATE, ALTER, DROP on all functions |
//! | data-admin | ALTER, DROP on all keyspaces; CREATE, ALTER, DROP on all functions |
//! | sys-admin | CREATE, ALTER, DROP on all keyspaces |
//! | user-admin | CREATE, ALTER, DROP, AUTHORIZE, DESCRIBE on all roles |
//!
//! The first five are on all keyspaces, on all tables in a keyspace, or on a table, as their scope says.

use model::Permission::{Alter, Authorize, Create, Describe, Drop, Execute, Modify, Select};
use model::record_set::table_name;
use model::{Permissions, Resource, Role};
use std::collections::BTreeMap;

/// What a role may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// What.
    pub kind: PrivilegeKind,
    /// On what.
    pub scope: Scope,
}

/// What a privilege allows, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "named as the protocol names them")]
pub enum PrivilegeKind {
    UserAdmin = 0,
    SysAdmin = 1,
    DataAdmin = 2,
    UdfAdmin = 3,
    SindexAdmin = 4,
    Read = 10,
    ReadWrite = 11,
    ReadWriteUdf = 12,
    Write = 13,
    Truncate = 14,
}

use PrivilegeKind::{DataAdmin, Read, ReadWrite, ReadWriteUdf, SindexAdmin, SysAdmin, Truncate, UdfAdmin, UserAdmin, Write};

/// What a privilege is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All namespaces.
    Everything,
    /// A namespace.
    Namespace(String),
    /// A set of a namespace.
    Set(String, String),
}

/// The roles that are there without being made: each has the privilege of its name, the last one all of them.
pub const PREDEFINED_ROLES: [(&str, &[PrivilegeKind]); 11] = [
    ("user-admin", &[UserAdmin]),
    ("sys-admin", &[SysAdmin]),
    ("data-admin", &[DataAdmin]),
    ("udf-admin", &[UdfAdmin]),
    ("sindex-admin", &[SindexAdmin]),
    ("read", &[Read]),
    ("read-write", &[ReadWrite]),
    ("read-write-udf", &[ReadWriteUdf]),
    ("write", &[Write]),
    ("truncate", &[Truncate]),
    ("superuser", &[UserAdmin, SysAdmin, DataAdmin, ReadWriteUdf]),
];

/// The privileges of a predefined role, if this is the name of one.
#[must_use]
pub fn predefined(role: &str) -> Option<Vec<Privilege>> {
    let (_, kinds) = PREDEFINED_ROLES.iter().find(|(name, _)| *name == role)?;
    Some(kinds.iter().map(|kind| Privilege { kind: *kind, scope: Scope::Everything }).collect())
}

const OF_FUNCTIONS: Permissions = Permissions::of(&[Create, Alter, Drop]);
const OF_ROLES: Permissions = Permissions::of(&[Create, Alter, Drop, Authorize, Describe]);

impl PrivilegeKind {
    /// The privilege of a number.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        const ALL: [PrivilegeKind; 10] =
            [UserAdmin, SysAdmin, DataAdmin, UdfAdmin, SindexAdmin, Read, ReadWrite, ReadWriteUdf, Write, Truncate];
        ALL.into_iter().find(|kind| *kind as u8 == code)
    }

    /// Whether it may be about one namespace or set.
    #[must_use]
    pub fn has_scope(self) -> bool {
        self as u8 >= Read as u8
    }
}

impl Scope {
    /// The resource that stands for it; none for a set that cannot be.
    #[must_use]
    pub fn resource(&self) -> Option<Resource> {
        Some(match self {
            Self::Everything => Resource::AllKeyspaces,
            Self::Namespace(namespace) => Resource::AllTablesIn(namespace.clone()),
            Self::Set(namespace, set) => Resource::table(namespace, table_name(set)?),
        })
    }

    /// What a resource is in these terms, if it is anything.
    fn of(resource: &Resource) -> Option<Self> {
        Some(match resource {
            Resource::AllKeyspaces => Self::Everything,
            Resource::AllTablesIn(namespace) | Resource::Keyspace(namespace) => Self::Namespace(namespace.clone()),
            Resource::Table { keyspace, table } => Self::Set(keyspace.clone(), table.clone()),
            _ => return None,
        })
    }

    fn functions(&self) -> Resource {
        match self {
            Self::Everything => Resource::AllFunctions,
            Self::Namespace(namespace) | Self::Set(namespace, _) => Resource::AllFunctionsIn(namespace.clone()),
        }
    }
}

impl Privilege {
    /// The permissions that it is; none if its set cannot be.
    #[must_use]
    pub fn permissions(&self) -> Option<Vec<(Resource, Permissions)>> {
        let on_data = |list| Some(vec![(self.scope.resource()?, Permissions::of(list))]);
        match self.kind {
            UserAdmin => Some(vec![(Resource::AllRoles, OF_ROLES)]),
            SysAdmin => on_data(&[Create, Alter, Drop]),
            DataAdmin => Some([on_data(&[Alter, Drop])?, vec![(Resource::AllFunctions, OF_FUNCTIONS)]].concat()),
            UdfAdmin => Some(vec![(Resource::AllFunctions, OF_FUNCTIONS)]),
            SindexAdmin => on_data(&[Alter]),
            Read => on_data(&[Select]),
            Write => on_data(&[Modify]),
            ReadWrite => on_data(&[Select, Modify]),
            ReadWriteUdf => Some([on_data(&[Select, Modify])?, vec![(self.scope.functions(), Permissions::of(&[Execute]))]].concat()),
            Truncate => on_data(&[Drop]),
        }
    }
}

/// What a role has been allowed itself, in as few privileges as say it. Permissions that are no privilege are left out.
#[must_use]
pub fn privileges_of(role: &Role) -> Vec<Privilege> {
    let permissions = &role.permissions;
    let on = |resource: &Resource| permissions.get(resource).copied().unwrap_or_default();
    let has_all = |resource: &Resource, wanted: Permissions| wanted.without(on(resource)).is_empty();
    let mut privileges = Vec::new();
    let mut add = |kind, scope: &Scope| privileges.push(Privilege { kind, scope: scope.clone() });
    let all = Scope::Everything;
    if has_all(&Resource::AllRoles, OF_ROLES) {
        add(UserAdmin, &all);
    }
    let is_udf_admin = has_all(&Resource::AllFunctions, OF_FUNCTIONS);
    let data = on(&Resource::AllKeyspaces);
    let is_sys_admin = has_all(&Resource::AllKeyspaces, Permissions::of(&[Create, Alter, Drop]));
    let is_data_admin = is_udf_admin && data.contains(Alter) && data.contains(Drop);
    let administers = [
        (SysAdmin, is_sys_admin),
        (DataAdmin, is_data_admin),
        (UdfAdmin, is_udf_admin && !is_data_admin),
        (SindexAdmin, data.contains(Alter) && !is_sys_admin && !is_data_admin),
    ];
    administers.into_iter().filter(|(_, has)| *has).for_each(|(kind, _)| add(kind, &all));
    for (scope, granted) in scopes(permissions) {
        let executes = on(&scope.functions()).contains(Execute);
        match (granted.contains(Select), granted.contains(Modify)) {
            (true, true) if executes => add(ReadWriteUdf, &scope),
            (true, true) => add(ReadWrite, &scope),
            (true, false) => add(Read, &scope),
            (false, true) => add(Write, &scope),
            (false, false) => {}
        }
        let is_told = scope == Scope::Everything && (is_sys_admin || is_data_admin);
        if granted.contains(Drop) && !is_told {
            add(Truncate, &scope);
        }
    }
    privileges
}

/// What is allowed on data, by scope: a keyspace is what is in it.
fn scopes(permissions: &BTreeMap<Resource, Permissions>) -> Vec<(Scope, Permissions)> {
    let mut scopes: Vec<(Scope, Permissions)> = Vec::new();
    for (resource, granted) in permissions {
        let Some(scope) = Scope::of(resource) else { continue };
        match scopes.iter_mut().find(|(known, _)| *known == scope) {
            Some((_, all)) => *all = all.or(*granted),
            None => scopes.push((scope, *granted)),
        }
    }
    scopes
}
