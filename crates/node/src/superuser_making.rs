//! The first superuser: nobody can log in before there is one, and no password of it is known beforehand.
//!
//! ```text
//! all cores recovered ─► are there roles? ── yes ─► ready
//!                             │ no
//!                             └─► ChangeSchema on core 0 (in a cluster: by all members, and the first one counts) ─► roles ─► ready
//! ```
//!
//! Invariant: a node that asks for passwords is ready only once somebody can log in, or once it cannot bring that about by itself.

use crate::core::Core;
use crate::first_superuser::FirstSuperuser;
use crate::message::Message;
use crate::request_id::RequestId;
use crate::schema_changes::{ResolvedChange, SchemaAction, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaRequest, SchemaUpdate};
use base::CoreId;
use cql::ddl::content_version;
use cql::roles::{self, DEFAULT_ROLE};
use io::Reactor;
use model::Schema;
use std::sync::Arc;

/// A change that was not made is asked for again in this time.
const AGAIN_US: u64 = 1_000_000;

/// Nobody's: the outcome of the change is seen in the schema.
const NOBODY: RequestId = RequestId { index: u32::MAX, generation: u32::MAX };

/// Makes the first superuser unless there are roles.
struct Making {
    first: Arc<FirstSuperuser>,
}

impl SchemaChange for Making {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let made = roles::with_first_superuser(schema, self.first.hash()).filter(|_| environment.knows_roles);
        let hashed_for = environment.config.hashed_for();
        let made = made.map(|mut schema| {
            if let Some(role) = schema.roles.get_mut(DEFAULT_ROLE).filter(|_| environment.knows_digest_logins) {
                let role = Arc::make_mut(role);
                let hash = |hash: &Option<Box<str>>| hash.clone().map(String::from);
                role.aerospike_hash = hash(&self.first.hashes.aerospike).filter(|_| hashed_for.aerospike);
                role.griddb_hash = hash(&self.first.hashes.griddb).filter(|_| hashed_for.griddb);
                schema.version = content_version(&schema);
            }
            schema
        });
        let update =
            made.map(|schema| SchemaUpdate { schema: Arc::new(schema), dropped: Vec::new(), truncated: Vec::new(), events: Vec::new() });
        Ok(ResolvedChange { update, warnings: Vec::new() })
    }
}

impl Core {
    /// On core 0: the node may be ready, unless somebody has to be able to log in first.
    pub(crate) fn be_ready_with_superuser(&mut self) {
        if self.config.requires_login && self.config.first_superuser.is_some() {
            self.lifecycle.superuser_due_us = Some(0);
        } else {
            self.be_ready();
        }
    }

    /// On core 0, until there are roles: asks for the first superuser. Returns the time at which to be called again.
    pub(crate) fn superuser_turn<R: Reactor<Message = Message>>(&mut self, reactor: &mut R) -> Option<u64> {
        let due_us = self.lifecycle.superuser_due_us?;
        let first = self.config.first_superuser.clone()?;
        if !self.schema.roles.is_empty() {
            self.lifecycle.superuser_due_us = None;
            let hash = self.schema.roles.get(DEFAULT_ROLE).and_then(|role| role.password_hash.as_ref());
            let _ = first.is_made.set(hash.map(String::as_str) == Some(first.hash()));
            self.be_ready();
            return None;
        }
        let now_us = reactor.now().monotonic_us;
        if now_us < due_us {
            return Some(due_us);
        }
        // Members of before know no roles: once they are upgraded it goes on by itself, and an upgrade waits for members to be ready.
        if self.cluster.as_ref().is_some_and(|cluster| !cluster.newest_state().knows_roles()) && self.lifecycle.on_ready.is_some() {
            tracing::warn!("nobody can log in until every member of the cluster runs a program that knows roles");
            self.be_ready();
        }
        let action = SchemaAction::Change(Box::new(Making { first }));
        let request = SchemaRequest { origin: self.core, request: NOBODY, action };
        reactor.send(CoreId(0), Message::ChangeSchema(Box::new(request)));
        self.lifecycle.superuser_due_us = Some(now_us + AGAIN_US);
        self.lifecycle.superuser_due_us
    }
}
