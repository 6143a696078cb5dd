//! What the first superuser is made with: no password of it is known beforehand. [`crate::superuser_making`] makes it.

use crate::logins::{HashedFor, Salts, fits, hash_password};
use cql::language::ast::PasswordHashes;
use cql::roles::{self, DEFAULT_ROLE, Proof, Roles};
use model::Schema;
use std::sync::OnceLock;

/// What the first superuser is made with, if there is none.
#[derive(Debug)]
pub struct FirstSuperuser {
    pub(crate) hashes: PasswordHashes,
    pub(crate) is_made: OnceLock<bool>,
}

/// Nobody could log in with such a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("has {bytes} bytes: a password has 1 to {most}, without a zero byte", most = cql::ddl::PASSWORD_BYTES_MAX)]
pub struct NoPassword {
    /// Its length.
    bytes: usize,
}

impl FirstSuperuser {
    /// Its name.
    pub const NAME: &str = DEFAULT_ROLE;

    /// Hashes the password, which takes tens of milliseconds.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(password: &str, salts: Salts) -> Result<Self, NoPassword> {
        let refused = NoPassword { bytes: password.len() };
        if !roles::is_password(password) {
            return Err(refused);
        }
        let hashed_for = HashedFor { aerospike: true, griddb: true };
        let hashes = hash_password(password, salts, hashed_for).ok_or(refused)?;
        Ok(Self { hashes, is_made: OnceLock::new() })
    }

    pub(crate) fn hash(&self) -> &str {
        self.hashes.password.as_deref().unwrap_or_default()
    }

    /// Whether this one has become the first superuser; `None` until that is known.
    #[must_use]
    pub fn is_made(&self) -> Option<bool> {
        self.is_made.get().copied()
    }
}

/// Whether this is the password of [`FirstSuperuser::NAME`]: takes tens of milliseconds.
#[must_use]
pub fn is_password_of_first_superuser(schema: &Schema, password: &str) -> bool {
    let is_there = schema.roles.get(DEFAULT_ROLE).is_some_and(|role| role.has_password());
    is_there && fits(password, Proof::Password, Roles::of(schema).verifier(DEFAULT_ROLE, Proof::Password))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_can_log_in_with_is_no_password() {
        let refused = |password: &str| FirstSuperuser::new(password, [[1; 16]; 3]).unwrap_err().to_string();
        assert_eq!(refused(""), "has 0 bytes: a password has 1 to 72, without a zero byte");
        assert!(refused(&"x".repeat(73)).starts_with("has 73 bytes"));
        assert!(refused("a\0b").starts_with("has 3 bytes"));
    }

    #[test]
    fn the_first_superuser_is_made_once() {
        let [first, second] = [1, 2].map(|salt| FirstSuperuser::new("s3cret", [[salt; 16]; 3]).unwrap());
        let schema = roles::with_first_superuser(&Schema::empty(), first.hash()).unwrap();
        assert_ne!(schema.version, Schema::empty().version);
        assert!(is_password_of_first_superuser(&schema, "s3cret") && !is_password_of_first_superuser(&schema, "cassandra"));
        assert!(roles::with_first_superuser(&schema, second.hash()).is_none(), "there is one");
        assert!(!is_password_of_first_superuser(&Schema::empty(), "cassandra"), "there is no default");
    }
}
