//! Views as they are kept: rows of a container of each database. So they are replicated, backed up and survive what rows survive; who may read all containers of a database
//! sees its views, and who may write all of them makes them.

use crate::client::{Client, Refusal};
use crate::container::Container;
use crate::rows::{RowFormat, Rows};
use griddb::ErrorCode;
use griddb::client::{ContainerId, query_part, read_part};
use griddb::schema::ColumnDefinition;
use griddb::wire::statement;
use sql::ValueRef;

/// The container's name; the row key is the view's name in lower case.
pub(crate) const CONTAINER: &str = "_tarndb_views";
/// Its columns.
pub(crate) const COLUMNS: [&str; 3] = ["id", "name", "definition"];
/// Bytes of a view's name.
pub(crate) const NAME_BYTES_MAX: usize = 1_000;
/// Bytes of a view's SELECT.
pub(crate) const DEFINITION_BYTES_MAX: usize = 64 << 10;

/// A view.
pub(crate) struct View {
    /// As it was first written.
    pub(crate) name: String,
    /// What it selects.
    pub(crate) definition: String,
    /// Its columns, where what it selects can be read.
    pub(crate) columns: Vec<ColumnDefinition>,
}

/// Whether it is where views are kept.
pub(crate) fn is_container(name: &str) -> bool {
    name.eq_ignore_ascii_case(CONTAINER)
}

/// The view of a name, whatever its capitals; none if there is no such, or the client may not know.
///
/// # Errors
/// What the node says.
pub(crate) fn find(client: &mut Client, name: &str) -> Result<Option<View>, Refusal> {
    let condition = format!(" WHERE {} = '{}'", COLUMNS[0], name.to_ascii_lowercase().replace('\'', "''"));
    Ok(read(client, &condition)?.pop())
}

/// All views that the client may know of.
///
/// # Errors
/// What the node says.
pub(crate) fn all(client: &mut Client) -> Result<Vec<View>, Refusal> {
    read(client, "")
}

/// The container, if there is one that the client may read.
fn container(client: &mut Client) -> Result<Option<Container>, Refusal> {
    match Container::find(client, CONTAINER) {
        Err(refusal) if refusal.error.code == ErrorCode::TXN_OPERATION_NOT_ALLOWED => Ok(None),
        // One that somebody has made over NoSQL, with other columns, has no views.
        Ok(Some(container)) if container.columns.iter().map(|column| &column.name).ne(COLUMNS) => Ok(None),
        found => found,
    }
}

fn read(client: &mut Client, condition: &str) -> Result<Vec<View>, Refusal> {
    let Some(container) = container(client)? else { return Ok(Vec::new()) };
    let format = RowFormat::new(&container.columns, container.kind);
    let (id, text) = (ContainerId { id: container.id, version: container.version }, format!("SELECT *{condition}"));
    let (mut views, mut state) = (Vec::new(), None::<Vec<u8>>);
    loop {
        let answered = client.ask(statement::QUERY_TQL, 0, |out| query_part(id, state.as_deref(), &text, out));
        let answer = match answered {
            Err(refusal) if refusal.error.code == ErrorCode::TXN_OPERATION_NOT_ALLOWED => return Ok(views),
            answered => answered?,
        };
        let part = read_part(&mut answer.reader())?;
        let start = part.rows.as_ptr() as usize - answer.bytes().as_ptr() as usize;
        state = part.state.map(<[u8]>::to_vec);
        let (bytes, body) = answer.into_bytes();
        let mut rows = Rows::new(bytes, body + start, &format)?;
        while rows.advance(&format, true)? {
            let text = |column| if let ValueRef::Text(text) = rows.value(&format, column) { text.to_owned() } else { String::new() };
            views.push(View { name: text(1), definition: text(2), columns: Vec::new() });
        }
        if state.is_none() {
            return Ok(views);
        }
    }
}
