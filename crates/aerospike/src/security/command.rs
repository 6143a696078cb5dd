//! What a client asks for.
//!
//! | offset | bytes | a command |
//! |---|---|---|
//! | 0 | 2 | nothing; of a reply, the second byte is the result |
//! | 2 | 1 | the command |
//! | 3 | 1 | number of fields |
//! | 4 | 12 | nothing |
//! | 16 | … | fields |

use super::fields::{Fields, field};
use super::privilege::Privilege;
use crate::ResultCode;

/// Bytes before the fields.
pub(super) const HEADER_BYTES: usize = 16;

/// Who a client says it is, and what it shows for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The user; none where the certificate says it.
    pub user: Option<String>,
    /// What the client makes of the password.
    pub credential: Option<String>,
    /// The password itself: sent by clients that are told that somebody else than the server knows users.
    pub clear_password: Option<String>,
}

/// How many operations a second a role's users may do; 0 is any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Reads.
    pub read: u32,
    /// Writes.
    pub write: u32,
}

/// A command about users. Passwords in it are what clients make of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields are named as the protocol names them")]
pub enum Command {
    /// Asks for a session.
    Login(Login),
    /// Uses one on another connection; clients of before there were sessions show the credential instead.
    Authenticate {
        login: Login,
        token: Option<Vec<u8>>,
    },
    CreateUser {
        user: String,
        password: String,
        roles: Vec<String>,
    },
    DropUser {
        user: String,
    },
    SetPassword {
        user: String,
        password: String,
    },
    ChangePassword {
        user: String,
        old_password: String,
        password: String,
    },
    GrantRoles {
        user: String,
        roles: Vec<String>,
    },
    RevokeRoles {
        user: String,
        roles: Vec<String>,
    },
    QueryUsers {
        user: Option<String>,
    },
    CreateRole {
        role: String,
        privileges: Vec<Privilege>,
        whitelist: Vec<String>,
        quotas: Quotas,
    },
    DropRole {
        role: String,
    },
    GrantPrivileges {
        role: String,
        privileges: Vec<Privilege>,
    },
    RevokePrivileges {
        role: String,
        privileges: Vec<Privilege>,
    },
    SetWhitelist {
        role: String,
        whitelist: Vec<String>,
    },
    SetQuotas {
        role: String,
        quotas: Quotas,
    },
    QueryRoles {
        role: Option<String>,
    },
}

impl Command {
    /// Reads a command.
    ///
    /// # Errors
    /// What the client is answered.
    pub fn decode(body: &[u8]) -> Result<Self, ResultCode> {
        let (header, rest) = body.split_first_chunk::<HEADER_BYTES>().ok_or(ResultCode::INVALID_COMMAND)?;
        let fields = Fields::read(rest, header[3])?;
        let user = || fields.needed(field::USER, ResultCode::INVALID_USER);
        let role = || fields.needed(field::ROLE, ResultCode::INVALID_ROLE);
        let password = || fields.needed(field::PASSWORD, ResultCode::INVALID_PASSWORD);
        let some_roles = || fields.roles().and_then(|roles| if roles.is_empty() { Err(ResultCode::INVALID_ROLE) } else { Ok(roles) });
        let some_privileges = || match fields.privileges()? {
            none if none.is_empty() => Err(ResultCode::INVALID_PRIVILEGE),
            some => Ok(some),
        };
        Ok(match header[2] {
            0 => Self::Authenticate { login: login(&fields)?, token: fields.bytes(field::SESSION_TOKEN).map(<[u8]>::to_vec) },
            1 => Self::CreateUser { user: user()?, password: password()?, roles: fields.roles()? },
            2 => Self::DropUser { user: user()? },
            3 => Self::SetPassword { user: user()?, password: password()? },
            4 => {
                let old_password = fields.needed(field::OLD_PASSWORD, ResultCode::INVALID_CREDENTIAL)?;
                Self::ChangePassword { user: user()?, old_password, password: password()? }
            }
            5 => Self::GrantRoles { user: user()?, roles: some_roles()? },
            6 => Self::RevokeRoles { user: user()?, roles: some_roles()? },
            9 => Self::QueryUsers { user: fields.text(field::USER, ResultCode::INVALID_USER)? },
            10 => Self::CreateRole {
                role: role()?,
                privileges: fields.privileges()?,
                whitelist: fields.whitelist()?.unwrap_or_default(),
                quotas: quotas(&fields)?,
            },
            11 => Self::DropRole { role: role()? },
            12 => Self::GrantPrivileges { role: role()?, privileges: some_privileges()? },
            13 => Self::RevokePrivileges { role: role()?, privileges: some_privileges()? },
            14 => Self::SetWhitelist { role: role()?, whitelist: fields.whitelist()?.unwrap_or_default() },
            15 => Self::SetQuotas { role: role()?, quotas: quotas(&fields)? },
            16 => Self::QueryRoles { role: fields.text(field::ROLE, ResultCode::INVALID_ROLE)? },
            20 => Self::Login(login(&fields)?),
            _ => return Err(ResultCode::INVALID_COMMAND),
        })
    }

