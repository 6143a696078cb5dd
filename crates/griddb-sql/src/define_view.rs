//! CREATE VIEW, DROP VIEW: rows that are written where [`views`] keeps them, as other statements of SQL write rows.

use crate::client::Refusal;
use crate::container::Container;
use crate::define;
use crate::failures;
use crate::node::lock;
use crate::source::Source;
use crate::views::{self, COLUMNS, CONTAINER, DEFINITION_BYTES_MAX, NAME_BYTES_MAX};
use crate::write::Writing;
use griddb::{ErrorCode, GridError};
use sql::syntax::{self, Statement};
use sql::{Query, Tables, Value};
use std::sync::Arc;

/// What CREATE VIEW says.
pub(crate) struct NewView<'v> {
    pub(crate) name: &'v str,
    pub(crate) text: &'v str,
    pub(crate) replaces: bool,
    /// Whether what it names may be missing.
    pub(crate) is_forced: bool,
}

/// Makes a view.
///
/// # Errors
/// There is one, or a table of the name; what it names is missing; the client may not.
pub(crate) fn create(writing: &Writing<'_>, view: &NewView<'_>) -> Result<(), Refusal> {
    let name = view.name;
    if views::is_container(name) || !is_name(name) {
        return Err(wrong(format!(
            "{name} is no name of a view: it begins with a letter or _, and has letters, digits and _ - . / = @, at most {NAME_BYTES_MAX} bytes"
        )));
    }
    if view.text.len() > DEFINITION_BYTES_MAX {
        return Err(wrong(format!("the SELECT of a view has at most {DEFINITION_BYTES_MAX} bytes")));
    }
    if Container::find(&mut lock(writing.client), name)?.is_some() {
        return Err(wrong(format!("there is a table {name}: a view has another name")));
    }
    if !view.is_forced {
        let tables: Arc<dyn Tables> = Arc::new(Source::new(Arc::clone(writing.client)));
        let text = syntax::with_units_quoted(view.text).map_err(|error| failures::syntax_error(&error))?;
        Query::prepare(&tables, &text).map_err(failures::refusal)?;
    }
    let columns = COLUMNS.map(|column| format!("{column} STRING NOT NULL")).join(", ");
    let kept = format!("CREATE TABLE IF NOT EXISTS {CONTAINER} ({columns}, PRIMARY KEY ({}))", COLUMNS[0]);
    define::define(&mut lock(writing.client), &syntax::parse(&kept).map_err(|error| failures::syntax_error(&error))?)?;
    let parameters = [Value::Text(name.to_ascii_lowercase()), Value::Text(name.to_owned()), Value::Text(view.text.to_owned())];
    let writing = Writing { client: writing.client, running: writing.running, parameters: &parameters };
    match writing.insert(CONTAINER, &[], "VALUES (?, ?, ?)", view.replaces) {
        Err(refusal) if refusal.error.code == ErrorCode::DS_COL_ROWKEY_INVALID => {
            Err(wrong(format!("there is a view {name}: CREATE OR REPLACE VIEW takes its place")))
        }
        written => written.map(drop),
    }
}

/// Drops a view.
///
/// # Errors
/// There is none, or the client may not.
pub(crate) fn drop_view(writing: &Writing<'_>, name: &str, if_exists: bool) -> Result<(), Refusal> {
    if views::find(&mut lock(writing.client), name)?.is_none() {
        return if if_exists { Ok(()) } else { Err(wrong(format!("no such view: {name}"))) };
    }
    let parameters = [Value::Text(name.to_ascii_lowercase())];
    let writing = Writing { client: writing.client, running: writing.running, parameters: &parameters };
    writing.change(CONTAINER, &[], &format!("{CONTAINER} WHERE {} = ?", COLUMNS[0])).map(drop)
}

/// Refuses to make or change a table where there is a view of its name.
///
/// # Errors
/// There is one.
pub(crate) fn refuse_table(writing: &Writing<'_>, statement: &Statement) -> Result<(), Refusal> {
    let view_of = |name: &str| views::find(&mut lock(writing.client), name);
    match statement {
        Statement::CreateTable(table) if view_of(&table.name)?.is_some() => {
            Err(wrong(format!("there is a view {}: a table has another name", table.name)))
        }
        Statement::DropTable(name, _) if view_of(name)?.is_some() => Err(wrong(format!("{name} is a view: DROP VIEW drops it"))),
        Statement::RenameColumn { table, .. } if view_of(table)?.is_some() => {
            let message = format!("{table} is a view, whose columns are those of its SELECT: CREATE OR REPLACE VIEW takes its place");
            Err(GridError::new(ErrorCode::SQL_DDL_INVALID_CONTAINER_ATTRIBUTE, message).into())
        }
        _ => Ok(()),
    }
}

/// As names of containers are.
fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-./=@".contains(c);
    name.len() <= NAME_BYTES_MAX && name.chars().all(is_part) && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn wrong(message: String) -> Refusal {
    GridError::new(ErrorCode::SQL_COMPILE_SYNTAX_ERROR, message).into()
}
