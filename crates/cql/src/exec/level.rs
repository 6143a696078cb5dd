//! Consistency levels that a statement cannot be asked for at.

use crate::CqlError;
use crate::plan::Statement;
use crate::wire::Consistency;

/// Refuses a level that makes no sense for a statement, in Cassandra's words. Most levels make sense for all.
///
/// # Errors
/// The mistake.
#[inline]
pub(super) fn check(statement: &Statement, level: Consistency) -> Result<(), CqlError> {
    match level {
        Consistency::Any | Consistency::Serial | Consistency::LocalSerial => check_unusual(statement, level),
        _ => Ok(()),
    }
}

/// Refuses a level for the conditions of a statement that is none, in Cassandra's words. What the others ask for is the same.
///
/// # Errors
/// The mistake.
#[inline]
pub fn check_serial(statement: &Statement, serial: Option<Consistency>) -> Result<(), CqlError> {
    match serial {
        None | Some(Consistency::Serial | Consistency::LocalSerial) => Ok(()),
        Some(_) if !is_conditional(statement) => Ok(()),
        Some(_) => Err(CqlError::invalid("Invalid consistency for conditional update. Must be one of SERIAL or LOCAL_SERIAL")),
    }
}

fn is_conditional(statement: &Statement) -> bool {
    match statement {
        Statement::Modify(plan) => plan.is_conditional(),
        Statement::Batch(batch) => batch.statements.iter().any(|plan| plan.is_conditional()),
        _ => false,
    }
}

#[cold]
fn check_unusual(statement: &Statement, level: Consistency) -> Result<(), CqlError> {
    let is_any = level == Consistency::Any;
    let mistake = match statement {
        Statement::Select(_) if is_any => "ANY ConsistencyLevel is only supported for writes".to_owned(),
        Statement::Modify(plan) if plan.is_conditional() && !is_any => commit(level),
        Statement::Batch(batch) if !is_any && batch.statements.iter().any(|plan| plan.is_conditional()) => commit(level),
        Statement::Modify(plan) if plan.is_conditional() => return Ok(()),
        Statement::Modify(plan) if plan.table.is_counter() && is_any => {
            format!("Consistency level ANY is not yet supported for counter table {}", plan.table.name)
        }
        Statement::Modify(plan) if plan.table.is_counter() => "Counter operations are inherently non-serializable".to_owned(),
        Statement::Modify(_) if !is_any => "You must use conditional updates for serializable writes".to_owned(),
        _ => return Ok(()),
    };
    Err(CqlError::Invalid(mistake))
}

fn commit(level: Consistency) -> String {
    format!(
        "{level} is not supported as conditional update commit consistency. \
         Use ANY if you mean \"make sure it is accepted but I don't care how many replicas commit it for non-SERIAL reads\""
    )
}
