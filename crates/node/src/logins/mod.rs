//! Log-in. Passwords are compared with their hashes on another thread, and hashed there when a role gets one: either takes tens of milliseconds, by
//! intent.
//!
//! A password that has matched once is recognized by a keyed digest that lives as long as the process. So a client costs one comparison for each core,
//! not for each connection.
//!
//! Who fails again and again is slowed down: see [`crate::failed_logins`]. What waits for that takes no thread's time.
//!
//! Where certificates of clients log in, `certificates` says as whom. A client that has logged in by one is disconnected when its identity is no longer
//! its role's.
//!
//! Invariants: a log-in succeeds only if the password matches the hash that the role has when the comparison ends. A client whose role may no longer log
//! in is disconnected.

mod certificates;
mod hashing;
mod session_tokens;
mod state;
mod steps;

pub(crate) use self::hashing::{
    FORBIDDEN_AEROSPIKE_HASH, HashedFor, Salts, hash_aerospike, hash_griddb, hash_password, is_aerospike_hash, is_griddb_digest,
};
pub use self::hashing::{aerospike_hash, fits};
pub(crate) use self::session_tokens::{SESSION_S, SessionKey, role_of_token};
pub(crate) use self::state::{COMPUTE_TAGS, Credentials, HashedChange, LoginRefusal, LoginTag, Logins};
