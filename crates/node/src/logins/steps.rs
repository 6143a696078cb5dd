//! A log-in, step by step.

use super::hashing::{self, Salts};
use super::state::{
    Answer, Computed, Credentials, Delayed, HashedChange, Login, LoginRefusal, LoginTag, Purpose, STATEMENTS_MAX, UNDER_WAY_MAX,
    UNDER_WAY_OF_CORE_MIN, UnderWay, is_same,
};
use crate::audit::{Category, Event, Failure, Operation, Source};
use crate::core::Core;
use crate::message::Message;
use crate::requests::Request;
use crate::schema_changes::SchemaRequest;
use base::CoreId;
use cql::language::ast::PasswordHashes;
use cql::roles::{Roles, Verifier};
use io::{ConnectionId, Reactor};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

impl Core {
    /// Checks a client's password; its session is told later.
    pub(crate) fn check_credentials<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        (client, address): ((ConnectionId, LoginTag), IpAddr),
        credentials: Credentials<'_>,
    ) -> Result<(), LoginRefusal> {
        let digest = self.logins.digest(reactor, credentials);
        let roles = Roles::of(&self.schema);
        let Verifier { hash, of } = roles.verifier(credentials.role, credentials.proof);
        let is_known = self.logins.fitted[credentials.proof as usize]
            .get(credentials.role)
            .is_some_and(|(fitted, known)| fitted == hash && is_same(known, &digest));
        if is_known && roles.logs_in(credentials.role, hash) {
            self.logins.answers.push(Answer { client, role: credentials.role.into(), fits: Some(hash.to_owned()) });
            return Ok(());
        }
        let is_same = |login: &Login| login.role == credentials.role && login.hash == hash && is_same(&login.digest, &digest);
        let compared = self.logins.under_way.values_mut().find_map(|work| match &mut work.purpose {
            Purpose::Login(login) if is_same(login) => Some(login),
            _ => None,
        });
        let delayed = self.logins.delayed.iter_mut().map(|delayed| &mut delayed.login).find(|login| is_same(login));
        let same = compared.or(delayed);
        if let Some(login) = same {
            login.clients.push(client);
            return Ok(());
        }
        self.logins.check_room(self.comparisons_max())?;
        let now_us = reactor.now().monotonic_us;
        let wait_us = self.logins.failed.wait_us(address, credentials.role, now_us)?;
        let (role, hash, proof) = (credentials.role.to_owned(), hash.to_owned(), credentials.proof);
        let login = Login { role, proof, hash, of, digest, address, clients: vec![client] };
        let password = credentials.password.to_owned();
        match wait_us {
            0 => self.logins.compare(reactor, login, password),
            _ => self.logins.delayed.push(Delayed { due_us: now_us + wait_us, login, password }),
        }
        Ok(())
    }

    /// Hashes a password, then has core 0 make the change that needs the hash, for the request.
    pub(crate) fn hash_password<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        request: Request,
        password: String,
        change: HashedChange,
    ) -> Result<(), LoginRefusal> {
        let hashed_for = self.config.hashed_for();
        self.hash(reactor, request, change, move |salts| hashing::hash_password(&password, salts, hashed_for))
    }

    /// Has hashes made on another thread, then has core 0 make the change that needs them, for the request.
    pub(crate) fn hash<R: Reactor<Message = Message>>(
        &mut self,
        reactor: &mut R,
        request: Request,
        change: HashedChange,
        make: impl FnOnce(Salts) -> Option<PasswordHashes> + Send + 'static,
    ) -> Result<(), LoginRefusal> {
        self.logins.check_room(self.comparisons_max() + STATEMENTS_MAX)?;
        let mut salts = Salts::default();
        salts.iter_mut().for_each(|salt| reactor.entropy(salt));
        let request = self.requests.insert(request);
        self.logins.compute(reactor, Purpose::Hash { request, change }, move || Computed::Hashed(make(salts)));
        Ok(())
    }

    /// Begins comparisons whose time has come. Returns the time at which to be called again.
    pub(crate) fn logins_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        if self.logins.delayed.is_empty() {
            return None;
        }
        let now_us = reactor.now().monotonic_us;
        let due: Vec<Delayed> = self.logins.delayed.extract_if(.., |delayed| delayed.due_us <= now_us).collect();
        for Delayed { login, password, .. } in due {
            self.logins.compare(reactor, login, password);
        }
        self.logins.delayed.iter().map(|delayed| delayed.due_us).min()
    }

    fn comparisons_max(&self) -> usize {
        (UNDER_WAY_MAX / usize::from(self.cores)).max(UNDER_WAY_OF_CORE_MIN)
    }

    /// Work on another thread has ended.
    pub(crate) fn computed<R: Reactor<Message = Message>>(&mut self, reactor: &mut R, number: u64) {
        let Some(UnderWay { purpose, result }) = self.logins.under_way.remove(&number) else { return };
        match (purpose, Arc::into_inner(result).and_then(OnceLock::into_inner)) {
            (Purpose::Login(login), outcome) => {
                self.compared(login, matches!(outcome, Some(Computed::Compared { fits: true })), reactor.now().monotonic_us);
            }
            (Purpose::Hash { request, change }, outcome) => {
                let hashes = if let Some(Computed::Hashed(hashes)) = &outcome { hashes.as_ref() } else { None };
                let action = change(hashes);
                let request = SchemaRequest { origin: self.core, request, action };
                reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
            }
        }
    }

    fn compared(&mut self, login: Login, fits: bool, now_us: u64) {
        let Login { role, proof, hash, digest, address, clients, .. } = login;
        let fits = (fits && Roles::of(&self.schema).logs_in(&role, &hash)).then_some(hash);
        match &fits {
            Some(hash) => drop(self.logins.fitted[proof as usize].insert(role.clone(), (hash.clone(), digest))),
            None => self.logins.failed(self.core, address, &role, clients.len(), now_us),
        }
        let role: Arc<str> = role.into();
        let answer = |client| Answer { client, role: Arc::clone(&role), fits: fits.clone() };
        self.logins.answers.extend(clients.into_iter().map(answer));
    }

    /// Tells sessions the outcome of their log-ins.
    pub(crate) fn answer_logins<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        for Answer { client: (connection, tag), role, fits } in std::mem::take(&mut self.logins.answers) {
            // Roles may have changed since it was compared.
            let client = self.connections.get_mut(connection).and_then(|found| found.session.audited_client());
            let roles = Roles::of(&self.schema);
            let outcome = match (fits.is_some_and(|hash| roles.logs_in(&role, &hash)), client.map(|(address, _)| address.ip())) {
                (true, Some(address)) if !roles.admits(&role, address) => {
                    Err(LoginRefusal::NotWhitelisted { role: Arc::clone(&role), address })
                }
                (true, _) => Ok(Arc::clone(&role)),
                (false, _) => Err(LoginRefusal::BadCredentials { role: Arc::clone(&role) }),
            };
            if let (Some(_), Some((address, protocol))) = (&self.audit, client) {
                let source = Source { protocol, address, role: Some(role), wall_us: reactor.now().wall_us };
                self.audit_login(&source, outcome.as_ref().err().map(ToString::to_string));
            }
            let outcome = outcome.and_then(|role| self.check_connection(&role).map(|()| role).map_err(LoginRefusal::from));
            let Some(found) = self.connections.get_mut(connection) else { continue };
            let mut reply = Vec::new();
            found.session.finish_login(tag, outcome, &mut reply);
            self.deliver(reactor, connection, &reply);
            if let Some(mut found) = self.connections.take(connection) {
                let counted = self.count_connection(&mut found);
                self.connections.put(found);
                if counted.is_err() {
                    // Another one was faster.
                    reactor.close(connection);
                }
            }
        }
    }

    /// A log-in has ended so.
    pub(crate) fn audit_login(&mut self, source: &Source, refusal: Option<String>) {
        let Some(audit) = &mut self.audit else { return };
        let kind = if refusal.is_none() { "LOGIN_SUCCESS" } else { "LOGIN_ERROR" };
        let event = Event { category: Category::Auth, kind, keyspace: None, object: None, operation: Operation::None };
        audit.ended(source, &[event], refusal.map(Failure::Unauthorized).as_ref());
    }

    /// Roles may have changed: disconnects clients whose role may no longer log in, or not from where they are, or whose certificate no longer is its role's.
    pub(crate) fn follow_roles<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) {
        if !self.config.requires_login {
            return;
        }
        let roles = Roles::of(&self.schema);
        self.logins.fitted.iter_mut().for_each(|fitted| fitted.retain(|role, _| roles.with_login(role).is_some()));
        for connection in self.connections.iter_mut() {
            let Some(role) = connection.session.role() else { continue };
            let is_certified = connection.session.identity().is_none_or(|identity| roles.of_identity(identity) == Some(role));
            let is_admitted = connection.session.audited_client().is_none_or(|(address, _)| roles.admits(role, address.ip()));
            if !is_certified || !is_admitted || roles.with_login(role).is_none() {
                reactor.close(connection.id);
            }
        }
    }
}
