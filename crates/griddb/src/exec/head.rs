//! What statements about rows begin with: the container, its session, its transaction.

use super::request::{Request, WRITE, check_undivided};
use crate::transaction::{Reference, TransactionId, UUID_BYTES};
use crate::wire::{Options, Reader};
use crate::{Container, ErrorCode, GridError, id_of_part};
use model::Permissions;
use std::sync::Arc;

/// A statement that commits what it does.
const TRANSACTION_AUTO: u8 = 0;
const TRANSACTION_BEGIN: u8 = 1;
const TRANSACTION_CONTINUE: u8 = 2;

/// Where the client's identifier is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uuid {
    /// Here.
    Own,
    /// Before all statements of a request: this one.
    Shared([u8; UUID_BYTES]),
}

/// The head of a statement.
#[derive(Clone, Copy)]
pub(super) struct Head<'a> {
    pub(super) container: &'a Arc<Container>,
    /// The transaction that it takes part in, unless it commits what it does.
    pub(super) transaction: Option<Reference>,
    /// Whether the rows that it gives are locked for the transaction.
    pub(super) locks_rows: bool,
    /// Which columns of them are looked at, as [`Options`] has it.
    pub(super) columns: u64,
    /// What is made of the rows in place of them.
    pub(super) aggregates: Option<&'a [u8]>,
    /// Whether it is told how they were found.
    pub(super) tells_figures: bool,
}

impl<'a> Head<'a> {
    /// Reads the head of the statement of this number, which needs these permissions on its container.
    pub(super) fn read(
        request: &Request<'a>,
        statement: i64,
        reader: &mut Reader<'a>,
        uuid: Uuid,
        needed: Permissions,
    ) -> Result<Self, GridError> {
        let head = Self::read_of_any(request, statement, reader, uuid, needed)?;
        check_undivided(head.container)?;
        Ok(head)
    }

    /// The same of a statement whose rows tell in which data partition they are: see [`Head::go_to`].
    pub(super) fn read_of_any(
        request: &Request<'a>,
        statement: i64,
        reader: &mut Reader<'a>,
        uuid: Uuid,
        needed: Permissions,
    ) -> Result<Self, GridError> {
        let container = request.any_container(reader.i64()?)?;
        request.check(container, needed)?;
        let id = match uuid {
            Uuid::Own => TransactionId::read(reader)?,
            Uuid::Shared(uuid) => TransactionId { session: reader.i64()?, uuid },
        };
        container.check_version(reader.i32()?)?;
        let _session_mode = reader.u8()?;
        let mode = reader.u8()?;
        let options = Options::read(reader)?;
        let transaction = match mode {
            TRANSACTION_AUTO => None,
            // The connection has to know of it.
            TRANSACTION_BEGIN if uuid != Uuid::Own => return Err(begins_none("no transaction begins with one of several queries")),
            TRANSACTION_BEGIN | TRANSACTION_CONTINUE => Some(Reference { id, statement, begins: mode == TRANSACTION_BEGIN }),
            _ => return Err(GridError::new(ErrorCode::TM_TRANSACTION_MODE_INVALID, format!("there is no mode {mode} of transactions"))),
        };
        check_container_lock(&options)?;
        if options.for_update && transaction.is_none() {
            return Err(GridError::new(ErrorCode::TQ_FOR_UPDATE_INVALID, "rows are locked for a transaction only: turn auto-commit off"));
        }
        if options.for_update {
            // Others' writes wait for it.
            request.check(container, WRITE)?;
        }
        let (columns, aggregates, tells_figures) = (options.columns.unwrap_or(u64::MAX), options.aggregates, options.figures);
        Ok(Self { container, transaction, locks_rows: options.for_update, columns, aggregates, tells_figures })
    }
}

impl<'a> Head<'a> {
    /// Goes on with the data partition of a row, if the container is a partitioned table: `value` gives its columns' bytes on the wire.
    #[inline]
    pub(super) fn go_to<'v>(&mut self, request: &Request<'a>, value: impl Fn(usize) -> Option<&'v [u8]>) -> Result<(), GridError> {
        if !self.container.is_divided() {
            return Ok(());
        }
        if self.transaction.is_some() {
            return Err(GridError::unsupported("rows of a partitioned table are in no transaction: leave auto-commit on"));
        }
        let Some(partitioning) = &self.container.definition.partitioning else { return Ok(()) };
        let (interval, hash) = partitioning.place(&self.container.definition.columns, value);
        let part = partitioning.part(interval, hash).ok_or_else(|| GridError::of_unmade(interval))?;
        self.container = request.any_container(id_of_part(self.container.id(), Some(part)))?;
        Ok(())
    }

    /// Whether a statement that only reads changes a transaction.
    pub(super) fn writes(&self) -> bool {
        self.locks_rows || self.transaction.is_some_and(|transaction| transaction.begins)
    }
}

/// Reads the identifier of the client, before all statements of a request.
pub(super) fn uuid(reader: &mut Reader<'_>) -> Result<Uuid, GridError> {
    reader.uuid().map(Uuid::Shared)
}

/// Refuses what begins a transaction, or continues one.
pub(super) fn check_transaction(mode: u8) -> Result<(), GridError> {
    if mode == TRANSACTION_AUTO { Ok(()) } else { Err(begins_none("rows of several containers are put without a transaction")) }
}

fn begins_none(message: &'static str) -> GridError {
    GridError::new(ErrorCode::TM_TRANSACTION_BEGIN_NOT_ALLOWED, message)
}

/// Refuses locks, which only rows of one container have.
pub(super) fn check_options(options: &Options<'_>) -> Result<(), GridError> {
    if options.for_update {
        return Err(GridError::new(ErrorCode::TQ_FOR_UPDATE_INVALID, "a statement about several containers locks no rows"));
    }
    check_container_lock(options)
}

fn check_container_lock(options: &Options<'_>) -> Result<(), GridError> {
    if options.container_lock {
        return Err(GridError::new(ErrorCode::TQ_FOR_UPDATE_INVALID, "a container cannot be locked as a whole"));
    }
    Ok(())
}
