//! `MASKED WITH …` of CREATE TABLE and ALTER TABLE.

use super::DdlError;
use super::change::Context;
use crate::language::ast;
use crate::plan::{MaskedColumn, column_mask};
use base::Now;
use model::{ColumnMask, operation};
use std::sync::Arc;

/// The mask that a statement gives to a column, if it gives one.
pub(super) fn attached(
    context: &Context<'_>,
    column: MaskedColumn<'_>,
    mask: Option<&ast::ColumnMask>,
) -> Result<Option<Arc<ColumnMask>>, DdlError> {
    let Some(mask) = mask else { return Ok(None) };
    let environment = context.environment;
    let now = Now { monotonic_us: 0, wall_us: environment.now_us };
    // A UUID that is used for nothing else where a table is altered.
    let given = operation::Context { now, timestamp_us: environment.now_us, nonce: environment.table_uuid as u64 };
    let mask = column_mask(context.schema, column, mask, &given).map_err(|error| DdlError::Mask(error.to_string()))?;
    Ok(Some(Arc::new(mask)))
}
