//! CREATE, ALTER and DROP: containers as clients over NoSQL make them.

use crate::client::{Client, Refusal};
use crate::container::{Container, element_type};
use crate::division;
use crate::failures::wrong;
use crate::places::{self, partition};
use crate::transaction::done_or_not;
use crate::write::positions;
use griddb::client::ContainerId;
use griddb::partitioning::Division;
use griddb::schema::{ColumnDefinition, Kind};
use griddb::wire::statement;
use griddb::{ContainerName, ErrorCode, GridError, IndexKind};
use sql::syntax::{self, Statement, TableDefinition};

/// Does what such a statement says.
///
/// # Errors
/// It cannot be done.
pub(crate) fn define(client: &mut Client, statement: &Statement) -> Result<(), Refusal> {
    match statement {
        Statement::CreateTable(table) => create_table(client, table),
        Statement::DropTable(name, if_exists) => drop_table(client, name, *if_exists),
        Statement::CreateIndex { name, table, columns, if_not_exists } => create_index(client, (name, table), columns, *if_not_exists),
        Statement::DropIndex(name, table, if_exists) => drop_index(client, name, table, *if_exists),
        Statement::AddColumns(table, added) => {
            let container = existing(client, table)?;
            let mut columns = container.columns.to_vec();
            for column in added {
                if columns.iter().any(|known| known.name.eq_ignore_ascii_case(&column.name)) {
                    return Err(wrong(format!("the table {table} has a column {} already", column.name)).into());
                }
                columns.push(declared(column)?);
            }
            put_columns(client, &container, &columns)
        }
        Statement::DropColumn(table, column) => {
            let container = existing(client, table)?;
            let gone = positions(&container, std::slice::from_ref(column))?;
            let mut columns = container.columns.to_vec();
            gone.into_iter().for_each(|position| drop(columns.remove(position)));
            put_columns(client, &container, &columns)
        }
        Statement::RenameColumn { table, from, to } => {
            let missing = || GridError::new(ErrorCode::SQL_DDL_TABLE_NOT_EXISTS, format!("no such table: {table}"));
            let container = Container::find(client, table)?.ok_or_else(missing)?;
            rename_column(client, &container, (from, to))
        }
        Statement::DropPartition(table, value) => {
            let container = existing(client, table)?;
            places::divide(client, &container, &Division::Drop(division::interval_of(&container, value)?))
        }
        // These write rows.
        Statement::CreateView { .. } | Statement::DropView(..) => Ok(()),
        Statement::Read | Statement::Analyze(_) | Statement::Insert { .. } | Statement::Update { .. } | Statement::Delete { .. } => Ok(()),
    }
}

fn existing(client: &mut Client, name: &str) -> Result<Container, Refusal> {
    Ok(Container::find(client, name)?.ok_or_else(|| wrong(format!("no such table: {name}")))?)
}

fn declared(column: &syntax::ColumnDefinition) -> Result<ColumnDefinition, GridError> {
    let unknown = || wrong(format!("the column {} has a type that no column has", column.name));
    let element = element_type(column.kind).ok_or_else(unknown)?;
    Ok(ColumnDefinition { name: column.name.clone(), element, is_array: false, is_not_null: column.is_not_null })
}

fn create_table(client: &mut Client, table: &TableDefinition) -> Result<(), Refusal> {
    if Container::find(client, &table.name)?.is_some() {
        return if table.if_not_exists { Ok(()) } else { Err(wrong(format!("the table {} is there already", table.name)).into()) };
    }
    let mut columns = table.columns.iter().map(declared).collect::<Result<Vec<_>, _>>()?;
    let is_key = |(column, name): (&ColumnDefinition, &String)| column.name.eq_ignore_ascii_case(name);
    if table.key.len() > columns.len() || !columns.iter().zip(&table.key).all(is_key) {
        return Err(wrong("PRIMARY KEY names the first columns, in their order".to_owned()).into());
    }
    columns.iter_mut().take(table.key.len()).for_each(|column| column.is_not_null = true);
    let kind = if table.is_time_series { Kind::TimeSeries } else { Kind::Collection };
    let partitioning = division::declared(table)?.map(|partitioning| partitioning.to_text());
    put_container(client, (&ContainerName::parse(&table.name), kind), (&columns, table.key.len()), partitioning.as_deref(), false)
}

