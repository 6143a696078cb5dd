//! Log-ins, sessions, and lists of users and roles. Changes of them are in `role_changes`.

use super::answer::Answer;
use super::audited;
use super::records::Records;
use super::role_changes::RoleChange;
use crate::audit::Source;
use crate::logins::{
    self, Credentials, FORBIDDEN_AEROSPIKE_HASH, HashedChange, LoginRefusal, LoginTag, SESSION_S, Salts, hash_aerospike, is_aerospike_hash,
    role_of_token,
};
use crate::message::Message;
use crate::protocol::Reply;
use crate::requests::{REQUEST_BYTES, Request};
use crate::schema_changes::{SchemaAction, SchemaRequest};
use aerospike::ResultCode;
use aerospike::security::{self, Command, Login, PREDEFINED_ROLES, Quotas, RoleShown, UserShown, predefined, privileges_of};
use aerospike::session::Progress;
use base::CoreId;
use cql::roles::{self, Proof, Roles};
use cql::session::Certificate;
use io::Reactor;
use model::{Limit, Permission, Resource, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A log-in whose client is given a session.
pub(super) const LOGGED_IN: LoginTag = LoginTag(0);
/// One of a client of before there were sessions.
pub(super) const AUTHENTICATED: LoginTag = LoginTag(1);

/// What a whole command comes to.
type Served = Result<Progress, ResultCode>;

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Serves a command about users.
    pub(super) fn serve_security(&mut self, body: &[u8], out: &mut Vec<u8>) -> Progress {
        let start = out.len();
        let served = match Command::decode(body) {
            _ if !self.core.config.requires_login => Err(ResultCode::SECURITY_NOT_ENABLED),
            Err(code) => Err(code),
            Ok(Command::Login(login)) => self.log_in(&login, LOGGED_IN, out),
            Ok(Command::Authenticate { login, token: None }) => self.log_in(&login, AUTHENTICATED, out),
            Ok(Command::Authenticate { login, token: Some(token) }) => self.authenticate(&login, &token, out),
            Ok(command) => {
                let event = audited::event_of_command(&command);
                let served = self.command(command, out);
                let progress = *served.as_ref().unwrap_or(&Progress::Replied);
                let failure = served.as_ref().err().map(|code| audited::failure_of_code(*code));
                self.audit(event, progress, failure);
                served
            }
        };
        served.unwrap_or_else(|code| {
            out.truncate(start);
            security::write_result(out, code);
            Progress::Replied
        })
    }

    /// By a certificate if certificates log in, else by a password.
    fn log_in(&mut self, login: &Login, tag: LoginTag, out: &mut Vec<u8>) -> Served {
        let Some(client) = self.client.as_deref_mut() else { return Err(ResultCode::ILLEGAL_STATE) };
        client.is_now(None, None);
        let address = client.address;
        if let Some(role) = self.certified()? {
            let token = self.token_of(&role);
            match tag {
                LOGGED_IN => security::write_session(out, &token, SESSION_S),
                _ => security::write_result(out, ResultCode::OK),
            }
            return Ok(Progress::Replied);
        }
        let user = login.user.as_deref().filter(|user| !user.is_empty()).ok_or(ResultCode::INVALID_USER)?;
        let (password, proof) = match (&login.clear_password, &login.credential) {
            (Some(password), _) if roles::is_password(password) => (password, Proof::Password),
            (None, Some(credential)) if is_aerospike_hash(credential) => (credential, Proof::AerospikeHash),
            _ => return Err(ResultCode::INVALID_CREDENTIAL),
        };
        let token = self.token_of(user);
        let credentials = Credentials { role: user, password, proof };
        let refused = self.core.check_credentials(self.reactor, ((self.connection, tag), address.ip()), credentials).err();
        match (refused, self.client.as_deref_mut()) {
            (None, Some(client)) => {
                client.token = token;
                Ok(Progress::Waiting)
            }
            (None, None) => Err(ResultCode::ILLEGAL_STATE),
            (Some(refusal), _) => {
                self.audit_login(user, Some(refusal.to_string()));
                Err(refusal_code(&refusal))
            }
        }
    }

    /// Goes on with a session that another connection has begun.
    fn authenticate(&mut self, login: &Login, token: &[u8], out: &mut Vec<u8>) -> Served {
        let Some(client) = self.client.as_deref_mut() else { return Err(ResultCode::ILLEGAL_STATE) };
        client.is_now(None, None);
        let address = client.address;
        let certified = self.certified()?;
        let roles = Roles::of(&self.core.schema);
        let now_s = self.reactor.now().wall_s();
        let valid = role_of_token(token).filter(|name| login.user.as_deref().is_none_or(|user| user == *name));
        let role = valid.and_then(|name| roles.with_login(name).map(|role| (name, role)));
        let is_valid = |role: &Role| self.core.config.aerospike.session_key.is_valid(token, Some(role), now_s);
        let outcome = match role {
            Some((name, role)) if is_valid(role) && certified.as_deref().is_none_or(|certified| certified == name) => {
                match roles.admits(name, address.ip()) {
                    true => Ok(Arc::<str>::from(name)),
                    false => Err(ResultCode::NOT_WHITELISTED),
                }
            }
            _ => Err(ResultCode::EXPIRED_SESSION),
        };
        let outcome = outcome.and_then(|role| match self.core.check_connection(&role) {
            Ok(()) => Ok(role),
            Err(_) => Err(ResultCode::QUOTA_EXCEEDED),
        });
        let name = role_of_token(token).or(login.user.as_deref()).unwrap_or_default();
        self.audit_login(name, outcome.as_ref().err().map(ToString::to_string));
        let Some(client) = self.client.as_deref_mut() else { return Err(ResultCode::ILLEGAL_STATE) };
        match outcome {
            Ok(role) if certified.is_none() => client.is_now(Some(role), None),
            Ok(_) => {}
            Err(code) => {
                client.is_now(None, None);
                return Err(code);
            }
        }
        security::write_result(out, ResultCode::OK);
        Ok(Progress::Replied)
    }

    /// Logs the client in by its certificate, if certificates do; none if it is to show a password.
    fn certified(&mut self) -> Result<Option<Arc<str>>, ResultCode> {
        let Some(client) = self.client.as_deref() else { return Ok(None) };
        let outcome = self.core.certified(&client.certificate, client.address.ip());
        if matches!(outcome, Ok(None)) {
            return Ok(None);
        }
        let identity = if let Certificate::Of(identity) = &client.certificate { Some(Arc::clone(identity)) } else { None };
        let role = outcome.as_ref().ok().cloned().flatten().or_else(|| identity.clone());
        let source = Source { protocol: audited::PROTOCOL, address: client.address, role, wall_us: self.reactor.now().wall_us };
        self.core.note_certified(self.reactor, self.connection, &source, &outcome);
        let role = outcome.map_err(|refusal| refusal_code(&refusal))?;
        if let Some(client) = self.client.as_deref_mut() {
            client.is_now(role.clone(), identity);
        }
        Ok(role)
    }

    fn token_of(&mut self, name: &str) -> Vec<u8> {
        let roles = Roles::of(&self.core.schema);
        let now_s = self.reactor.now().wall_s();
        let key = &self.core.config.aerospike.session_key;
        key.token(|bytes| self.reactor.entropy(bytes), name, roles.get(name).map(|role| &**role), now_s)
    }

    fn audit_login(&mut self, name: &str, refusal: Option<String>) {
        let Some(client) = self.client.as_deref() else { return };
        let wall_us = self.reactor.now().wall_us;
        let source = Source { protocol: audited::PROTOCOL, address: client.address, role: Some(name.into()), wall_us };
        self.core.audit_login(&source, refusal);
    }

    /// A command of somebody who has logged in.
    fn command(&mut self, command: Command, out: &mut Vec<u8>) -> Served {
        let asker = self.client.as_deref().and_then(|client| client.role.clone()).ok_or(ResultCode::NOT_AUTHENTICATED)?;
        match command {
            Command::QueryUsers { user } => self.query_users(&asker, user.as_deref(), out),
            Command::QueryRoles { role } => self.query_roles(&asker, role.as_deref(), out),
            command => self.change(asker, command),
        }
    }

    /// Has core 0 change roles, once the password is hashed if there is one.
    fn change(&mut self, asker: Arc<str>, command: Command) -> Served {
        if self.core.is_full() {
            return Err(ResultCode::DEVICE_OVERLOAD);
        }
        let request = Request::single(self.connection, Reply::Aerospike(Answer::Security), REQUEST_BYTES);
        let (password, old_password) = match &command {
            Command::CreateUser { password, .. } | Command::SetPassword { password, .. } => (password.clone(), None),
            Command::ChangePassword { user, .. } if **user != *asker => return Err(ResultCode::ROLE_VIOLATION),
            Command::ChangePassword { password, old_password, .. } => (password.clone(), Some(old_password.clone())),
            _ => {
                let request = self.core.requests.insert(request);
                let action = SchemaAction::Change(Box::new(RoleChange { asker, command, hashes: None, former: None }));
                let request = SchemaRequest { origin: self.core.core, request, action };
                self.reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
                return Ok(Progress::Waiting);
            }
        };
        match &*password {
            FORBIDDEN_AEROSPIKE_HASH => return Err(ResultCode::FORBIDDEN_PASSWORD),
            password if !is_aerospike_hash(password) => return Err(ResultCode::INVALID_PASSWORD),
            _ => {}
        }
        let former = old_password.map(|old| {
            let verifier = Roles::of(&self.core.schema).verifier(&asker, Proof::AerospikeHash);
            (old, verifier.hash.to_owned())
        });
        let former_hash = former.as_ref().map(|(_, hash)| hash.clone());
        let change: HashedChange = Box::new(move |hashes| {
            SchemaAction::Change(Box::new(RoleChange { asker, command, hashes: hashes.cloned(), former: former_hash }))
        });
        let make = move |[salt, ..]: Salts| {
            let verifies = |(old, hash): &(String, String)| {
                logins::fits(old, Proof::AerospikeHash, roles::Verifier { hash, of: Proof::AerospikeHash })
            };
            former.as_ref().is_none_or(verifies).then(|| hash_aerospike(&password, salt)).flatten()
        };
        self.core.hash(self.reactor, request, change, make).map_err(|refusal| refusal_code(&refusal))?;
        Ok(Progress::Waiting)
    }

    /// Whether somebody may see all users and roles.
    fn describes(&mut self, asker: &Arc<str>) -> bool {
        match self.core.config.checks_permissions {
            true => self.core.rights_of(asker).allow(Permission::Describe, &Resource::AllRoles),
            false => Roles::of(&self.core.schema).is_superuser(asker),
        }
    }

    fn query_users(&mut self, asker: &Arc<str>, user: Option<&str>, out: &mut Vec<u8>) -> Served {
        if user != Some(&**asker) && !self.describes(asker) {
            return Err(ResultCode::ROLE_VIOLATION);
        }
        let all = self.core.schema.roles.iter().filter(|(_, role)| role.can_login);
        let users: Vec<UserShown<'_>> = all
            .filter(|(name, _)| user.is_none_or(|user| user == *name))
            .map(|(name, role)| {
                let superuser = role.is_superuser.then_some("superuser").filter(|_| !role.member_of.contains("superuser"));
                UserShown { name, roles: role.member_of.iter().map(String::as_str).chain(superuser).collect() }
            })
            .collect();
        if user.is_some() && users.is_empty() {
            return Err(ResultCode::INVALID_USER);
        }
        security::write_users(out, users.into_iter());
        Ok(Progress::Replied)
    }

    fn query_roles(&mut self, asker: &Arc<str>, role: Option<&str>, out: &mut Vec<u8>) -> Served {
        let schema = Arc::clone(&self.core.schema);
        let is_own = role.is_some_and(|role| Roles::of(&schema).granted(asker, true).contains(role));
        if !is_own && !self.describes(asker) {
            return Err(ResultCode::ROLE_VIOLATION);
        }
        let mut shown: BTreeMap<&str, RoleShown<'_>> = BTreeMap::new();
        for (name, privileges) in PREDEFINED_ROLES.iter().filter_map(|(name, _)| Some((*name, predefined(name)?))) {
            shown.insert(name, RoleShown { name, privileges, whitelist: Vec::new(), quotas: Quotas::default() });
        }
        for (name, role) in schema.roles.iter().filter(|(_, role)| !role.can_login) {
            let whitelist = role.whitelist.iter().map(String::as_str).collect();
            let quota = |limit| role.limits.get(limit).map_or(0, |most| u32::try_from(most).unwrap_or(u32::MAX));
            let quotas = Quotas { read: quota(Limit::Reads), write: quota(Limit::Writes) };
            shown.insert(name, RoleShown { name, privileges: privileges_of(role), whitelist, quotas });
        }
        shown.retain(|name, _| role.is_none_or(|role| role == *name));
        if role.is_some() && shown.is_empty() {
            return Err(ResultCode::INVALID_ROLE);
        }
        security::write_roles(out, shown.into_values());
        Ok(Progress::Replied)
    }
}

/// Why a client is not logged in, as it hears of it. Who is not there and another password are one and the same.
pub(super) fn refusal_code(refusal: &LoginRefusal) -> ResultCode {
    match refusal {
        LoginRefusal::BadCredentials { .. } | LoginRefusal::NoIdentity { .. } | LoginRefusal::UnknownIdentity { .. } => {
            ResultCode::INVALID_CREDENTIAL
        }
        LoginRefusal::NoCertificate => ResultCode::SECURITY_SCHEME_NOT_SUPPORTED,
        LoginRefusal::MayNotLogIn { .. } => ResultCode::INVALID_USER,
        LoginRefusal::NotWhitelisted { .. } => ResultCode::NOT_WHITELISTED,
        LoginRefusal::TooManyFailures(_) => ResultCode::FORBIDDEN,
        LoginRefusal::Overloaded => ResultCode::DEVICE_OVERLOAD,
        LoginRefusal::OverLimit(_) => ResultCode::QUOTA_EXCEEDED,
    }
}
