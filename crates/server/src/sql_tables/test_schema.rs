//! Schemas for tests, as clients declare them.

use cql::ddl::{Environment, apply};
use cql::language::parse;
use model::Schema;
use std::sync::Arc;

/// The schema after these statements; there is a keyspace `ks`.
pub(super) fn schema(statements: &[&str]) -> Arc<Schema> {
    let keyspace = "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    let mut schema = Arc::new(Schema::empty());
    for (number, statement) in std::iter::once(&keyspace).chain(statements).enumerate() {
        let environment = Environment {
            table_uuid: number as u128,
            now_us: 1_700_000_000_000_000,
            data_center: "datacenter1",
            nodes: 1,
            role: None,
            checks_permissions: false,
        };
        let parsed = parse(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        let outcome = apply(&schema, None, &parsed.statement, &environment).unwrap_or_else(|error| panic!("{statement}: {error}"));
        schema = outcome.change.map_or(schema, |change| change.schema);
    }
    schema
}
