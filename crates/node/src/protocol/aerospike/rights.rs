//! What a connection's client may do. A request costs a comparison of the schema's version and of the names of its namespace and set with those of the one
//! before, once that has been worked out; nothing where nobody has to log in.

use super::client::{Client, LastSet};
use super::records::Records;
use crate::message::Message;
use aerospike::ResultCode;
use aerospike::exec::UDF_OF_STREAM;
use aerospike::index::IndexChange;
use aerospike::info::Truncation;
use aerospike::operate;
use aerospike::udf::ModuleChange;
use aerospike::wire::{self, Attributes, BatchEntries, Fields, Operations, info1, info2};
use cql::permissions::Rights;
use io::Reactor;
use model::record_set::table_name;
use model::{Permission, Permissions, Resource};
use std::sync::Arc;

const READ: Permissions = Permissions::of(&[Permission::Select]);
const WRITE: Permissions = Permissions::of(&[Permission::Modify]);
const TRUNCATE: Permissions = Permissions::of(&[Permission::Drop]);
const INDEX: Permissions = Permissions::of(&[Permission::Alter]);

impl<R: Reactor<Message = Message>> Records<'_, R> {
    /// Refuses a request that the client's role may not make.
    #[inline]
    pub(super) fn check(&mut self, message: &wire::Message<'_>) -> Result<(), ResultCode> {
        if !self.core.config.requires_login {
            return Ok(());
        }
        self.check_client(message)
    }

    #[inline(never)]
    fn check_client(&mut self, message: &wire::Message<'_>) -> Result<(), ResultCode> {
        let Some((client, rights)) = self.checked()? else { return Ok(()) };
        let Some(batch) = message.fields.batch else {
            return client.may(&rights, &message.fields, &message.attributes, &message.operations);
        };
        // What cannot be read is refused where it is started.
        let entries = BatchEntries::read(batch).into_iter().flatten().map_while(Result::ok);
        entries
            .filter(|entry| !entry.repeats)
            .try_for_each(|entry| client.may(&rights, &entry.fields, &entry.attributes, &entry.operations))
    }

    /// Refuses to delete all records for a client whose role may not.
    pub(super) fn check_truncation(&mut self, truncation: &Truncation<'_>) -> Result<(), ResultCode> {
        if !self.core.config.requires_login {
            return Ok(());
        }
        let Some((client, rights)) = self.checked()? else { return Ok(()) };
        let set = truncation.set.unwrap_or_default().as_bytes();
        let permissions = client.on(&rights, truncation.namespace.as_bytes(), set, truncation.set.is_none());
        if TRUNCATE.without(permissions).is_empty() { Ok(()) } else { Err(ResultCode::ROLE_VIOLATION) }
    }

    /// Refuses to make or drop an index for a client whose role may not.
    pub(super) fn check_index_change(&mut self, change: &IndexChange) -> Result<(), ResultCode> {
        if !self.core.config.requires_login {
            return Ok(());
        }
        let Some((client, rights)) = self.checked()? else { return Ok(()) };
        let set = if let IndexChange::Create { set, .. } = change { Some(set.as_bytes()) } else { None };
        let permissions = client.on(&rights, change.namespace().as_bytes(), set.unwrap_or_default(), set.is_none());
        if INDEX.without(permissions).is_empty() { Ok(()) } else { Err(ResultCode::ROLE_VIOLATION) }
    }

    /// Refuses to register a module or to take one away for a client whose role may not.
    pub(super) fn check_module_change(&mut self, change: &ModuleChange) -> Result<(), ResultCode> {
        if !self.core.config.requires_login {
            return Ok(());
        }
        let Some((_, rights)) = self.checked()? else { return Ok(()) };
        let had = rights.on(&Resource::AllFunctions);
        let needed = Permissions::of(&[if matches!(change, ModuleChange::Put { .. }) { Permission::Create } else { Permission::Drop }]);
        if needed.without(had).is_empty() { Ok(()) } else { Err(ResultCode::ROLE_VIOLATION) }
    }

    /// Refuses to end jobs for a client whose role may not.
    pub(super) fn check_abort(&mut self) -> Result<(), ResultCode> {
        if !self.core.config.requires_login {
            return Ok(());
        }
        let Some((_, rights)) = self.checked()? else { return Ok(()) };
        let may = rights.on(&Resource::AllKeyspaces).contains(Permission::Alter);
        if may { Ok(()) } else { Err(ResultCode::ROLE_VIOLATION) }
    }

    /// What the role may do whose request this is, which was checked before; none if everything.
    pub(super) fn restriction(&self) -> Option<Arc<Rights>> {
        let rights = self.client.as_deref().map_or(&self.rights, |client| &client.rights);
        rights.clone().filter(|rights| !rights.are_all())
    }

    /// The client and what its role may do; none if it may do everything.
    fn checked(&mut self) -> Result<Option<(&mut Client, Arc<Rights>)>, ResultCode> {
        // What has come from elsewhere was checked there.
        let Some(client) = self.client.as_deref_mut() else { return Ok(None) };
        let role = client.role.as_ref().ok_or(ResultCode::NOT_AUTHENTICATED)?;
        if !self.core.config.checks_permissions {
            return Ok(None);
        }
        let rights = match &client.rights {
            Some(rights) if rights.are_of(&self.core.schema) => Arc::clone(rights),
            _ => {
                let rights = self.core.rights_of(role);
                (client.rights, client.last) = (Some(Arc::clone(&rights)), None);
                rights
            }
        };
        Ok((!rights.are_all()).then_some((client, rights)))
    }
}

