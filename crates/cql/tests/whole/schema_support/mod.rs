//! What the tests of schemas share: a session that runs schema statements against a schema.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use cql::CqlError;
use cql::ddl::{self, Environment, Outcome};
use cql::describe::{self, Description};
use cql::language::{self, Statement};
use cql::system::{self, NodeView, SystemRow};
use model::Schema;
use std::sync::{Arc, LazyLock};

/// A schema and the keyspace that the session uses.
pub struct Session {
    pub schema: Arc<Schema>,
    pub keyspace: Option<String>,
    /// Who has logged in.
    pub role: Option<String>,
    /// Whether roles need permissions.
    pub checks_permissions: bool,
    /// Counts statements: the source of ids and times.
    pub statements: u64,
}

impl Session {
    pub fn new() -> Self {
        Self { schema: Arc::new(Schema::empty()), keyspace: None, role: None, checks_permissions: false, statements: 0 }
    }

    /// Runs a schema statement.
    pub fn run(&mut self, text: &str) -> Result<Outcome, CqlError> {
        let statement = language::parse(text).map_err(|error| CqlError::Syntax(error.to_string()))?.statement;
        if let Statement::Use(name) = &statement {
            self.keyspace = Some(name.as_str().to_owned());
            return Ok(Outcome { change: None, warnings: Vec::new() });
        }
        self.statements += 1;
        let environment = Environment {
            table_uuid: u128::from(self.statements) << 64 | 0x1000_8000_0000_0000_0000,
            now_us: 1_700_000_000_000_000 + self.statements as i64,
            data_center: "datacenter1",
            nodes: 1,
            role: self.role.as_deref(),
            checks_permissions: self.checks_permissions,
        };
        let outcome = ddl::apply(&self.schema, self.keyspace.as_deref(), &statement, &environment)?;
        if let Some(change) = &outcome.change {
            self.schema = Arc::clone(&change.schema);
        }
        Ok(outcome)
    }

    /// Runs statements that must succeed.
    pub fn all(&mut self, texts: &[&str]) {
        for text in texts {
            if let Err(error) = self.run(text) {
                panic!("{text}: {error}");
            }
        }
    }

    /// A DESCRIBE.
    pub fn describe(&self, text: &str) -> Result<Description, CqlError> {
        let statement = language::parse(text).map_err(|error| CqlError::Syntax(error.to_string()))?.statement;
        let Statement::Describe(statement) = statement else { panic!("{text} is no DESCRIBE") };
        Ok(describe::describe(&statement, self.keyspace.as_deref(), &view(&self.schema))?)
    }

    /// The statements that a DESCRIBE gives.
    pub fn statements_of(&self, text: &str) -> Vec<String> {
        let description = self.describe(text).unwrap();
        assert_eq!(description.columns.last().unwrap().0, "create_statement");
        description.rows.iter().map(|row| String::from_utf8(row.last().unwrap().clone()).unwrap()).collect()
    }

    /// The rows of a system table.
    pub fn system_rows(&self, keyspace: &str, table: &str) -> Vec<SystemRow> {
        let mut rows = Vec::new();
        system::rows(&system::table(keyspace, table).unwrap(), &view(&self.schema), &mut |row| rows.push(row));
        rows
    }
}

static TOKENS: LazyLock<[i64; system::RING_TOKENS]> = LazyLock::new(system::ring_tokens);

/// The node of all tests.
pub fn view(schema: &Schema) -> NodeView<'_> {
    NodeView {
        schema,
        cluster_name: "test cluster",
        data_center: "datacenter1",
        rack: "rack1",
        host_id: 0x6f4a_5bc9_5a95_481b_aa48_9111_b420_c2bc,
        cql_address: "127.0.0.1:9042".parse().unwrap(),
        node_address: "127.0.0.1:7000".parse().unwrap(),
        tokens: &*TOKENS,
        peers: &[],
        tablets: None,
        started_s: 1_700_000_000,
        clients: &[],
        traces: &[],
        slow_requests: &[],
        hot_partitions: &[],
        role_usages: &[],
        settings: &[],
        built_indexes: &[],
        table_sizes: &[],
        table_latencies: &[],
        cores: &[],
    }
}