/// Changes the columns of a table.
fn put_columns(client: &mut Client, container: &Container, columns: &[ColumnDefinition]) -> Result<(), Refusal> {
    let keeps = container.partitioning.as_ref().map(|_| "");
    put_container(client, (&container.name, container.kind), (columns, container.key_len), keeps, true)
}

fn rename_column(client: &mut Client, container: &Container, names: (&str, &str)) -> Result<(), Refusal> {
    let schema = (&*container.columns, container.key_len);
    let renamed = client.ask(statement::PUT_CONTAINER, partition(&container.name), |out| {
        griddb::client::rename_column((&container.name, container.kind), schema, names, out);
    });
    renamed.map(drop).map_err(done_or_not)
}

fn put_container(
    client: &mut Client,
    (name, kind): (&ContainerName, Kind),
    (columns, key_len): (&[ColumnDefinition], usize),
    partitioning: Option<&str>,
    is_modifiable: bool,
) -> Result<(), Refusal> {
    let put = client.ask(statement::PUT_CONTAINER, partition(name), |out| match partitioning {
        None => griddb::client::put_container((name, kind), (columns, key_len), is_modifiable, out),
        Some(text) => griddb::client::put_partitioned_container((name, kind), (columns, key_len), text, is_modifiable, out),
    });
    put.map(drop).map_err(done_or_not)
}

fn drop_table(client: &mut Client, name: &str, if_exists: bool) -> Result<(), Refusal> {
    let Some(container) = Container::find(client, name)? else {
        return if if_exists { Ok(()) } else { Err(wrong(format!("no such table: {name}")).into()) };
    };
    let dropped = client.ask(statement::DROP_CONTAINER, partition(&container.name), |out| {
        griddb::client::name_container(&container.name, container.kind, out);
    });
    dropped.map(drop).map_err(done_or_not)
}

fn create_index(client: &mut Client, (name, table): (&str, &str), columns: &[String], if_not_exists: bool) -> Result<(), Refusal> {
    let container = existing(client, table)?;
    if container.indexes.iter().any(|index| index.name.eq_ignore_ascii_case(name)) {
        return if if_not_exists { Ok(()) } else { Err(wrong(format!("the table {table} has an index {name} already")).into()) };
    }
    let columns = positions(&container, columns)?;
    let first = columns.first().and_then(|position| container.columns.get(*position));
    let kind = first.map_or(IndexKind::Tree, |column| IndexKind::of(column.element));
    change_index(client, &container, statement::CREATE_INDEX, (name, &columns, kind), &[])
}

fn drop_index(client: &mut Client, name: &str, table: &str, if_exists: bool) -> Result<(), Refusal> {
    let container = existing(client, table)?;
    let Some(index) = container.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(name)) else {
        return if if_exists { Ok(()) } else { Err(wrong(format!("the table {table} has no index {name}")).into()) };
    };
    // Of this name and this type.
    change_index(client, &container, statement::DROP_INDEX, (&index.name, &index.columns, index.kind.unwrap_or(IndexKind::Tree)), &[0, 0])
}

fn change_index(
    client: &mut Client,
    container: &Container,
    number: i32,
    index: (&str, &[usize], IndexKind),
    flags: &[u8],
) -> Result<(), Refusal> {
    let id = ContainerId { id: container.id, version: container.version };
    let changed = client.ask(number, 0, |out| griddb::client::change_index(id, index, flags, out));
    changed.map(drop).map_err(done_or_not)
}
