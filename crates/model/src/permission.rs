//! What roles may be allowed to do, and on what.

use crate::types::DataType;
use std::fmt;

/// Something that a role can be allowed to do. Protocols whose privileges have other names say which of these they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // Cassandra's own names
pub enum Permission {
    Create,
    Alter,
    Drop,
    Select,
    Modify,
    Authorize,
    Describe,
    Execute,
    Unmask,
    SelectMasked,
}

impl Permission {
    /// All, in the order in which they are listed.
    pub const ALL: [Self; 10] = [
        Self::Create,
        Self::Alter,
        Self::Drop,
        Self::Select,
        Self::Modify,
        Self::Authorize,
        Self::Describe,
        Self::Execute,
        Self::Unmask,
        Self::SelectMasked,
    ];

    /// Its name, which the schema's document has, too.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Alter => "ALTER",
            Self::Drop => "DROP",
            Self::Select => "SELECT",
            Self::Modify => "MODIFY",
            Self::Authorize => "AUTHORIZE",
            Self::Describe => "DESCRIBE",
            Self::Execute => "EXECUTE",
            Self::Unmask => "UNMASK",
            Self::SelectMasked => "SELECT_MASKED",
        }
    }

    /// The permission of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|permission| permission.name() == name)
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permissions(u16);

impl Permissions {
    /// Those of a list.
    #[must_use]
    pub const fn of(list: &[Permission]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < list.len() {
            bits |= 1 << list[at] as u16;
            at += 1;
        }
        Self(bits)
    }

    /// Whether it is one of them.
    #[must_use]
    pub const fn contains(self, permission: Permission) -> bool {
        self.0 & 1 << permission as u16 != 0
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// One after the other, in the order of [`Permission::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.contains(*permission))
    }
}

/// What permissions are about. What is allowed on one is allowed on everything below it: see [`Resource::parent`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// All data.
    AllKeyspaces,
    /// A keyspace and what is in it.
    Keyspace(String),
    /// The tables of a keyspace, those too that do not exist yet; not the keyspace itself.
    AllTablesIn(String),
    /// A table.
    Table {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        table: String,
    },
    /// All roles.
    AllRoles,
    /// A role.
    Role(String),
    /// All functions that users have made.
    AllFunctions,
    /// Those of a keyspace.
    AllFunctionsIn(String),
    /// A function or aggregate that a user has made.
    Function {
        /// Its keyspace.
        keyspace: String,
        /// Its name.
        name: String,
        /// The types of its arguments, as CQL.
        arguments: Vec<String>,
    },
}

impl Resource {
    /// The table of a schema.
    #[must_use]
    pub fn table(keyspace: &str, table: &str) -> Self {
        Self::Table { keyspace: keyspace.to_owned(), table: table.to_owned() }
    }

    /// A function or aggregate of a schema.
    #[must_use]
    pub fn function<'a>(keyspace: &str, name: &str, arguments: impl IntoIterator<Item = &'a DataType>) -> Self {
        let arguments = arguments.into_iter().map(|data_type| data_type.thawed().to_string()).collect();
        Self::Function { keyspace: keyspace.to_owned(), name: name.to_owned(), arguments }
    }

    /// Its name as Cassandra's tables and the schema's document have it: `data/keyspace/table`, `roles/name`, …
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::AllKeyspaces => "data".to_owned(),
            Self::Keyspace(keyspace) => format!("data/{keyspace}"),
            Self::AllTablesIn(keyspace) => format!("data/{keyspace}/*"),
            Self::Table { keyspace, table } => format!("data/{keyspace}/{table}"),
            Self::AllRoles => "roles".to_owned(),
            Self::Role(role) => format!("roles/{role}"),
            Self::AllFunctions => "functions".to_owned(),
            Self::AllFunctionsIn(keyspace) => format!("functions/{keyspace}"),
            Self::Function { keyspace, name, arguments } => format!("functions/{keyspace}/{name}[{}]", arguments.join("^")),
        }
    }

    /// The resource of a [`Resource::name`].
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(role) = name.strip_prefix("roles/") {
            return Some(Self::Role(role.to_owned()));
        }
        // Keyspaces have no slash in their names.
        Some(match name.splitn(3, '/').collect::<Vec<_>>()[..] {
            ["data"] => Self::AllKeyspaces,
            ["data", keyspace] => Self::Keyspace(keyspace.to_owned()),
            ["data", keyspace, "*"] => Self::AllTablesIn(keyspace.to_owned()),
            ["data", keyspace, table] => Self::table(keyspace, table),
            ["roles"] => Self::AllRoles,
            ["functions"] => Self::AllFunctions,
            ["functions", keyspace] => Self::AllFunctionsIn(keyspace.to_owned()),
            ["functions", keyspace, function] => {
                let (name, types) = function.strip_suffix(']')?.rsplit_once('[')?;
                let arguments = types.split('^').filter(|data_type| !data_type.is_empty()).map(str::to_owned).collect();
                Self::Function { keyspace: keyspace.to_owned(), name: name.to_owned(), arguments }
            }
            _ => return None,
        })
    }

    /// The resource right above.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        match self {
            Self::AllKeyspaces | Self::AllRoles | Self::AllFunctions => None,
            Self::Keyspace(_) => Some(Self::AllKeyspaces),
            Self::AllTablesIn(keyspace) => Some(Self::Keyspace(keyspace.clone())),
            Self::Table { keyspace, .. } => Some(Self::AllTablesIn(keyspace.clone())),
            Self::Role(_) => Some(Self::AllRoles),
            Self::AllFunctionsIn(_) => Some(Self::AllFunctions),
            Self::Function { keyspace, .. } => Some(Self::AllFunctionsIn(keyspace.clone())),
        }
    }

    /// Itself, its parent, and so on.
    pub fn chain(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// The permissions that make sense on it.
    #[must_use]
    pub fn applicable(&self) -> Permissions {
        use Permission::{Alter, Authorize, Create, Describe, Drop, Execute, Modify, Select, SelectMasked, Unmask};
        const TABLE: Permissions = Permissions::of(&[Alter, Drop, Select, Modify, Authorize, Unmask, SelectMasked]);
        match self {
            Self::Table { .. } => TABLE,
            Self::AllKeyspaces | Self::Keyspace(_) | Self::AllTablesIn(_) => TABLE.or(Permissions::of(&[Create])),
            Self::Role(_) => Permissions::of(&[Alter, Drop, Authorize, Describe]),
            Self::AllRoles => Permissions::of(&[Create, Alter, Drop, Authorize, Describe]),
            Self::AllFunctions | Self::AllFunctionsIn(_) => Permissions::of(&[Create, Alter, Drop, Authorize, Execute]),
            Self::Function { .. } => Permissions::of(&[Alter, Drop, Authorize, Execute]),
        }
    }
}

