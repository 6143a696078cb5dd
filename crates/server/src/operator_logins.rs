//! Log-ins of operators over HTTP: the same roles, passwords and delays as clients have, asked on threads that are no core's.
//!
//! Invariant: one password is compared at a time, so that guesses take
//! no more than one CPU.

use cql::roles::{Proof, Roles};
use node::{Board, FailedLogins, TooManyFailures, fits_password, is_worth_a_line};
use ring::hmac;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A certificate that does not log in is told of so often at most.
const TOLD_EACH_US: u64 = 60_000_000;
/// Roles whose password is known again; beyond, all are forgotten.
const FITTED_MAX: usize = 64;

/// What an operator may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperatorRights {
    /// See figures.
    Reads,
    /// Give orders, too: a superuser.
    Orders,
}

/// Why an operator is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OperatorRefusal {
    /// No such role, or another password.
    #[error("wrong role or password")]
    BadCredentials,
    /// Too many have failed.
    #[error(transparent)]
    TooManyFailures(#[from] TooManyFailures),
    /// A certificate of nobody.
    #[error("the certificate's identity '{identity}' is no role's (ADD IDENTITY)")]
    UnknownIdentity {
        /// Whose it is.
        identity: String,
    },
    /// One of a role that may not log in.
    #[error("the certificate's role {role} may not log in from here")]
    NotAdmitted {
        /// Which role it is.
        role: String,
    },
    /// Nobody can log in yet.
    #[error("there are no roles yet: this node is starting, or has not been taken in by its cluster")]
    NoRoles,
}

/// What the HTTP port asks.
pub(crate) struct OperatorLogins {
    board: Arc<Board>,
    failed: Mutex<FailedLogins>,
    /// By role: the hash that a password has matched, and the password's digest.
    fitted: Mutex<HashMap<String, (String, hmac::Tag)>>,
    comparing: Mutex<()>,
    refused: Mutex<RefusedCertificates>,
    key: hmac::Key,
    started: Instant,
}

/// How many certificates have not logged in, and when that was told last.
#[derive(Default)]
struct RefusedCertificates {
    count: u64,
    told_us: Option<u64>,
}

impl OperatorLogins {
    pub(crate) fn new(board: Arc<Board>) -> Self {
        let mut key = [0; 32];
        io_linux::fill_with_entropy(&mut key);
        Self {
            board,
            failed: Mutex::default(),
            fitted: Mutex::default(),
            comparing: Mutex::new(()),
            refused: Mutex::default(),
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            started: Instant::now(),
        }
    }

    /// Checks a password; takes tens of milliseconds, and seconds if many have failed.
    pub(crate) fn log_in(&self, address: IpAddr, role: &str, password: &str) -> Result<OperatorRights, OperatorRefusal> {
        let schema = self.board.schema();
        if schema.roles.is_empty() {
            return Err(OperatorRefusal::NoRoles);
        }
        let roles = Roles::of(&schema);
        let verifier = roles.verifier(role, Proof::Password);
        let hash = verifier.hash;
        let digest = hmac::sign(&self.key, &[role.as_bytes(), b"\0", password.as_bytes()].concat());
        let is_known = lock(&self.fitted).get(role).is_some_and(|(fitted, known)| fitted == hash && known.as_ref() == digest.as_ref());
        if !(is_known && roles.logs_in(role, hash)) {
            let wait_us = lock(&self.failed).wait_us(address, role, self.now_us())?;
            std::thread::sleep(Duration::from_micros(wait_us));
            let fits = {
                let _one_at_a_time = lock(&self.comparing);
                fits_password(password, Proof::Password, verifier) && roles.logs_in(role, hash)
            };
            if !fits {
                self.note_failure(address, role);
                return Err(OperatorRefusal::BadCredentials);
            }
            let mut fitted = lock(&self.fitted);
            if fitted.len() >= FITTED_MAX {
                fitted.clear();
            }
            fitted.insert(role.to_owned(), (hash.to_owned(), digest));
        }
        // Whitelists may have changed since the password was compared.
        if !roles.admits(role, address) {
            self.note_failure(address, role);
            return Err(OperatorRefusal::BadCredentials);
        }
        Ok(rights(roles, role))
    }

    /// The role of a verified certificate's identity, and its rights.
    pub(crate) fn certified(&self, address: IpAddr, identity: &str) -> Result<(Arc<str>, OperatorRights), OperatorRefusal> {
        let certified = self.role_certified(address, identity);
        if let Err(refusal) = &certified {
            self.note_refused(address, refusal);
        }
        certified
    }

