//! The statements of a load, as YCSB's and cassandra-stress's clients have them.

use super::CqlSettings;
use crate::tables::Table;
use crate::workload::{Keys, Mix, OperationKind, Rows, Values};

/// What a prepared statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Scan,
    /// All fields at once.
    WriteAll,
    /// One field.
    WriteField(u32),
}

/// A statement that is prepared.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) table: Table,
    pub(super) purpose: Purpose,
    pub(super) text: String,
}

/// The texts for a dataset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statements<'a> {
    pub(super) settings: &'a CqlSettings,
    pub(super) rows: &'a Rows,
}

impl Statements<'_> {
    /// What the operations of `mix` need, to be prepared in this order.
    pub(super) fn of(&self, mix: &Mix) -> Vec<Statement> {
        let purposes = self.purposes(mix);
        let of_table = |table| purposes.iter().map(move |purpose| Statement { table, purpose: *purpose, text: self.text(table, *purpose) });
        self.rows.tables.each().flat_map(of_table).collect()
    }

    fn purposes(&self, mix: &Mix) -> Vec<Purpose> {
        let has = |kind| mix.operations.get(&kind).is_some_and(|weight| *weight > 0.0);
        let (modifies, updates) = (has(OperationKind::ReadModifyWrite), has(OperationKind::Update));
        let one_field = (modifies || updates) && !mix.update_all_fields && self.rows.fields > 1;
        let mut purposes = Vec::new();
        if has(OperationKind::Read) || modifies {
            purposes.push(Purpose::Read);
        }
        if has(OperationKind::Scan) {
            purposes.push(Purpose::Scan);
        }
        if has(OperationKind::Insert) || ((modifies || updates) && !one_field) {
            purposes.push(Purpose::WriteAll);
        }
        if one_field {
            purposes.extend((0..self.rows.fields).map(Purpose::WriteField));
        }
        purposes
    }

    fn text(&self, table: Table, purpose: Purpose) -> String {
        let table = qualified(self.settings, table);
        let fields = self.fields();
        match purpose {
            Purpose::Read => format!("SELECT {fields} FROM {table} WHERE key = ?"),
            Purpose::Scan => format!("SELECT {fields} FROM {table} WHERE token(key) >= token(?) LIMIT ?"),
            Purpose::WriteAll => {
                let markers = ", ?".repeat(self.rows.fields as usize);
                format!("INSERT INTO {table} (key, {fields}) VALUES (?{markers})")
            }
            Purpose::WriteField(field) => format!("UPDATE {table} SET field{field} = ? WHERE key = ?"),
        }
    }

    pub(super) fn create_keyspace(&self) -> String {
        let CqlSettings { keyspace, replication_factor, .. } = self.settings;
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replication_factor}}}",
            quoted(keyspace)
        )
    }

    pub(super) fn create_table(&self, table: Table) -> String {
        let key = match self.rows.keys {
            Keys::YcsbHashed | Keys::YcsbOrdered => "text",
            Keys::Stress => "blob",
            Keys::Number => "bigint",
        };
        let value = if self.rows.values == Values::Text { "text" } else { "blob" };
        let columns: String = (0..self.rows.fields).map(|field| format!(", field{field} {value}")).collect();
        let options = self.settings.table_options.trim();
        let with = if options.is_empty() { String::new() } else { format!(" WITH {options}") };
        format!("CREATE TABLE IF NOT EXISTS {} (key {key} PRIMARY KEY{columns}){with}", qualified(self.settings, table))
    }

    pub(super) fn drop_table(settings: &CqlSettings, table: Table) -> String {
        format!("DROP TABLE IF EXISTS {}", qualified(settings, table))
    }

    /// The names of all tables in the keyspace.
    pub(super) fn tables(settings: &CqlSettings) -> String {
        format!("SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{}'", settings.keyspace.replace('\'', "''"))
    }

    fn fields(&self) -> String {
        (0..self.rows.fields).map(|field| format!("field{field}")).collect::<Vec<_>>().join(", ")
    }
}

fn qualified(settings: &CqlSettings, table: Table) -> String {
    format!("{}.{}", quoted(&settings.keyspace), quoted(&table.name(&settings.table)))
}

/// A name exactly as it is.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Tables;
    use crate::workload::KeyChoice;

    fn mix(operations: &[OperationKind], update_all_fields: bool) -> Mix {
        let operations = operations.iter().map(|kind| (*kind, 1.0)).collect();
        Mix { operations, keys: KeyChoice::Uniform, scan_rows_max: 100, update_all_fields, verify: false }
    }

    #[test]
    fn statements_are_those_that_the_mix_needs() {
        let settings = CqlSettings { table_options: "compression = {'enabled': false}".to_owned(), ..CqlSettings::default() };
        let rows = Rows {
            count: 1,
            fields: 2,
            field_bytes: 1,
            field_bytes_min: None,
            values: Values::Text,
            keys: Keys::YcsbHashed,
            tables: Tables::ONE,
        };
        let statements = Statements { settings: &settings, rows: &rows };
        let texts = |mix: &Mix| statements.of(mix).into_iter().map(|statement| statement.text).collect::<Vec<_>>();
        assert_eq!(
            texts(&mix(&[OperationKind::ReadModifyWrite, OperationKind::Scan], false)),
            [
                r#"SELECT field0, field1 FROM "tarndb_bench"."usertable" WHERE key = ?"#,
                r#"SELECT field0, field1 FROM "tarndb_bench"."usertable" WHERE token(key) >= token(?) LIMIT ?"#,
                r#"UPDATE "tarndb_bench"."usertable" SET field0 = ? WHERE key = ?"#,
                r#"UPDATE "tarndb_bench"."usertable" SET field1 = ? WHERE key = ?"#,
            ]
        );
        assert_eq!(
            texts(&mix(&[OperationKind::Update], true)),
            [r#"INSERT INTO "tarndb_bench"."usertable" (key, field0, field1) VALUES (?, ?, ?)"#]
        );
        assert_eq!(
            statements.create_table(rows.tables.of_row(0)),
            r#"CREATE TABLE IF NOT EXISTS "tarndb_bench"."usertable" (key text PRIMARY KEY, field0 text, field1 text) WITH compression = {'enabled': false}"#
        );
    }

    #[test]
    fn each_table_has_statements_of_its_own() {
        let settings = CqlSettings::default();
        let tables = Tables::try_from(2).expect("two are not too many");
        let rows = Rows { count: 1, fields: 1, field_bytes: 1, field_bytes_min: None, values: Values::Random, keys: Keys::Number, tables };
        let statements = Statements { settings: &settings, rows: &rows }.of(&mix(&[OperationKind::Read, OperationKind::Insert], false));
        let told: Vec<(usize, &str)> = statements.iter().map(|statement| (statement.table.index(), statement.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (0, r#"SELECT field0 FROM "tarndb_bench"."usertable" WHERE key = ?"#),
                (0, r#"INSERT INTO "tarndb_bench"."usertable" (key, field0) VALUES (?, ?)"#),
                (1, r#"SELECT field0 FROM "tarndb_bench"."usertable_1" WHERE key = ?"#),
                (1, r#"INSERT INTO "tarndb_bench"."usertable_1" (key, field0) VALUES (?, ?)"#),
            ]
        );
    }
}
