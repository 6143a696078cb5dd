//! Limits of roles: connections, requests and bytes of those that have logged in as them.
//!
//! ```text
//! schema: RoleLimits ─► CoreLimits: a share for each limited role that has clients here ─► RoleUse: what all cores of the node use of it
//! ```
//!
//! A limit is that of the role that a client has logged in as, or of a role that this has been granted: the smallest one counts. Each such role has it for
//! itself, on each node.
//!
//! Invariants: a request of a role without limits compares a number with 0; one of a role with some takes from what its core has taken before, and no
//! core waits for another.

mod bucket;
mod core_limits;
mod enforcing;
mod uses;

pub(crate) use self::core_limits::{CoreLimits, OverLimit, ShareNumber};
pub use self::uses::RoleUses;
