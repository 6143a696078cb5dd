//! Who clients are. Passwords are compared with their hashes on another thread, and hashed there when a role gets one: either takes tens of
//! milliseconds, by intent.
//!
//! What has fitted once is known again by a keyed digest that lives as long as the process, so that a client with many connections, or one
//! that comes again, costs a comparison for each core and not for each connection.
//!
//! Invariants: a password is compared with the hash that its role has when the comparison ends; nobody who has lost the right to log in stays
//! connected.

use crate::core::{Core, node_tag};
use crate::message::{Message, SchemaAction, SchemaRequest};
use crate::requests::{Request, RequestId};
use base::CoreId;
use cql::CqlError;
use cql::language::ast::Statement;
use cql::roles::{self, Roles};
use cql::session::Credentials;
use cql::wire::StreamId;
use io::{ConnectionId, DiskRequest, Reactor, Work};
use ring::hmac;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Tags of work on another thread, from here up.
pub(crate) const COMPUTE_TAGS: u64 = 1 << 32;

/// How many comparisons and hashes of a node may wait, each of tens of milliseconds; more are refused. Each core has its share, and some at least.
const UNDER_WAY_MAX: usize = 256;
const UNDER_WAY_OF_CORE_MIN: usize = 8;
/// So many more may be hashed for statements than compared: who is no member must not keep superusers from their work.
const STATEMENTS_MAX: usize = 4;

const SALT_BYTES: usize = 16;

/// A keyed digest of a name and a password.
type Digest = hmac::Tag;

/// What a core knows of passwords.
#[derive(Default)]
pub(crate) struct Logins {
    key: Option<hmac::Key>,
    /// By role: the hash that a password last fitted, and its digest.
    fitted: HashMap<String, (String, Digest)>,
    under_way: HashMap<u64, UnderWay>,
    next: u64,
    /// What their sessions have to be told, once nobody serves them.
    answers: Vec<Answer>,
}

/// What came of a login: who it is, and the hash that the password fits.
struct Answer {
    connection: ConnectionId,
    stream: StreamId,
    role: Arc<str>,
    fits: Option<String>,
}

/// Work on another thread.
struct UnderWay {
    purpose: Purpose,
    result: Arc<OnceLock<Computed>>,
}

enum Purpose {
    Login(Login),
    /// A statement whose password is being hashed.
    Statement {
        request: RequestId,
        keyspace: Option<String>,
        role: Arc<str>,
        statement: Box<Statement>,
    },
}

/// A comparison, and those who wait for it.
struct Login {
    role: String,
    hash: String,
    digest: Digest,
    clients: Vec<(ConnectionId, StreamId)>,
}

/// What came of work.
enum Computed {
    Compared { fits: bool },
    Hashed(Option<String>),
}

impl Logins {
    fn digest<R: Reactor>(&mut self, reactor: &mut R, credentials: Credentials<'_>) -> Digest {
        let key = self.key.get_or_insert_with(|| {
            let mut bytes = [0; 32];
            reactor.entropy(&mut bytes);
            hmac::Key::new(hmac::HMAC_SHA256, &bytes)
        });
        let mut context = hmac::Context::with_key(key);
        // No name and no password has a zero byte.
        [credentials.role, "\0", credentials.password].into_iter().for_each(|part| context.update(part.as_bytes()));
        context.sign()
    }

    /// Gives work to another thread.
    fn compute<R: Reactor>(&mut self, reactor: &mut R, purpose: Purpose, compute: impl FnOnce() -> Computed + Send + 'static) {
        let result = Arc::new(OnceLock::new());
        let number = self.next;
        self.next += 1;
        self.under_way.insert(number, UnderWay { purpose, result: Arc::clone(&result) });
        let work = Work::new(move || drop(result.set(compute())));
        reactor.submit(node_tag(COMPUTE_TAGS + number), DiskRequest::Compute { work });
    }

    fn must_have_room(&self, most: usize) -> Result<(), CqlError> {
        match self.under_way.len() < most {
            true => Ok(()),
            false => Err(CqlError::Overloaded("too many passwords are being checked already; try again later".to_owned())),
        }
    }

    /// Whether somebody is to be told something.
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }
}

fn is_same(one: &Digest, other: &Digest) -> bool {
    one.as_ref() == other.as_ref()
}

