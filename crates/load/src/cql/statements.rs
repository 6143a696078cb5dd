//! The statements of a load, as YCSB's and cassandra-stress's clients have them.

use super::CqlSettings;
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

/// The texts for a dataset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statements<'a> {
    pub(super) settings: &'a CqlSettings,
    pub(super) rows: &'a Rows,
}

impl Statements<'_> {
    /// What the operations of `mix` need, to be prepared in this order.
    pub(super) fn purposes(&self, mix: &Mix) -> Vec<Purpose> {
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

    pub(super) fn text(&self, purpose: Purpose) -> String {
        let table = table(self.settings);
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

    pub(super) fn create_table(&self) -> String {
        let key = match self.rows.keys {
            Keys::YcsbHashed | Keys::YcsbOrdered => "text",
            Keys::Stress => "blob",
            Keys::Number => "bigint",
        };
        let value = if self.rows.values == Values::Text { "text" } else { "blob" };
        let columns: String = (0..self.rows.fields).map(|field| format!(", field{field} {value}")).collect();
        let options = self.settings.table_options.trim();
        let with = if options.is_empty() { String::new() } else { format!(" WITH {options}") };
        format!("CREATE TABLE IF NOT EXISTS {} (key {key} PRIMARY KEY{columns}){with}", table(self.settings))
    }

    pub(super) fn drop_table(settings: &CqlSettings) -> String {
        format!("DROP TABLE IF EXISTS {}", table(settings))
    }

    fn fields(&self) -> String {
        (0..self.rows.fields).map(|field| format!("field{field}")).collect::<Vec<_>>().join(", ")
    }
}

fn table(settings: &CqlSettings) -> String {
    format!("{}.{}", quoted(&settings.keyspace), quoted(&settings.table))
}

/// A name exactly as it is.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::KeyChoice;

    fn mix(operations: &[OperationKind], update_all_fields: bool) -> Mix {
        let operations = operations.iter().map(|kind| (*kind, 1.0)).collect();
        Mix { operations, keys: KeyChoice::Uniform, scan_rows_max: 100, update_all_fields, verify: false }
    }

    #[test]
    fn statements_are_those_that_the_mix_needs() {
        let settings = CqlSettings { table_options: "compression = {'enabled': false}".to_owned(), ..CqlSettings::default() };
        let rows = Rows { count: 1, fields: 2, field_bytes: 1, field_bytes_min: None, values: Values::Text, keys: Keys::YcsbHashed };
        let statements = Statements { settings: &settings, rows: &rows };
        let texts = |mix: &Mix| statements.purposes(mix).into_iter().map(|purpose| statements.text(purpose)).collect::<Vec<_>>();
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
            statements.create_table(),
            r#"CREATE TABLE IF NOT EXISTS "tarndb_bench"."usertable" (key text PRIMARY KEY, field0 text, field1 text) WITH compression = {'enabled': false}"#
        );
    }
}
