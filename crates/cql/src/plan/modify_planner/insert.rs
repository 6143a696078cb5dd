//! INSERT against a table: its values, from a list or a JSON object, and the row that they name.

use super::keys::{KeyRestrictions, not_restricted_before};
use crate::CqlError;
use crate::language::ast;
use crate::plan::columns::find_column;
use crate::plan::{Assignment, ClusteringPlan, Conditions, JsonTerm, KeyTerm, Missing, Modify, ModifyKind, Planner, RowTarget, Term};
use model::{Column, DataType, Table};
use std::sync::Arc;

impl Planner<'_> {
    pub(in crate::plan) fn insert(&mut self, insert: &ast::Insert) -> Result<Modify, CqlError> {
        // Markers in USING come after those of VALUES in the text; their index is fixed by the parser, so the order here does not matter.
        let mut draft = self.draft(&insert.table, ModifyKind::Insert, &insert.attributes)?;
        if draft.table.is_counter() {
            return Err(CqlError::invalid("INSERT statements are not allowed on counter tables, use UPDATE instead"));
        }
        let table = Arc::clone(&draft.table);
        let values: Vec<(usize, Term)> = match &insert.source {
            ast::InsertSource::Values { columns, values } => self.insert_values(&table, columns, values)?,
            ast::InsertSource::Json { value, default } => self.insert_json(&table, value, *default)?,
        };
        let mut keys: Vec<Option<Term>> = vec![None; table.partition_key_len + table.clustering_len];
        for (position, term) in values {
            if position < keys.len() {
                keys[position] = Some(term);
            } else {
                draft.assign(position, Assignment::Set(term))?;
            }
        }
        let clustering = keys.split_off(table.partition_key_len);
        let missing_partition = missing(&keys, table.partition_key());
        if !missing_partition.is_empty() {
            return Err(CqlError::Invalid(format!("Some partition key parts are missing: {}", missing_partition.join(", "))));
        }
        if !table.has_row_markers() && draft.assignments.is_empty() {
            return Err(match table.value_columns() {
                [value] if table.clustering_len > 0 => {
                    CqlError::Invalid(format!("Column {} is mandatory for this COMPACT STORAGE table", value.name))
                }
                // What Cassandra's hidden clustering column is called.
                _ => CqlError::invalid("Some clustering keys are missing: column1"),
            });
        }
        let only_static = draft.assignments.is_empty() && !draft.static_assignments.is_empty();
        let target = inserted(&table, &clustering, only_static)?;
        let equal = |terms: Vec<Option<Term>>| terms.into_iter().flatten().map(KeyTerm::Equal).collect();
        let keys = KeyRestrictions {
            fixed: table.clustering_len,
            partition: equal(keys),
            clustering: ClusteringPlan { keys: equal(clustering), ..ClusteringPlan::default() },
        };
        let conditions = if insert.if_not_exists { Conditions::NotExists } else { Conditions::None };
        draft.finish(keys, target, conditions)
    }

    /// The values of the columns that are named.
    fn insert_values(&mut self, table: &Table, columns: &[ast::Identifier], values: &[ast::Term]) -> Result<Vec<(usize, Term)>, CqlError> {
        if columns.len() != values.len() {
            return Err(CqlError::invalid("Unmatched column names/values"));
        }
        let mut planned: Vec<(usize, Term)> = Vec::with_capacity(columns.len());
        for (name, term) in columns.iter().zip(values) {
            let (position, column) = find_column(table, name)?;
            if planned.iter().any(|(other, _)| *other == position) {
                return Err(CqlError::invalid("The column names contains duplicates"));
            }
            planned.push((position, self.term(term, &column.data_type, &column.name)?));
        }
        Ok(planned)
    }

    /// The values of all columns, taken from a JSON object when the statement runs.
    fn insert_json(
        &mut self,
        table: &Arc<Table>,
        value: &ast::JsonValue,
        default: ast::JsonDefault,
    ) -> Result<Vec<(usize, Term)>, CqlError> {
        let object = match value {
            ast::JsonValue::Text(text) => Term::Constant(text.as_bytes().into()),
            ast::JsonValue::Marker(marker) => self.mark(marker.index, "[json]", &DataType::Text),
        };
        let missing = match default {
            ast::JsonDefault::Null => Missing::Null,
            ast::JsonDefault::Unset => Missing::Unset,
        };
        let value_of = |(position, column): (usize, &Column)| {
            let (object, table) = (object.clone(), (position == 0).then(|| Arc::clone(table)));
            (
                position,
                Term::Json(Box::new(JsonTerm { object, column: column.name.clone(), data_type: column.data_type.clone(), missing, table })),
            )
        };
        Ok(table.columns.iter().enumerate().map(value_of).collect())
    }
}

/// The names of key columns without a value.
fn missing(terms: &[Option<Term>], columns: &[Column]) -> Vec<String> {
    terms.iter().zip(columns).filter(|(term, _)| term.is_none()).map(|(_, column)| column.name.clone()).collect()
}

/// What an INSERT with these clustering columns writes.
fn inserted(table: &Table, clustering: &[Option<Term>], only_static: bool) -> Result<RowTarget, CqlError> {
    let missing = missing(clustering, table.clustering());
    if missing.is_empty() || is_partial(table, clustering) {
        return Ok(RowTarget::Rows);
    }
    if missing.len() == table.clustering_len && only_static {
        return Ok(RowTarget::Static);
    }
    let gap = clustering.iter().position(Option::is_none).unwrap_or(0);
    Err(match clustering.iter().skip(gap).position(Option::is_some) {
        Some(after) if table.compact => not_restricted_before(table, gap + after, gap),
        _ => CqlError::Invalid(format!("Some clustering keys are missing: {}", missing.join(", "))),
    })
}

/// Whether a row of a compact table lacks only its last clustering columns, which are null then.
fn is_partial(table: &Table, clustering: &[Option<Term>]) -> bool {
    let given = clustering.iter().take_while(|term| term.is_some()).count();
    table.compact && given > 0 && clustering[given..].iter().all(Option::is_none)
}