impl Client {
    fn may(
        &mut self,
        rights: &Rights,
        fields: &Fields<'_>,
        attributes: &Attributes,
        operations: &Operations<'_>,
    ) -> Result<(), ResultCode> {
        let is_about_many = fields.digest.is_none() && fields.key.is_none();
        let set = fields.set.unwrap_or_default();
        let had = self.on(rights, fields.namespace.unwrap_or_default(), set, is_about_many && set.is_empty());
        let writes = attributes.info2 & (info2::WRITE | info2::DELETE) != 0;
        let reads = || attributes.info1 & info1::READ != 0 || operations.iter().any(|operation| !operate::is_write(operation.code));
        let is_missing = |needed: Permissions| !needed.without(had).is_empty();
        if fields.udf.is_asked() {
            let namespace = String::from_utf8_lossy(fields.namespace.unwrap_or_default()).into_owned();
            let executes = rights.on(&Resource::AllFunctionsIn(namespace)).contains(Permission::Execute);
            // A stream function is given records, and changes none.
            let only_reads = is_about_many && !writes && fields.udf.operation == Some(UDF_OF_STREAM);
            let may = executes && (only_reads || !is_missing(WRITE)) && !is_missing(READ);
            return if may { Ok(()) } else { Err(ResultCode::ROLE_VIOLATION) };
        }
        let refused = if writes { is_missing(WRITE) || is_missing(READ) && reads() } else { is_missing(READ) };
        if refused { Err(ResultCode::ROLE_VIOLATION) } else { Ok(()) }
    }

    /// What its role may do on a set, on records without one, or on a whole namespace.
    fn on(&mut self, rights: &Rights, namespace: &[u8], set: &[u8], is_whole: bool) -> Permissions {
        if let Some(last) = &self.last
            && (&*last.namespace, &*last.set, last.is_whole) == (namespace, set, is_whole)
        {
            return last.permissions;
        }
        let permissions = match (std::str::from_utf8(namespace), std::str::from_utf8(set)) {
            (Ok(namespace), Ok(_)) if is_whole => rights.on(&Resource::AllTablesIn(namespace.to_owned())),
            (Ok(namespace), Ok(set)) => match table_name(set) {
                Some(table) => rights.on(&Resource::table(namespace, table)),
                None => Permissions::default(),
            },
            _ => Permissions::default(),
        };
        self.last = Some(LastSet { namespace: namespace.into(), set: set.into(), is_whole, permissions });
        permissions
    }
}
