//! Conditions of one batch about one row: of one kind, as in Cassandra.

use super::operation::BatchItem;
use crate::CqlError;
use crate::exec::bindings::Environment;
use crate::exec::execution::Options;
use crate::exec::keys;
use crate::plan::{Conditions, RowTarget};
use model::operation::Context;
use std::collections::HashMap;

/// Refuses conditions of different kinds about the same row, or about the static columns.
///
/// # Errors
/// There are some, or a value cannot be a key.
pub(super) fn check(items: &[BatchItem], options: &Options, context: &Context) -> Result<(), CqlError> {
    let mut of_rows: HashMap<Option<Vec<u8>>, &Conditions> = HashMap::new();
    for item in items.iter().filter(|item| item.plan.is_conditional()) {
        let (bindings, context) = (item.values.bindings(), &options.fix(context, item.item));
        let environment = Environment { bindings: &bindings, context };
        let rows = match item.plan.target {
            RowTarget::Rows => {
                let rows = keys::clustering_ranges(&item.plan.table, &item.plan.clustering, &environment, false)?;
                rows.into_iter().map(|row| Some(row.from)).collect()
            }
            RowTarget::Static | RowTarget::Range | RowTarget::Partition => vec![None],
        };
        for row in rows {
            if let Some(earlier) = of_rows.insert(row, &item.plan.conditions) {
                together(earlier, &item.plan.conditions)?;
            }
        }
    }
    Ok(())
}

fn together(earlier: &Conditions, later: &Conditions) -> Result<(), CqlError> {
    use Conditions as C;
    let mixed = match (earlier, later) {
        (C::Exists, C::NotExists) | (C::NotExists, C::Exists) => "IF EXISTS and IF NOT EXISTS conditions",
        (C::Columns(_), C::Exists) => "IF conditions and IF EXISTS",
        (C::Columns(_), C::NotExists) | (C::NotExists | C::Exists, C::Columns(_)) => "IF conditions and IF NOT EXISTS",
        _ => return Ok(()),
    };
    Err(CqlError::Invalid(format!("Cannot mix {mixed} for the same row")))
}
