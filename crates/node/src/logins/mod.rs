//! Log-in. Passwords are compared with their hashes on another thread, and hashed there when a role gets one: either takes tens of milliseconds, by
//! intent.
//!
//! A password that has matched once is recognized by a keyed digest that lives as long as the process. So a client costs one comparison for each core,
//! not for each connection.
//!
//! Who fails again and again is slowed down: see [`crate::failed_logins`]. What waits for that takes no thread's time.
//!
//! Invariants: a log-in succeeds only if the password matches the hash that the role has when the comparison ends. A client whose role may no longer log
//! in is disconnected.

mod state;
mod steps;

pub(crate) use self::state::{COMPUTE_TAGS, Credentials, HashedChange, LoginRefusal, LoginTag, Logins};
