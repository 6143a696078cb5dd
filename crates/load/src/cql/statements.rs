//! The statements of a load, as YCSB's and cassandra-stress's clients have them.

use super::CqlSettings;
use super::own::{Marked, OwnPart, Parameter};
use crate::tables::Table;
use crate::workload::{Keys, Mix, OperationKind, Rows, Values};
use std::sync::Arc;

/// What a prepared statement is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Scan,
    /// All fields at once.
    WriteAll,
    /// One field.
    WriteField(u32),
    /// What the study has for an update, of whichever fields.
    OwnUpdate,
}

impl Purpose {
    /// Which of a study's own statements takes the place of the load's.
    fn own(self) -> Option<OwnPart> {
        match self {
            Self::Read => Some(OwnPart::Read),
            Self::Scan => Some(OwnPart::Scan),
            Self::WriteAll => Some(OwnPart::Insert),
            Self::OwnUpdate => Some(OwnPart::Update),
            Self::WriteField(_) => None,
        }
    }
}

/// A statement that is prepared.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) table: Table,
    pub(super) purpose: Purpose,
    pub(super) text: String,
    /// Of its markers, in order.
    pub(super) parameters: Arc<[Parameter]>,
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
        let of_table = |table| purposes.iter().map(move |purpose| self.statement(table, *purpose));
        self.rows.tables.each().flat_map(of_table).collect()
    }

    fn purposes(&self, mix: &Mix) -> Vec<Purpose> {
        let has = |kind| mix.operations.get(&kind).is_some_and(|weight| *weight > 0.0);
        let (modifies, updates) = (has(OperationKind::ReadModifyWrite), has(OperationKind::Update));
        let own_update = self.settings.own.update.is_some();
        let one_field = (modifies || updates) && !own_update && !mix.update_all_fields && self.rows.fields > 1;
        let mut purposes = Vec::new();
        if has(OperationKind::Read) || modifies {
            purposes.push(Purpose::Read);
        }
        if has(OperationKind::Scan) {
            purposes.push(Purpose::Scan);
        }
        if has(OperationKind::Insert) || ((modifies || updates) && !one_field && !own_update) {
            purposes.push(Purpose::WriteAll);
        }
        if own_update && (modifies || updates) {
            purposes.push(Purpose::OwnUpdate);
        }
        if one_field {
            purposes.extend((0..self.rows.fields).map(Purpose::WriteField));
        }
        purposes
    }

    fn statement(&self, table: Table, purpose: Purpose) -> Statement {
        let name = qualified(self.settings, table);
        let own = purpose.own().and_then(|part| self.settings.own.marked(part, &name));
        let Marked { text, parameters } = own.unwrap_or_else(|| self.usual(&name, purpose));
        Statement { table, purpose, text, parameters: parameters.into() }
    }

    /// The statement of a load whose study has none for the purpose.
    fn usual(&self, table: &str, purpose: Purpose) -> Marked {
        let fields = self.fields();
        let each_field = || (0..self.rows.fields).map(Parameter::Field);
        let (text, parameters) = match purpose {
            Purpose::Read => (format!("SELECT {fields} FROM {table} WHERE key = ?"), vec![Parameter::Key]),
            Purpose::Scan => {
                (format!("SELECT {fields} FROM {table} WHERE token(key) >= token(?) LIMIT ?"), vec![Parameter::Key, Parameter::Limit])
            }
            // An update has a statement of its own only if the study has one.
            Purpose::WriteAll | Purpose::OwnUpdate => {
                let markers = ", ?".repeat(self.rows.fields as usize);
                let text = format!("INSERT INTO {table} (key, {fields}) VALUES (?{markers})");
                (text, std::iter::once(Parameter::Key).chain(each_field()).collect())
            }
            Purpose::WriteField(field) => {
                (format!("UPDATE {table} SET field{field} = ? WHERE key = ?"), vec![Parameter::Field(field), Parameter::Key])
            }
        };
        Marked { text, parameters }
    }

    /// What is run before the first row is written.
    pub(super) fn schema(&self) -> Vec<String> {
        let of_table = |table| {
            let own: Vec<String> = self.settings.own.schema_of(&qualified(self.settings, table)).collect();
            std::iter::once(self.create_table(table)).chain(own)
        };
        std::iter::once(self.create_keyspace()).chain(self.rows.tables.each().flat_map(of_table)).collect()
    }

    fn create_keyspace(&self) -> String {
        let CqlSettings { keyspace, replication_factor, .. } = self.settings;
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {replication_factor}}}",
            quoted(keyspace)
        )
    }

    fn create_table(&self, table: Table) -> String {
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
