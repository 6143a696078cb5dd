//! CREATE, ALTER, DROP, GRANT, …: changes of the schema.

use crate::schema_changes::{ResolvedChange, SchemaAction, SchemaChange, SchemaEnvironment, SchemaFailure, SchemaUpdate};
use cql::CqlError;
use cql::ddl;
use cql::guardrails::{Violation, check_definition, without_ignored};
use cql::language::ast::Statement;
use cql::roles::{self, Roles};
use model::Schema;
use std::sync::Arc;

/// A statement that changes the schema.
pub(super) struct SchemaStatement {
    /// The connection's keyspace.
    pub(super) keyspace: Option<String>,
    /// As whom its client has logged in.
    pub(super) role: Option<Arc<str>>,
    pub(super) statement: Box<Statement>,
}

impl SchemaStatement {
    pub(super) fn into_action(self) -> SchemaAction {
        SchemaAction::Change(Box::new(self))
    }
}

impl SchemaChange for SchemaStatement {
    fn resolve(&self, schema: &Arc<Schema>, environment: &mut SchemaEnvironment<'_>) -> Result<ResolvedChange, SchemaFailure> {
        let terms = ddl::Environment {
            table_uuid: (environment.uuid)(),
            now_us: environment.now_us,
            data_center: &environment.config.data_center,
            nodes: environment.members,
            role: self.role.as_deref(),
            checks_permissions: environment.config.checks_permissions,
        };
        let stripped = self.without_ignored(schema, environment);
        let (statement, ignored) = stripped.as_ref().map_or((&*self.statement, &[][..]), |(statement, ignored)| (statement, ignored));
        let outcome = ddl::apply(schema, self.keyspace.as_deref(), statement, &terms).map_err(CqlError::from)?;
        let mut warnings = self.guarded(schema, &outcome, ignored, environment)?;
        warnings.extend(outcome.warnings);
        let Some(ddl::Change { schema, event, further, dropped }) = outcome.change else {
            return Ok(ResolvedChange { update: None, warnings });
        };
        if schema.has_whitelists() && !environment.knows_digest_logins {
            let message = "ACCESS FROM CIDRS can be restricted once every member of the cluster runs a program that knows it";
            return Err(CqlError::invalid(message).into());
        }
        let schema = match schema.has_digest_logins() && !environment.knows_digest_logins {
            true => Arc::new(roles::without_digest_logins(&schema)),
            false => schema,
        };
        check_known(&schema, environment)?;
        let update = SchemaUpdate { schema, dropped, truncated: Vec::new(), events: event.into_iter().chain(further).collect() };
        Ok(ResolvedChange { update: Some(update), warnings })
    }
}

impl SchemaStatement {
    fn is_exempt(&self, schema: &Schema) -> bool {
        self.role.as_ref().is_some_and(|role| Roles::of(schema).is_superuser(role))
    }

    /// The statement without what guardrails leave out, and the warnings of that; `None` if it is done as it is.
    fn without_ignored(&self, schema: &Schema, environment: &SchemaEnvironment<'_>) -> Option<(Statement, Vec<Violation>)> {
        if self.is_exempt(schema) {
            return None;
        }
        without_ignored(&environment.config.live.guardrails().get(), &self.statement)
    }

    /// What guardrails warn of in an outcome, unless they refuse it; `ignored` is what they have left out of the statement.
    fn guarded(
        &self,
        schema: &Schema,
        outcome: &ddl::Outcome,
        ignored: &[Violation],
        environment: &SchemaEnvironment<'_>,
    ) -> Result<Vec<String>, CqlError> {
        if self.is_exempt(schema) {
            return Ok(Vec::new());
        }
        let live = environment.config.live.guardrails();
        let checked = check_definition(&live.get(), &self.statement, self.keyspace.as_deref(), schema, outcome);
        let mut warnings = checked.inspect_err(|violation| live.log(environment.now_us, [violation]))?;
        warnings.splice(..0, ignored.iter().cloned());
        live.log(environment.now_us, &warnings);
        Ok(warnings.into_iter().map(|warning| warning.message).collect())
    }
}

/// Refuses a schema with what the program of some member does not know.
fn check_known(schema: &Schema, environment: &SchemaEnvironment<'_>) -> Result<(), SchemaFailure> {
    let parts = [
        (
            !schema.roles.is_empty() && !environment.knows_roles,
            "Roles can be made once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_permissions() && !environment.knows_permissions,
            "Permissions can be granted once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_indexes_or_compact_tables() && !environment.knows_indexes,
            "Indexes and tables with COMPACT STORAGE can be made once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_views() && !environment.knows_views,
            "Materialized views can be made once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_cdc_logs() && !environment.knows_cdc,
            "CDC can be enabled once every member of the cluster runs a program that knows it",
        ),
        (
            schema.has_functions() && !environment.knows_functions,
            "Functions can be made once every member of the cluster runs a program that knows them",
        ),
        (
            schema.wasm_functions().next().is_some() && !environment.knows_wasm,
            "Functions in WebAssembly can be made once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_identities() && !environment.knows_identities,
            "Identities can be added once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_masks() && !environment.knows_masks,
            "Columns can be masked once every member of the cluster runs a program that knows masks",
        ),
        (
            schema.has_role_limits() && !environment.knows_role_limits,
            "Roles can have limits once every member of the cluster runs a program that knows them",
        ),
        (
            schema.has_long_vectors() && !environment.knows_long_vectors,
            "Vectors can have more than 65535 dimensions once every member of the cluster runs a program that knows such",
        ),
        (
            schema.has_analyzers() && !environment.knows_analyzers,
            "Indexes can take texts apart once every member of the cluster runs a program that knows how",
        ),
    ];
    match parts.into_iter().find(|(is_unknown, _)| *is_unknown) {
        Some((_, message)) => Err(CqlError::invalid(message).into()),
        None => Ok(()),
    }
}
