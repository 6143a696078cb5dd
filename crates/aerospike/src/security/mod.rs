//! Users, roles and their privileges: the messages about them, and which of the permissions that all protocols have a privilege is.
//!
//! A message is read into a [`Command`]; whoever serves it answers with [`write_result`], [`write_session`], [`write_users`] or [`write_roles`].
//! The source is the Java client's `AdminCommand`.

mod command;
mod fields;
mod privilege;
mod reply;

pub use command::{Command, Login, Quotas};
pub use privilege::{PREDEFINED_ROLES, Privilege, PrivilegeKind, Scope, predefined, privileges_of};
pub use reply::{RoleShown, UserShown, read_result, write_login, write_result, write_roles, write_session, write_users};

#[cfg(test)]
mod tests;