/// By name.
impl Ord for Resource {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.name().cmp(&other.name())
    }
}

impl PartialOrd for Resource {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// As messages name it.
impl fmt::Display for Resource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllKeyspaces => write!(out, "<all keyspaces>"),
            Self::Keyspace(keyspace) => write!(out, "<keyspace {keyspace}>"),
            Self::AllTablesIn(keyspace) => write!(out, "<all tables in {keyspace}>"),
            Self::Table { keyspace, table } => write!(out, "<table {keyspace}.{table}>"),
            Self::AllRoles => write!(out, "<all roles>"),
            Self::Role(role) => write!(out, "<role {role}>"),
            Self::AllFunctions => write!(out, "<all functions>"),
            Self::AllFunctionsIn(keyspace) => write!(out, "<all functions in {keyspace}>"),
            Self::Function { keyspace, name, arguments } => write!(out, "<function {keyspace}.{name}({})>", arguments.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one_of_each() -> Vec<Resource> {
        let name = || "ks".to_owned();
        vec![
            Resource::AllKeyspaces,
            Resource::Keyspace(name()),
            Resource::AllTablesIn(name()),
            Resource::table("ks", "t"),
            Resource::table("ks", "a/set"),
            Resource::AllRoles,
            Resource::Role("a/b".to_owned()),
            Resource::AllFunctions,
            Resource::AllFunctionsIn(name()),
            Resource::function("ks", "f", []),
            Resource::function("ks", "f", &[DataType::Int, DataType::Tuple([DataType::Int, DataType::Text].into())]),
        ]
    }

    #[test]
    fn names_lead_back() {
        for resource in one_of_each() {
            assert_eq!(Resource::from_name(&resource.name()), Some(resource));
        }
        for name in ["", "functions/ks/f", "mbean"] {
            assert_eq!(Resource::from_name(name), None, "{name}");
        }
        for permission in Permission::ALL {
            assert_eq!(Permission::from_name(permission.name()), Some(permission));
        }
    }

    #[test]
    fn a_table_is_below_all_that_has_it() {
        let chain: Vec<String> = Resource::table("ks", "t").chain().map(|resource| resource.name()).collect();
        assert_eq!(chain, ["data/ks/t", "data/ks/*", "data/ks", "data"]);
    }

    #[test]
    fn what_applies_to_a_resource_applies_to_those_above_it() {
        let described = Permissions::of(&[Permission::Describe]);
        for resource in one_of_each() {
            for above in resource.chain() {
                let (here, there) = (resource.applicable().without(described), above.applicable());
                assert_eq!(here.without(there), Permissions::default(), "{resource} below {above}");
            }
        }
    }

    #[test]
    fn sets_are_sets() {
        let (few, more) = (Permissions::of(&[Permission::Select]), Permissions::of(&[Permission::Modify, Permission::Select]));
        assert_eq!(more.without(few).iter().collect::<Vec<_>>(), [Permission::Modify]);
        assert!(few.and(more) == few && few.or(more) == more && !few.is_empty() && Permissions::default().is_empty());
        assert!(more.contains(Permission::Modify) && !few.contains(Permission::Modify));
    }
}