    /// Its name, as the audit log tells it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Login(_) => "LOGIN",
            Self::Authenticate { .. } => "AUTHENTICATE",
            Self::CreateUser { .. } => "CREATE_USER",
            Self::DropUser { .. } => "DROP_USER",
            Self::SetPassword { .. } => "SET_PASSWORD",
            Self::ChangePassword { .. } => "CHANGE_PASSWORD",
            Self::GrantRoles { .. } => "GRANT_ROLES",
            Self::RevokeRoles { .. } => "REVOKE_ROLES",
            Self::QueryUsers { .. } => "QUERY_USERS",
            Self::CreateRole { .. } => "CREATE_ROLE",
            Self::DropRole { .. } => "DROP_ROLE",
            Self::GrantPrivileges { .. } => "GRANT_PRIVILEGES",
            Self::RevokePrivileges { .. } => "REVOKE_PRIVILEGES",
            Self::SetWhitelist { .. } => "SET_WHITELIST",
            Self::SetQuotas { .. } => "SET_QUOTAS",
            Self::QueryRoles { .. } => "QUERY_ROLES",
        }
    }

    /// The user or role that it is about.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::Login(login) | Self::Authenticate { login, .. } => login.user.as_deref(),
            Self::CreateUser { user, .. }
            | Self::DropUser { user }
            | Self::SetPassword { user, .. }
            | Self::ChangePassword { user, .. }
            | Self::GrantRoles { user, .. }
            | Self::RevokeRoles { user, .. } => Some(user),
            Self::CreateRole { role, .. }
            | Self::DropRole { role }
            | Self::GrantPrivileges { role, .. }
            | Self::RevokePrivileges { role, .. }
            | Self::SetWhitelist { role, .. }
            | Self::SetQuotas { role, .. } => Some(role),
            Self::QueryUsers { user } => user.as_deref(),
            Self::QueryRoles { role } => role.as_deref(),
        }
    }
}

fn login(fields: &Fields<'_>) -> Result<Login, ResultCode> {
    Ok(Login {
        user: fields.text(field::USER, ResultCode::INVALID_USER)?,
        credential: fields.text(field::CREDENTIAL, ResultCode::INVALID_CREDENTIAL)?,
        clear_password: fields.text(field::CLEAR_PASSWORD, ResultCode::INVALID_CREDENTIAL)?,
    })
}

fn quotas(fields: &Fields<'_>) -> Result<Quotas, ResultCode> {
    let number = |number| fields.number(number).map(Option::unwrap_or_default);
    Ok(Quotas { read: number(field::READ_QUOTA)?, write: number(field::WRITE_QUOTA)? })
}
