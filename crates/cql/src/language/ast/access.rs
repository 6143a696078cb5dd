//! Roles and permissions. CREATE USER, ALTER USER and DROP USER are statements about roles too, as in Cassandra.

use super::{
    name::{FunctionName, Identifier, QualifiedName},
    term::Literal,
    type_name::TypeName,
};
use model::Permission;

/// `CREATE ROLE …` and `CREATE USER …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateRole {
    /// The role.
    pub name: Identifier,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// `WITH …`; CREATE USER adds `LOGIN = true` and always says whether SUPERUSER.
    pub options: Vec<RoleOption>,
}

/// `ALTER ROLE …` and `ALTER USER …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterRole {
    /// The role.
    pub name: Identifier,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// `WITH …`
    pub options: Vec<RoleOption>,
}

/// `DROP ROLE …` and `DROP USER …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropRole {
    /// The role.
    pub name: Identifier,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// A password, hashed for whoever compares it. All of them are of the same one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordHashes {
    /// Of the password; none where only a client of another protocol knows that.
    pub password: Option<Box<str>>,
    /// Of what Aerospike's clients send in its place; none where they cannot log in.
    pub aerospike: Option<Box<str>>,
    /// The same of GridDB's.
    pub griddb: Option<Box<str>>,
}

/// An option of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleOption {
    /// `PASSWORD = '…'`
    Password(Box<str>),
    /// `HASHED PASSWORD = '…'`
    HashedPassword(Box<str>),
    /// What [`RoleOption::Password`] is replaced with, or a password that no statement has.
    PasswordHashes(PasswordHashes),
    /// `GENERATED PASSWORD`
    GeneratedPassword,
    /// `SUPERUSER = …`
    Superuser(bool),
    /// `LOGIN = …`
    Login(bool),
    /// `OPTIONS = {…}`
    Options(Vec<(Literal, Literal)>),
    /// `ACCESS TO …`
    Datacenters(AccessScope),
    /// `ACCESS FROM …`
    Cidrs(AccessScope),
}

/// Where a role may come in, or from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessScope {
    /// `ALL …`
    All,
    /// `{'…', …}`
    Only(Vec<Box<str>>),
}

impl AccessScope {
    /// What it is restricted to; nothing where it is not.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names: &[Box<str>] = match self {
            Self::All => &[],
            Self::Only(names) => names,
        };
        names.iter().map(AsRef::as_ref)
    }
}

/// `GRANT role TO grantee`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRole {
    /// The role to give.
    pub role: Identifier,
    /// Who gets it.
    pub grantee: Identifier,
}

/// `REVOKE role FROM revokee`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokeRole {
    /// The role to take.
    pub role: Identifier,
    /// Who loses it.
    pub revokee: Identifier,
}

/// `GRANT permissions ON resource TO grantee`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantPermissions {
    /// What is allowed.
    pub permissions: PermissionSet,
    /// On what.
    pub resource: Resource,
    /// Whom.
    pub grantee: Identifier,
}

/// `REVOKE permissions ON resource FROM revokee`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokePermissions {
    /// What is no longer allowed.
    pub permissions: PermissionSet,
    /// On what.
    pub resource: Resource,
    /// Whom.
    pub revokee: Identifier,
}

/// `LIST permissions …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListPermissions {
    /// Which permissions.
    pub permissions: PermissionSet,
    /// `ON …`
    pub resource: Option<Resource>,
    /// `OF …`
    pub grantee: Option<Identifier>,
    /// False after `NORECURSIVE`.
    pub recursive: bool,
}

/// `LIST ROLES …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRoles {
    /// `OF …`
    pub grantee: Option<Identifier>,
    /// False after `NORECURSIVE`.
    pub recursive: bool,
}

/// `ADD IDENTITY … TO ROLE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddIdentity {
    /// The identity of a client's certificate.
    pub identity: Box<str>,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The role that it logs in as.
    pub role: Box<str>,
}

/// `DROP IDENTITY …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropIdentity {
    /// The identity.
    pub identity: Box<str>,
    /// `IF EXISTS`
    pub if_exists: bool,
}

/// The permissions a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionSet {
    /// `ALL` or `ALL PERMISSIONS`
    All,
    /// At least one, in the text's order.
    Some(Vec<Permission>),
}

/// What a permission is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `ALL KEYSPACES`
    AllKeyspaces,
    /// `KEYSPACE ks`
    Keyspace(Identifier),
    /// `ALL TABLES IN KEYSPACE ks`
    AllTablesIn(Identifier),
    /// `[TABLE] t`
    Table(QualifiedName),
    /// `ALL ROLES`
    AllRoles,
    /// `ROLE r`
    Role(Identifier),
    /// `ALL FUNCTIONS`
    AllFunctions,
    /// `ALL FUNCTIONS IN KEYSPACE ks`
    AllFunctionsIn(Identifier),
    /// `FUNCTION f(types)`
    Function(FunctionName, Vec<TypeName>),
    /// `ALL MBEANS`
    AllMBeans,
    /// `MBEAN 'name'`
    MBean(Box<str>),
    /// `MBEANS 'pattern'`
    MBeans(Box<str>),
}