impl Core {
    /// Finds out whether a client is who it says; its session is told later.
    pub(crate) fn check_credentials<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        (connection, stream): (ConnectionId, StreamId),
        credentials: Credentials<'_>,
    ) -> Result<(), CqlError> {
        let digest = self.logins.digest(reactor, credentials);
        let roles = Roles::of(&self.schema);
        let hash = roles.hash_of(credentials.role);
        let is_known = self.logins.fitted.get(credentials.role).is_some_and(|(fitted, known)| fitted == hash && is_same(known, &digest));
        if is_known && roles.logs_in(credentials.role, hash) {
            self.logins.answers.push(Answer { connection, stream, role: credentials.role.into(), fits: Some(hash.to_owned()) });
            return Ok(());
        }
        let same = self.logins.under_way.values_mut().find_map(|work| match &mut work.purpose {
            Purpose::Login(login) if login.role == credentials.role && login.hash == hash && is_same(&login.digest, &digest) => Some(login),
            _ => None,
        });
        if let Some(login) = same {
            login.clients.push((connection, stream));
            return Ok(());
        }
        self.logins.must_have_room(self.comparisons_max())?;
        let login = Login { role: credentials.role.to_owned(), hash: hash.to_owned(), digest, clients: vec![(connection, stream)] };
        let (password, hash) = (credentials.password.to_owned(), hash.to_owned());
        self.logins
            .compute(reactor, Purpose::Login(login), move || Computed::Compared { fits: bcrypt::verify(password, &hash).unwrap_or(false) });
        Ok(())
    }

    /// Hashes the password of a statement about a role, then has core 0 carry the statement out for the request. `role` is who asks.
    pub(crate) fn hash_password<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        request: Request,
        keyspace: Option<String>,
        role: &Arc<str>,
        statement: &Statement,
    ) -> Result<(), CqlError> {
        self.logins.must_have_room(self.comparisons_max() + STATEMENTS_MAX)?;
        let password = roles::password_of(statement)?.unwrap_or_default().to_owned();
        let mut salt = [0; SALT_BYTES];
        reactor.entropy(&mut salt);
        let (request, role, statement) = (self.requests.insert(request), Arc::clone(role), Box::new(statement.clone()));
        self.logins.compute(reactor, Purpose::Statement { request, keyspace, role, statement }, move || {
            // `password_of` has seen to its length.
            let parts = bcrypt::hash_with_salt(password, roles::HASH_COST, salt);
            Computed::Hashed(parts.ok().map(|parts| parts.format_for_version(bcrypt::Version::TwoB)))
        });
        Ok(())
    }

    fn comparisons_max(&self) -> usize {
        (UNDER_WAY_MAX / usize::from(self.cores)).max(UNDER_WAY_OF_CORE_MIN)
    }

    /// Another thread has done its work.
    pub(crate) fn computed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, number: u64) {
        let Some(UnderWay { purpose, result }) = self.logins.under_way.remove(&number) else { return };
        match (purpose, Arc::into_inner(result).and_then(OnceLock::into_inner)) {
            (Purpose::Login(login), outcome) => self.compared(login, matches!(outcome, Some(Computed::Compared { fits: true }))),
            (Purpose::Statement { request, keyspace, role, mut statement }, outcome) => {
                if let Some(Computed::Hashed(Some(hash))) = outcome {
                    roles::set_hash(&mut statement, &hash);
                }
                let action = SchemaAction::Statement { keyspace, role: Some(role), statement };
                let request = SchemaRequest { origin: self.core, request, action };
                reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
            }
        }
    }

    fn compared(&mut self, login: Login, fits: bool) {
        let Login { role, hash, digest, clients } = login;
        let fits = (fits && Roles::of(&self.schema).logs_in(&role, &hash)).then_some(hash);
        match &fits {
            Some(hash) => drop(self.logins.fitted.insert(role.clone(), (hash.clone(), digest))),
            None => tracing::info!(
                core = self.core.0,
                role,
                connections = clients.len(),
                "refused to log in: no such role, or another password"
            ),
        }
        let role: Arc<str> = role.into();
        let answer = |(connection, stream)| Answer { connection, stream, role: Arc::clone(&role), fits: fits.clone() };
        self.logins.answers.extend(clients.into_iter().map(answer));
    }

    /// Tells sessions what came of their logins.
    pub(crate) fn answer_logins<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        for Answer { connection, stream, role, fits } in std::mem::take(&mut self.logins.answers) {
            // Roles may have changed since it was compared.
            let outcome = match fits.is_some_and(|hash| Roles::of(&self.schema).logs_in(&role, &hash)) {
                true => Ok(role),
                false => Err(CqlError::BadCredentials(format!("Provided username {role} and/or password are incorrect"))),
            };
            let Some(found) = self.connections.get_mut(connection) else { continue };
            let mut reply = Vec::new();
            found.session.log_in(stream, outcome, &mut reply);
            self.deliver(reactor, connection, &reply);
        }
    }

    /// Roles may have changed: who has lost the right to log in is cut off.
    pub(crate) fn follow_roles<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if !self.config.requires_login {
            return;
        }
        let roles = Roles::of(&self.schema);
        self.logins.fitted.retain(|role, _| roles.with_login(role).is_some());
        for connection in self.connections.iter_mut() {
            if connection.session.role().is_some_and(|role| roles.with_login(role).is_none()) {
                reactor.close(connection.id);
            }
        }
    }
}
