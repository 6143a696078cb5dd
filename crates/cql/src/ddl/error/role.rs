//! Why a statement about roles, permissions or identities is refused.

use super::kind::DdlErrorKind;

/// bcrypt looks at so many bytes of a password.
pub const PASSWORD_BYTES_MAX: usize = 72;

/// Why a statement about roles, permissions or identities is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // the fields are what the messages name
pub enum RoleError {
    #[error("Role name can't be an empty string, nor have a zero byte")]
    RoleName,
    #[error("{0} already exists")]
    RoleExists(String),
    #[error("{0} doesn't exist")]
    UnknownRole(String),
    #[error("Role {0} doesn't exist")]
    UnknownAlteredRole(String),
    #[error("You are not authorized to view roles granted to {0} ")]
    HiddenRole(String),
    #[error("User {role} has no {permission} permission on {resource} or any of its parents")]
    NotPermitted { role: String, permission: &'static str, resource: String },
    #[error("User {0} does not have sufficient privileges to perform the requested operation")]
    Insufficient(String),
    #[error("Only superusers {0}")]
    OnlySuperusers(&'static str),
    #[error("You are not authorized to view {0}'s permissions")]
    HiddenPermissions(String),
    #[error("Resource type {0} does not support any of the requested permissions")]
    NotApplicable(&'static str),
    #[error("Resource {0} doesn't exist")]
    UnknownResource(String),
    #[error("In this context function name must be explictly qualified by a keyspace")]
    FunctionKeyspace,
    #[error("Altering permissions on builtin functions is not supported")]
    NativeFunction,
    #[error("You aren't allowed to alter your own superuser status or that of a role granted to you")]
    OwnSuperuser,
    #[error("You aren't allowed to alter {0}")]
    OwnOption(&'static str),
    #[error("Cannot DROP primary role for current login")]
    OwnRole,
    #[error("Can not add identity for non-existent role '{0}'")]
    IdentityOfNobody(String),
    #[error("{0} already exists")]
    IdentityExists(String),
    #[error("identity '{0}' doesn't exist")]
    UnknownIdentity(String),
    #[error("An identity has 1 to {0} bytes")]
    IdentityLength(usize),
    #[error("There would be no superuser left who can log in")]
    LastSuperuser,
    #[error("{member} is a member of {group}")]
    IsMember { member: String, group: String },
    #[error("{member} is not a member of {group}")]
    IsNotMember { member: String, group: String },
    #[error("Invalid hashed password value. Please use jBCrypt.")]
    HashedPassword,
    #[error("A password has 1 to {} bytes, none of which is zero", PASSWORD_BYTES_MAX)]
    Password,
    #[error("org.apache.cassandra.auth.CassandraRoleManager doesn't support {0}")]
    RoleOption(&'static str),
    #[error("a role has no option {name:?}{}", suggestion.as_ref().map_or(String::new(), |known| format!("; did you mean {known}?")))]
    UnknownRoleOption { name: String, suggestion: Option<String> },
    #[error("The option {limit} of a role is a number up to {}, not {value:?}; 0 is no limit", model::ROLE_LIMIT_MAX)]
    RoleLimit { limit: &'static str, value: String },
    #[error("Invalid value(s) for DATACENTERS '[{0}]', All values must be valid datacenters")]
    UnknownDatacenters(String),
    #[error("'{0}' is no address or network, as '10.1.0.0/16' or 'fd00::7' are; groups of networks have no names here")]
    NoNetwork(String),
    #[error("{0} is not supported by {1}")]
    NoAuthorizer(&'static str, &'static str),
}

impl RoleError {
    /// Its error code.
    #[must_use]
    pub fn kind(&self) -> DdlErrorKind {
        match self {
            Self::NotApplicable(_) => DdlErrorKind::Syntax,
            Self::HiddenRole(_)
            | Self::NotPermitted { .. }
            | Self::Insufficient(_)
            | Self::OnlySuperusers(_)
            | Self::HiddenPermissions(_)
            | Self::OwnSuperuser
            | Self::OwnOption(_) => DdlErrorKind::Unauthorized,
            _ => DdlErrorKind::Invalid,
        }
    }
}
