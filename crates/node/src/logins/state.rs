//! What a core knows of passwords and of log-ins that are under way.

use super::hashing::fits;
use crate::failed_logins::{FailedLogins, TooManyFailures, is_worth_a_line};
use crate::limits::OverLimit;
use crate::requests::RequestId;
use crate::schema_changes::SchemaAction;
use crate::tags::node_tag;
use base::CoreId;
use cql::language::ast::PasswordHashes;
use cql::roles::{Proof, Verifier};
use io::{ConnectionId, DiskRequest, Reactor, Work};
use ring::hmac;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// Tags of work on another thread, from here up.
pub(crate) const COMPUTE_TAGS: u64 = 1 << 32;

/// How many comparisons and hashes of a node may wait; more are refused. Each core has its share, and a minimum.
pub(super) const UNDER_WAY_MAX: usize = 256;
pub(super) const UNDER_WAY_OF_CORE_MIN: usize = 8;
/// Statements may have so many hashes beyond that: failing log-ins must not keep superusers from their work.
pub(super) const STATEMENTS_MAX: usize = 4;

/// A keyed digest of a name and a password.
pub(super) type Digest = hmac::Tag;

/// What a core knows of passwords.
#[derive(Default)]
pub(crate) struct Logins {
    pub(super) key: Option<hmac::Key>,
    /// For each kind of proof, by role: the hash that one last matched, and the proof's digest.
    pub(super) fitted: [HashMap<String, (String, Digest)>; 3],
    pub(super) under_way: HashMap<u64, UnderWay>,
    pub(super) failed: FailedLogins,
    /// How many have failed since the start.
    pub(super) failures: u64,
    /// Comparisons that wait for their time.
    pub(super) delayed: Vec<Delayed>,
    pub(super) next: u64,
    /// Outcomes that sessions are told in the next turn.
    pub(super) answers: Vec<Answer>,
}

/// Who a client says it is.
#[derive(Clone, Copy)]
pub(crate) struct Credentials<'a> {
    pub(crate) role: &'a str,
    /// The password, or what stands for it.
    pub(crate) password: &'a str,
    pub(crate) proof: Proof,
}

/// A protocol's name for the request that logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoginTag(pub(crate) u64);

/// Why a client is not logged in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LoginRefusal {
    #[error("Provided username {role} and/or password are incorrect")]
    BadCredentials { role: Arc<str> },
    #[error(transparent)]
    TooManyFailures(#[from] TooManyFailures),
    #[error(
        "No certificate present on connection: this server is to be spoken to by TLS, with a certificate of one of its clients' authorities"
    )]
    NoCertificate,
    #[error("Unable to extract client identity from certificate for authentication: it has no {what}")]
    NoIdentity { what: &'static str },
    #[error("Certificate identity '{identity}' not authorized")]
    UnknownIdentity { identity: Arc<str> },
    #[error("{role} is not permitted to log in from {address}: the whitelist of a role that it has been granted does not have that")]
    NotWhitelisted { role: Arc<str>, address: IpAddr },
    #[error("{role} is not permitted to log in")]
    MayNotLogIn { role: Arc<str> },
    #[error(transparent)]
    OverLimit(#[from] OverLimit),
    #[error("too many passwords are being checked already; try again later")]
    Overloaded,
}

/// The outcome of a log-in: the role, and the hash that the password matches.
pub(super) struct Answer {
    pub(super) client: (ConnectionId, LoginTag),
    pub(super) role: Arc<str>,
    pub(super) fits: Option<String>,
}

/// A comparison that waits, as its client has failed before.
pub(super) struct Delayed {
    pub(super) due_us: u64,
    pub(super) login: Login,
    pub(super) password: String,
}

/// Work on another thread.
pub(super) struct UnderWay {
    pub(super) purpose: Purpose,
    pub(super) result: Arc<OnceLock<Computed>>,
}

pub(super) enum Purpose {
    Login(Login),
    /// A password that a change of the schema waits for.
    Hash {
        request: RequestId,
        change: HashedChange,
    },
}

/// Makes a change of the schema from the hashes of its password; of none if there are none.
pub(crate) type HashedChange = Box<dyn FnOnce(Option<&PasswordHashes>) -> SchemaAction + Send>;

/// A comparison, and the clients that wait for it.
pub(super) struct Login {
    pub(super) role: String,
    pub(super) proof: Proof,
    pub(super) hash: String,
    /// What `hash` is the hash of.
    pub(super) of: Proof,
    pub(super) digest: Digest,
    /// Of the first of them.
    pub(super) address: IpAddr,
    pub(super) clients: Vec<(ConnectionId, LoginTag)>,
}

/// The result of work on another thread.
pub(super) enum Computed {
    Compared { fits: bool },
    Hashed(Option<PasswordHashes>),
}

impl Logins {
    pub(super) fn digest<R: Reactor>(&mut self, reactor: &mut R, credentials: Credentials<'_>) -> Digest {
        let key = self.key.get_or_insert_with(|| {
            let mut bytes = [0; 32];
            reactor.entropy(&mut bytes);
            hmac::Key::new(hmac::HMAC_SHA256, &bytes)
        });
        let mut context = hmac::Context::with_key(key);
        // No name and no password has a zero byte.
        let kind = match credentials.proof {
            Proof::Password => "\0",
            Proof::AerospikeHash => "\0\0",
            Proof::GridDbDigest => "\0\0\0",
        };
        [credentials.role, kind, credentials.password].into_iter().for_each(|part| context.update(part.as_bytes()));
        context.sign()
    }

    /// Starts work on another thread.
    pub(super) fn compute<R: Reactor>(&mut self, reactor: &mut R, purpose: Purpose, compute: impl FnOnce() -> Computed + Send + 'static) {
        let result = Arc::new(OnceLock::new());
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, UnderWay { purpose, result: Arc::clone(&result) });
        let work = Work::new(move || drop(result.set(compute())));
        reactor.submit(node_tag(COMPUTE_TAGS + number), DiskRequest::Compute { work });
    }

    pub(super) fn check_room(&self, most: usize) -> Result<(), LoginRefusal> {
        if self.under_way.len() + self.delayed.len() < most { Ok(()) } else { Err(LoginRefusal::Overloaded) }
    }

    /// Begins a comparison.
    pub(super) fn compare<R: Reactor>(&mut self, reactor: &mut R, login: Login, password: String) {
        let (hash, of, proof) = (login.hash.clone(), login.of, login.proof);
        let compare = move || Computed::Compared { fits: fits(&password, proof, Verifier { hash: &hash, of }) };
        self.compute(reactor, Purpose::Login(login), compare);
    }

    /// How many log-ins have failed since the start.
    pub(crate) fn failures(&self) -> u64 {
        self.failures
    }

    /// Whether an outcome waits to be told.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }
}

pub(super) fn is_same(one: &Digest, other: &Digest) -> bool {
    one.as_ref() == other.as_ref()
}

impl Logins {
    /// A log-in has failed.
    pub(super) fn failed(&mut self, core: CoreId, address: IpAddr, role: &str, connections: usize, now_us: u64) {
        self.failures += 1;
        let failures = self.failed.failed(address, role, now_us);
        if is_worth_a_line(failures) {
            tracing::warn!(core = core.0, %address, role, connections, failures, "refused to log in: no such role, or another password");
        }
    }
}
