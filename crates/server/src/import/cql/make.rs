//! What the target lacks of a keyspace, made as the source has it.
//!
//! Before rows: keyspace, types, tables. After them: indexes and views, which are built from the rows that are there.

use super::super::error::ImportError;
use super::schema::{self, Column, ColumnKind, Keyspace, Table, UserType};
use super::statements::{create_index, create_keyspace, create_table, create_type, create_view, in_order};
use crate::feed::{FeedError, Source};
use load::cql::client::ClientError;

fn make(target: &mut Source<'_>, what: &str, text: &str) -> Result<(), ImportError> {
    target.run(text, &[]).map_err(|error| match error {
        FeedError::Client(ClientError::Refused { .. }) => ImportError::NotMade { what: what.to_owned(), error },
        error => ImportError::Target(error),
    })
}

/// Makes keyspace and types where they are missing, checks that what is there is the same, and gives the tables that are missing. `replicas` are asked for;
/// without, there are as many as at the source or as there are nodes.
pub(super) fn keyspace<'t>(
    target: &mut Source<'_>,
    source: &Keyspace,
    tables: &'t [Table],
    replicas: Option<u32>,
) -> Result<Vec<&'t Table>, ImportError> {
    let name = &source.name;
    let there = match schema::read(target, name).map_err(ImportError::Target)? {
        Some(there) => there,
        None => {
            let nodes = target.all("SELECT peer FROM system.peers", &[]).map_err(ImportError::Target)?.len() + 1;
            let fitting = source.replicas.min(u32::try_from(nodes).unwrap_or(u32::MAX));
            make(target, &format!("keyspace {name}"), &create_keyspace(name, replicas.unwrap_or(fitting)))?;
            Keyspace { types: Vec::new(), tables: Vec::new(), ..source.clone() }
        }
    };
    // Nothing is made beside what cannot be.
    for table in tables {
        there.tables.iter().filter(|other| other.name == table.name).try_for_each(|other| same_table(table, other))?;
    }
    for user in in_order(&source.types) {
        match there.types.iter().find(|other| other.name == user.name) {
            Some(other) => same_type(user, other)?,
            None => make(target, &format!("type {}", user.name), &create_type(name, user))?,
        }
    }
    Ok(tables.iter().filter(|table| !there.tables.iter().any(|other| other.name == table.name)).collect())
}

/// Makes a table.
pub(super) fn table(target: &mut Source<'_>, keyspace: &str, table: &Table) -> Result<(), ImportError> {
    make(target, &format!("table {}", table.name), &create_table(keyspace, table))
}

/// Makes indexes and views where they are missing, and gives those that the target refuses, with its words.
pub(super) fn after_rows(target: &mut Source<'_>, keyspace: &str, tables: &[Table]) -> Result<Vec<String>, ImportError> {
    let mut refused = Vec::new();
    for table in tables {
        // ScyllaDB has a view for each index, which is none of the user's.
        let is_of_index = |view: &str| table.indexes.iter().any(|index| format!("{}_index", index.name) == view);
        let indexes = table.indexes.iter().map(|index| (format!("index {}", index.name), create_index(keyspace, &table.name, index)));
        let views = table.views.iter().filter(|view| !is_of_index(&view.name));
        let views = views.map(|view| (format!("view {}", view.name), create_view(keyspace, &table.name, view)));
        for (what, text) in indexes.chain(views) {
            match make(target, &what, &text) {
                Err(ImportError::NotMade { what, error }) => refused.push(format!("{what}: {error}")),
                made => made?,
            }
        }
    }
    Ok(refused)
}

fn same_type(user: &UserType, other: &UserType) -> Result<(), ImportError> {
    if user.fields == other.fields {
        return Ok(());
    }
    let text = |user: &UserType| user.fields.iter().map(|(name, data_type)| format!("{name} {data_type}")).collect::<Vec<_>>().join(", ");
    let difference = format!("({}) there, and ({}) at the source", text(other), text(user));
    Err(ImportError::Differs { what: "type", name: user.name.clone(), difference })
}

fn same_table(table: &Table, other: &Table) -> Result<(), ImportError> {
    match difference(&table.columns, &other.columns) {
        None => Ok(()),
        Some(difference) => Err(ImportError::Differs { what: "table", name: table.name.clone(), difference }),
    }
}

/// In what the target's columns differ.
fn difference(source: &[Column], target: &[Column]) -> Option<String> {
    let text = |column: &Column| {
        let kind = match column.kind {
            ColumnKind::Partition => ", partition key",
            ColumnKind::Clustering if column.is_descending => ", clustering column, descending",
            ColumnKind::Clustering => ", clustering column",
            ColumnKind::Static => ", static",
            ColumnKind::Regular => "",
        };
        let place = if column.position > 0 { format!(" {}", column.position + 1) } else { String::new() };
        format!("{}{kind}{place}", column.data_type)
    };
    for column in source {
        match target.iter().find(|other| other.name == column.name) {
            None => return Some(format!("it lacks column {} ({})", column.name, text(column))),
            Some(other) if other != column => {
                return Some(format!("column {} is {}, and {} at the source", column.name, text(other), text(column)));
            }
            Some(_) => {}
        }
    }
    let more = target.iter().find(|other| !source.iter().any(|column| column.name == other.name));
    more.map(|column| format!("it has column {}, which the source lacks", column.name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_names_the_column() {
        let column = |name: &str, data_type: &str, kind: ColumnKind, position: i32| Column {
            kind,
            position,
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            is_descending: false,
        };
        let source = [column("p", "int", ColumnKind::Partition, 0), column("v", "text", ColumnKind::Regular, 0)];
        assert_eq!(difference(&source, &source), None);
        assert_eq!(difference(&source, &source[..1]).unwrap(), "it lacks column v (text)");
        assert_eq!(difference(&source[..1], &source).unwrap(), "it has column v, which the source lacks");
        let other = [column("p", "int", ColumnKind::Partition, 1), column("v", "text", ColumnKind::Static, 0)];
        assert_eq!(difference(&source, &other).unwrap(), "column p is int, partition key 2, and int, partition key at the source");
        assert_eq!(difference(&source[1..], &other[1..]).unwrap(), "column v is text, static, and text at the source");
    }
}
