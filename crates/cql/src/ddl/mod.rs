//! Schema statements: a schema and a statement in, a new schema out, or the error that Cassandra gives. Nothing here reads a clock,
//! rolls a die or keeps state: what a statement needs of its surroundings comes in an [`Environment`].
//!
//! On the path: a session hands `CREATE`, `ALTER` and `DROP` statements to [`apply`] on the one core that owns the schema, stores the
//! new schema, and tells every core and every registered client.
//!
//! Invariants of every schema that comes out: a column's type has no more levels than [`model::TYPE_DEPTH_MAX`]; nothing that is one
//! value (a key, an element) holds anything multi-cell; tables and columns never get an id that was used before; user types in tables
//! and in other types are the ones the keyspace has now; those of [`crate::roles`]; `version` follows from the content, so equal schemas have equal versions.

mod aggregate;
mod alter_table;
mod cdc;
mod change;
mod compaction_value;
mod copy_table;
mod create_table;
mod error;
mod function;
mod function_permission;
mod identity;
mod index;
mod keyspace;
mod limits;
mod mask;
mod name;
mod number;
mod options;
mod permission;
mod property;
mod replication;
mod role;
mod sasi;
mod types;
mod unsupported;
mod user_type;
mod view;

pub use change::{Change, Environment, Outcome, SchemaEvent, SchemaEventTarget, content_version};
pub use compaction_value::CompactionValueError;
pub use error::{
    CdcError, CopyError, DdlError, DdlErrorKind, IndexError, PASSWORD_BYTES_MAX, ReplicationError, RoleError, RoutineError,
    TableOptionError, TypeError, ViewError,
};
pub use limits::SYSTEM_TABLE_IDS_FROM;
pub use options::{TableParameters, entry_compression, page_compression};
pub use permission::{forget_absent, own};
pub use replication::{NETWORK_TOPOLOGY_STRATEGY, SIMPLE_STRATEGY};
pub(crate) use types::native_type;
pub use types::resolve_type;

pub(crate) use create_table::declare_table;
pub(crate) use number::java_double;

use crate::language::ast::Statement;
use change::Context;
use model::Schema;
use role::Asker;

/// What `statement` makes of `schema`.
///
/// `keyspace` is the session's keyspace.
///
/// # Errors
/// Whatever Cassandra refuses, and what TarnDB does not do yet.
pub fn apply(schema: &Schema, keyspace: Option<&str>, statement: &Statement, environment: &Environment<'_>) -> Result<Outcome, DdlError> {
    let context = Context { schema, keyspace, environment };
    let asker = environment.role.map(|name| Asker { context: &context, name });
    if let Some(asker) = asker.as_ref().filter(|_| environment.checks_permissions) {
        asker.check(statement)?;
    }
    let of_roles = asker.as_ref().and_then(|asker| asker.apply(statement));
    let mut outcome = of_roles.unwrap_or_else(|| apply_to_schema(&context, statement))?;
    outcome.change.iter_mut().for_each(|change| permission::follow(asker.as_ref(), statement, change));
    Ok(outcome)
}

fn apply_to_schema(context: &Context<'_>, statement: &Statement) -> Result<Outcome, DdlError> {
    match statement {
        Statement::CreateKeyspace(create) => keyspace::create(context, create),
        Statement::AlterKeyspace(alter) => keyspace::alter(context, alter),
        Statement::DropKeyspace(drop) => keyspace::drop(context, drop),
        Statement::CreateTable(create) => create_table::create(context, create, &mask::attached),
        Statement::CopyTable(copy) => copy_table::copy(context, copy),
        Statement::AlterTable(alter) => alter_table::alter(context, alter),
        Statement::DropTable(drop) => alter_table::drop(context, drop),
        Statement::CreateIndex(create) => index::create(context, create),
        Statement::DropIndex(drop) => index::drop_index(context, drop),
        Statement::CreateView(create) => view::create(context, create),
        Statement::AlterView(alter) => view::alter(context, alter),
        Statement::DropView(drop) => view::drop(context, drop),
        Statement::CreateType(create) => user_type::create(context, create),
        Statement::AlterType(alter) => user_type::alter(context, alter),
        Statement::DropType(drop) => user_type::drop(context, drop),
        Statement::CreateFunction(create) => function::create(context, create),
        Statement::DropFunction(drop) => function::drop(context, drop),
        Statement::CreateAggregate(create) => aggregate::create(context, create),
        Statement::DropAggregate(drop) => aggregate::drop(context, drop),
        other => unsupported::answer(context, other),
    }
}
