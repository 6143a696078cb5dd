//! Guardrails of schema statements: what Cassandra 5.0 says, in its words, at which value.

use crate::schema_support::Session;
use cql::ddl::Outcome;
use cql::guardrails::{Feature, GuardrailSetting, Guardrails, Limit, Values, check_definition, without_ignored};
use cql::language;

/// A session whose statements keep to guardrails.
struct Guarded {
    session: Session,
    guardrails: Guardrails,
}

impl Guarded {
    fn new() -> Self {
        let mut session = Session::new();
        session.all(&["CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}", "USE ks"]);
        Self { session, guardrails: Guardrails::default() }
    }

    fn limited(limit: Limit, warn: u64, fail: u64) -> Self {
        let mut guarded = Self::new();
        guarded.guardrails.set(GuardrailSetting::Warn(limit), warn);
        guarded.guardrails.set(GuardrailSetting::Fail(limit), fail);
        guarded
    }

    fn without(feature: Feature) -> Self {
        let mut guarded = Self::new();
        guarded.guardrails.set(GuardrailSetting::Enabled(feature), 0);
        guarded
    }

    /// The warnings of a statement, which is done unless it is refused.
    fn run(&mut self, text: &str) -> Result<Vec<String>, String> {
        let former = self.session.schema.clone();
        let statement = language::parse(text).unwrap().statement;
        let outcome: Outcome = self.session.run(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let checked = check_definition(&self.guardrails, &statement, self.session.keyspace.as_deref(), &former, &outcome);
        checked.map(|warnings| warnings.into_iter().map(|warning| warning.message).collect()).map_err(|violation| {
            self.session.schema = former;
            violation.message
        })
    }

    fn passes(&mut self, text: &str) {
        assert_eq!(self.run(text), Ok(Vec::new()), "{text}");
    }

    fn warns(&mut self, text: &str, message: &str) {
        assert_eq!(self.run(text), Ok(vec![message.to_owned()]), "{text}");
    }

    fn refuses(&mut self, text: &str, message: &str) {
        assert_eq!(self.run(text), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn keyspaces_are_counted() {
    let mut guarded = Guarded::limited(Limit::Keyspaces, 2, 3);
    let create = |name: &str| format!("CREATE KEYSPACE {name} WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': 1}}");
    guarded.passes(&create("k2"));
    guarded.warns(
        &create("k3"),
        "Guardrail keyspaces violated: Creating keyspace k3, current number of keyspaces 3 exceeds warning threshold of 2.",
    );
    guarded.refuses(&create("k4"), "Guardrail keyspaces violated: Cannot have more than 3 keyspaces, aborting the creation of keyspace k4");
    guarded.passes(&create("IF NOT EXISTS k3"));
    guarded.passes("DROP KEYSPACE k2");
    assert!(guarded.run(&create("k4")).is_ok());
}

#[test]
fn tables_are_counted_over_all_keyspaces_with_their_views() {
    let mut guarded = Guarded::limited(Limit::Tables, 2, 3);
    guarded.passes("CREATE TABLE t1 (k int PRIMARY KEY, v int)");
    guarded.run("CREATE MATERIALIZED VIEW mv AS SELECT * FROM t1 WHERE k IS NOT NULL AND v IS NOT NULL PRIMARY KEY (v, k)").unwrap();
    guarded.passes("CREATE KEYSPACE other WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}");
    guarded.warns(
        "CREATE TABLE other.t2 (k int PRIMARY KEY)",
        "Guardrail tables violated: Creating table t2, current number of tables 3 exceeds warning threshold of 2.",
    );
    guarded.refuses(
        "CREATE TABLE t3 (k int PRIMARY KEY)",
        "Guardrail tables violated: Cannot have more than 3 tables, aborting the creation of table t3",
    );
    guarded.passes("CREATE TABLE IF NOT EXISTS t1 (k int PRIMARY KEY)");
}

#[test]
fn columns_are_counted_in_new_and_altered_tables() {
    let mut guarded = Guarded::limited(Limit::ColumnsPerTable, 2, 4);
    guarded.passes("CREATE TABLE t (k int PRIMARY KEY, a int)");
    guarded.warns(
        "CREATE TABLE u (k int PRIMARY KEY, a int, b int)",
        "Guardrail columns_per_table violated: The table u has 3 columns, this exceeds the warning threshold of 2.",
    );
    let refusal = "Guardrail columns_per_table violated: Tables cannot have more than 4 columns, but 5 provided for table";
    guarded.refuses("CREATE TABLE w (k int, c int, s int STATIC, a int, b int, PRIMARY KEY (k, c))", &format!("{refusal} w"));
    guarded.warns(
        "ALTER TABLE t ADD b int",
        "Guardrail columns_per_table violated: The table t has 3 columns, this exceeds the warning threshold of 2.",
    );
    guarded.refuses("ALTER TABLE t ADD (c int, d int)", &format!("{refusal} t"));
    guarded.passes("ALTER TABLE t DROP a");
    guarded.passes("ALTER TABLE t WITH comment = 'wide'");
}

#[test]
fn indexes_and_views_of_a_table_are_counted() {
    let mut guarded = Guarded::limited(Limit::SecondaryIndexesPerTable, 1, 2);
    guarded.passes("CREATE TABLE t (k int PRIMARY KEY, a int, b int, c int)");
    guarded.passes("CREATE INDEX ON t (a)");
    guarded.warns(
        "CREATE INDEX by_b ON t (b)",
        "Guardrail secondary_indexes_per_table violated: Creating secondary index by_b on table t, current number of indexes 2 exceeds warning threshold of 1.",
    );
    guarded.refuses(
        "CREATE INDEX ON t (c) USING 'sai'",
        "Guardrail secondary_indexes_per_table violated: Tables cannot have more than 2 secondary indexes, aborting the creation of secondary index on table t",
    );
    let mut guarded = Guarded::limited(Limit::MaterializedViewsPerTable, 1, 2);
    guarded.passes("CREATE TABLE t (k int PRIMARY KEY, v int)");
    let create =
        |name: &str| format!("CREATE MATERIALIZED VIEW {name} AS SELECT * FROM t WHERE k IS NOT NULL AND v IS NOT NULL PRIMARY KEY (v, k)");
    guarded.passes(&create("a"));
    guarded.warns(
        &create("b"),
        "Guardrail materialized_views_per_table violated: Creating materialized view b on table t, current number of views 2 exceeds warning threshold of 1.",
    );
    guarded.refuses(
        &create("c"),
        "Guardrail materialized_views_per_table violated: Tables cannot have more than 2 materialized views, aborting the creation of materialized view c on table t",
    );
}

#[test]
fn fields_of_types_are_counted() {
    let mut guarded = Guarded::limited(Limit::FieldsPerUdt, 1, 2);
    guarded.passes("CREATE TYPE a (x int)");
    guarded.warns(
        "ALTER TYPE a ADD y int",
        "Guardrail fields_per_udt violated: The user type a has 2 columns, this exceeds the warning threshold of 1.",
    );
    let refusal = "Guardrail fields_per_udt violated: User types cannot have more than 2 columns, but 3 provided for user type";
    guarded.refuses("ALTER TYPE a ADD z int", &format!("{refusal} a."));
    guarded.refuses("CREATE TYPE b (x int, y int, z int)", &format!("{refusal} b."));
    guarded.passes("ALTER TYPE a RENAME y TO z");
}

#[test]
fn vectors_are_found_wherever_they_stand() {
    let of = |dimensions: u32| {
        let vector = format!("vector<float, {dimensions}>");
        [
            (format!("CREATE TABLE t (k int PRIMARY KEY, v {vector})"), "Column v"),
            (format!("CREATE TABLE t (v frozen<tuple<int, {vector}>> PRIMARY KEY)"), "Column v"),
            (format!("CREATE TABLE t (k int PRIMARY KEY, v map<int, frozen<set<{vector}>>>)"), "Column v"),
            (format!("ALTER TABLE base ADD v list<{vector}>"), "Column v"),
            (format!("CREATE TYPE u (v {vector})"), "Field v"),
            (format!("ALTER TYPE base_type ADD v map<{vector}, int>"), "Field v"),
        ]
    };
    for dimensions in [2, 3, 4, 5] {
        for (text, what) in of(dimensions) {
            let mut guarded = Guarded::limited(Limit::VectorDimensions, 2, 4);
            guarded.session.all(&["CREATE TABLE base (k int PRIMARY KEY)", "CREATE TYPE base_type (x int)"]);
            let message = |kind: &str, threshold: u32| {
                format!(
                    "Guardrail vector_dimensions violated: {what} has a vector of {dimensions} dimensions, this exceeds the {kind} threshold of {threshold}."
                )
            };
            match dimensions {
                2 => guarded.passes(&text),
                3 | 4 => guarded.warns(&text, &message("warning", 2)),
                _ => guarded.refuses(&text, &message("failure", 4)),
            }
        }
    }
}

#[test]
fn replicas_are_few_or_many() {
    let create = |name: &str, factor: u32| {
        format!("CREATE KEYSPACE {name} WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': {factor}}}")
    };
    let said = |least: &str, name: &str, factor: u32, place: &str, threshold: &str| {
        format!(
            "Guardrail {least}_replication_factor violated: The keyspace {name} has a replication factor of {factor}, {place} the {threshold}."
        )
    };
    let mut guarded = Guarded::limited(Limit::MinimumReplicationFactor, 3, 2);
    guarded.passes(&create("k3", 3));
    guarded.warns(&create("k2", 2), &said("minimum", "k2", 2, "below", "warning threshold of 3"));
    guarded.refuses(&create("k1", 1), &said("minimum", "k1", 1, "below", "failure threshold of 2"));
    guarded.passes("ALTER KEYSPACE ks WITH durable_writes = true");
    let mut guarded = Guarded::limited(Limit::MaximumReplicationFactor, 2, 3);
    guarded.passes(&create("k2", 2));
    guarded.warns(&create("k3", 3), &said("maximum", "k3", 3, "above", "warning threshold of 2"));
    guarded.refuses(
        "ALTER KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 4}",
        &said("maximum", "ks", 4, "above", "failure threshold of 3"),
    );
}

#[test]
fn properties_are_warned_of_refused_and_left_out() {
    let said = |rest: &str| format!("Guardrail table_properties violated: {rest}");
    let values = Values::TableProperties;
    let mut guarded = Guarded::new();
    guarded.guardrails.set(GuardrailSetting::Warned(values), values.parse("comment, caching").unwrap());
    guarded.guardrails.set(GuardrailSetting::Disallowed(values), values.parse("gc_grace_seconds, compression, id").unwrap());
    let warned = |given: &str| {
        said(&format!("Provided values [{given}] are not recommended for Table Properties (warned values are: [caching, comment])"))
    };
    let refused = |given: &str| {
        said(&format!(
            "Provided values [{given}] are not allowed for Table Properties (disallowed values are: [compression, gc_grace_seconds, id])"
        ))
    };
    guarded
        .passes("CREATE TABLE t (k int, c int, v int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC) AND default_time_to_live = 5");
    guarded.warns("ALTER TABLE t WITH comment = 'a'", &warned("comment"));
    guarded.refuses("ALTER TABLE t WITH gc_grace_seconds = 1 AND comment = 'a'", &refused("gc_grace_seconds"));
    guarded.refuses(
        "CREATE TABLE u (k int PRIMARY KEY) WITH compression = {'enabled': false} AND gc_grace_seconds = 1",
        &refused("compression, gc_grace_seconds"),
    );
    guarded.refuses("CREATE TABLE u LIKE t WITH gc_grace_seconds = 1", &refused("gc_grace_seconds"));
    let view = "CREATE MATERIALIZED VIEW mv AS SELECT * FROM t WHERE k IS NOT NULL AND c IS NOT NULL PRIMARY KEY (c, k)";
    guarded.refuses(&format!("{view} WITH gc_grace_seconds = 1"), &refused("gc_grace_seconds"));
    guarded.run(view).unwrap();
    guarded.warns("ALTER MATERIALIZED VIEW mv WITH caching = {'keys': 'NONE'} AND comment = 'b'", &warned("caching, comment"));

    let mut guardrails = Guardrails::default();
    guardrails.set(GuardrailSetting::IgnoredProperties, values.parse("comment, gc_grace_seconds").unwrap());
    for text in [
        "CREATE TABLE t (k int PRIMARY KEY) WITH comment = 'a' AND caching = {'keys': 'NONE'} AND gc_grace_seconds = 1",
        "ALTER TABLE t WITH comment = 'a' AND caching = {'keys': 'NONE'} AND gc_grace_seconds = 1",
        "CREATE TABLE u LIKE t WITH comment = 'a' AND caching = {'keys': 'NONE'} AND gc_grace_seconds = 1",
        "ALTER MATERIALIZED VIEW mv WITH comment = 'a' AND caching = {'keys': 'NONE'} AND gc_grace_seconds = 1",
        &format!("{view} WITH comment = 'a' AND caching = {{'keys': 'NONE'}} AND gc_grace_seconds = 1"),
    ] {
        let statement = language::parse(text).unwrap().statement;
        let (left, warnings) = without_ignored(&guardrails, &statement).unwrap();
        let without = text.replace("comment = 'a' AND ", "").replace(" AND gc_grace_seconds = 1", "");
        assert_eq!(left, language::parse(&without).unwrap().statement);
        let ignored = "Ignoring provided values [comment, gc_grace_seconds] as they are not supported for Table Properties (ignored values are: [comment, gc_grace_seconds])";
        assert_eq!(warnings.into_iter().map(|warning| warning.message).collect::<Vec<_>>(), [said(ignored)]);
        assert_eq!(without_ignored(&guardrails, &left), None);
    }
}

#[test]
fn tables_whose_compression_is_off_are_refused_where_it_must_be_on() {
    let refusal = "Guardrail uncompressed_tables_enabled violated: Uncompressed table is not allowed";
    let mut guarded = Guarded::without(Feature::UncompressedTables);
    guarded.refuses("CREATE TABLE t (k int PRIMARY KEY) WITH compression = {'enabled': 'false'}", refusal);
    guarded.refuses("CREATE TABLE t (k int PRIMARY KEY) WITH compression = {}", refusal);
    guarded.passes("CREATE TABLE t (k int PRIMARY KEY) WITH compression = {'class': 'NoopCompressor'}");
    guarded.refuses("ALTER TABLE t WITH compression = {'enabled': 'false'}", refusal);
    guarded.passes("ALTER TABLE t WITH comment = 'compressed'");
    Guarded::new().passes("CREATE TABLE t (k int PRIMARY KEY) WITH compression = {'enabled': 'false'}");
}

#[test]
fn what_is_switched_off_is_refused() {
    const SIMPLE: &str = "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    for (feature, text, message) in [
        (Feature::SimpleStrategy, &*format!("CREATE KEYSPACE k2 {SIMPLE}"), "simplestrategy violated: SimpleStrategy is not allowed"),
        (Feature::SimpleStrategy, &*format!("ALTER KEYSPACE ks {SIMPLE}"), "simplestrategy violated: SimpleStrategy is not allowed"),
        (Feature::DropKeyspace, "DROP KEYSPACE ks", "drop_keyspace_enabled violated: DROP KEYSPACE functionality is not allowed"),
        (
            Feature::DropTruncateTable,
            "DROP TABLE t",
            "drop_truncate_table_enabled violated: DROP and TRUNCATE TABLE functionality is not allowed",
        ),
        (Feature::SecondaryIndexes, "CREATE INDEX ON t (a)", "secondary_indexes violated: Creating secondary indexes is not allowed"),
        (Feature::AlterTable, "ALTER TABLE t ADD b int", "alter_table violated: ALTER TABLE changing columns is not allowed"),
        (Feature::AlterTable, "ALTER TABLE t RENAME k TO key", "alter_table violated: ALTER TABLE changing columns is not allowed"),
        (
            Feature::CompactTables,
            "CREATE TABLE c (k int PRIMARY KEY, v int) WITH COMPACT STORAGE",
            "compact_tables violated: Creation of new COMPACT STORAGE tables is not allowed",
        ),
    ] {
        let mut guarded = Guarded::without(feature);
        guarded.session.all(&["CREATE TABLE t (k int PRIMARY KEY, a int)"]);
        guarded.refuses(text, &format!("Guardrail {message}"));
        let mut free = Guarded::new();
        free.session.all(&["CREATE TABLE t (k int PRIMARY KEY, a int)"]);
        free.passes(text);
    }
}