    fn role_certified(&self, address: IpAddr, identity: &str) -> Result<(Arc<str>, OperatorRights), OperatorRefusal> {
        let schema = self.board.schema();
        if schema.roles.is_empty() {
            return Err(OperatorRefusal::NoRoles);
        }
        let roles = Roles::of(&schema);
        let role = roles.of_identity(identity).ok_or_else(|| OperatorRefusal::UnknownIdentity { identity: identity.to_owned() })?;
        if roles.with_login(role).is_none() || !roles.admits(role, address) {
            return Err(OperatorRefusal::NotAdmitted { role: role.to_owned() });
        }
        Ok((role.into(), rights(roles, role)))
    }

    /// The role of an identity, if it has one.
    pub(crate) fn role_of(&self, identity: &str) -> Option<String> {
        Roles::of(&self.board.schema()).of_identity(identity).map(str::to_owned)
    }

    fn note_failure(&self, address: IpAddr, role: &str) {
        let failures = lock(&self.failed).failed(address, role, self.now_us());
        if is_worth_a_line(failures) {
            tracing::warn!(%address, role, failures, "refused to log in over HTTP: no such role, or another password");
        }
    }

    /// Tells of it once a minute: no guess is behind it that had to be slowed down.
    fn note_refused(&self, address: IpAddr, refusal: &OperatorRefusal) {
        let (now_us, mut refused) = (self.now_us(), lock(&self.refused));
        refused.count += 1;
        if refused.told_us.is_none_or(|told_us| now_us - told_us >= TOLD_EACH_US) {
            refused.told_us = Some(now_us);
            tracing::warn!(%address, certificates = refused.count, "refused to log in over HTTP: {refusal}");
        }
    }

    fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

fn rights(roles: Roles<'_>, role: &str) -> OperatorRights {
    if roles.is_superuser(role) { OperatorRights::Orders } else { OperatorRights::Reads }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use cql::roles::with_first_superuser;
    use model::{Role, Schema};

    #[test]
    fn roles_of_the_schema_log_in_and_superusers_give_orders() {
        let board = Arc::new(Board::new(false));
        let logins = OperatorLogins::new(Arc::clone(&board));
        let address: IpAddr = [127, 0, 0, 1].into();
        assert_eq!(logins.log_in(address, "cassandra", "cassandra"), Err(OperatorRefusal::NoRoles));
        let hash = bcrypt::hash_with_salt("s3cret", 4, [1; 16]).unwrap().to_string();
        let mut schema = with_first_superuser(&Schema::empty(), &hash).unwrap();
        let reader = Role { can_login: true, password_hash: Some(hash.clone()), ..Role::default() };
        schema.roles.insert("reader".to_owned(), Arc::new(reader));
        board.set_schema(&Arc::new(schema.clone()));
        for _ in 0..2 {
            assert_eq!(logins.log_in(address, "cassandra", "s3cret"), Ok(OperatorRights::Orders));
            assert_eq!(logins.log_in(address, "reader", "s3cret"), Ok(OperatorRights::Reads));
            assert_eq!(logins.log_in(address, "reader", "other"), Err(OperatorRefusal::BadCredentials));
            assert_eq!(logins.log_in(address, "nobody", "cassandra"), Err(OperatorRefusal::BadCredentials));
        }
        let reader = Role { can_login: true, identities: ["jo".to_owned()].into(), ..Role::default() };
        schema.roles.insert("reader".to_owned(), Arc::new(reader));
        let locked = Role { identities: ["mo".to_owned()].into(), ..Role::default() };
        schema.roles.insert("locked".to_owned(), Arc::new(locked));
        board.set_schema(&Arc::new(schema.clone()));
        assert_eq!(logins.certified(address, "jo"), Ok(("reader".into(), OperatorRights::Reads)));
        assert_eq!(logins.certified(address, "mo"), Err(OperatorRefusal::NotAdmitted { role: "locked".to_owned() }));
        assert_eq!(logins.certified(address, "no"), Err(OperatorRefusal::UnknownIdentity { identity: "no".to_owned() }));
        schema.roles.remove("reader");
        board.set_schema(&Arc::new(schema));
        assert_eq!(logins.log_in(address, "reader", "s3cret"), Err(OperatorRefusal::BadCredentials), "whoever is dropped is out at once");
        assert!(logins.certified(address, "jo").is_err());
    }
}
