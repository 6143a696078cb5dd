//! DESCRIBE, answered by the server: what cqlsh 6 and later send instead of putting the statements together themselves.
//!
//! On the path: the session hands the statement and a [`NodeView`] to [`describe`] and sends what comes back as rows of the table
//! `system.describe`. Nothing is read from a log.
//!
//! What is described can be fed back: every statement parses and makes the same table, type or keyspace again. The text is Cassandra
//! 5.0's, character by character, but where that could not be read back (a user type named like a native one).

mod cluster;
mod description;
mod error;
mod function_text;
mod schema_text;
mod type_text;

pub use description::Description;
use description::columns;
pub use error::DescribeError;
pub use schema_text::{create_index, create_keyspace, create_table, create_type, index_target};
pub use type_text::type_text;

use crate::language::ast::{Describe, DescribeTarget, FunctionName, Identifier, KeyspaceScope, QualifiedName, SchemaScope};
use crate::language::quote_identifier;
use crate::system::{self, NodeView};
use function_text::{aggregate_signature, create_aggregate, create_function, function_signature};
use model::{Function, Index, Keyspace, Table, UserAggregate, UserType};
use schema_text::Detail;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keyspace and table that the result claims to be of.
pub const DESCRIBE_TABLE: (&str, &str) = ("system", "describe");

/// Answers a DESCRIBE of a session that uses `keyspace`.
///
/// # Errors
/// When what is to be described is not there.
pub fn describe(statement: &Describe, keyspace: Option<&str>, view: &NodeView<'_>) -> Result<Description, DescribeError> {
    let detail = if statement.with_internals { Detail::Internals } else { Detail::Statement };
    let describer = Describer { view, keyspace, keyspaces: all_keyspaces(view), detail };
    describer.target(&statement.target)
}

/// Users' keyspaces and the system's, by name.
fn all_keyspaces<'a>(view: &NodeView<'a>) -> BTreeMap<&'a str, &'a Arc<Keyspace>> {
    let catalog = system::catalog();
    let system = catalog.ordinary.values().chain(catalog.virtual_keyspaces.values());
    system.chain(view.schema.keyspaces.values()).map(|keyspace| (keyspace.name.as_str(), keyspace)).collect()
}

/// An index of a keyspace, and its table.
fn index_of<'k>(keyspace: &'k Keyspace, name: &str) -> Option<(&'k Table, &'k Index)> {
    keyspace.tables.values().find_map(|table| Some((&**table, &**table.indexes.get(name)?)))
}

struct Describer<'a> {
    view: &'a NodeView<'a>,
    keyspace: Option<&'a str>,
    keyspaces: BTreeMap<&'a str, &'a Arc<Keyspace>>,
    detail: Detail,
}

/// One thing of the schema: in which keyspace, what it is, its name and the statement that makes it.
struct Element {
    keyspace: String,
    kind: &'static str,
    name: String,
    statement: String,
}

impl<'a> Describer<'a> {
    fn target(&self, target: &DescribeTarget) -> Result<Description, DescribeError> {
        match target {
            DescribeTarget::Cluster => Ok(cluster::describe(self.view, self.keyspace)),
            DescribeTarget::Schema(scope) => Ok(self.schema(*scope)),
            DescribeTarget::Keyspaces => Ok(names(self.keyspaces.keys().map(|name| ((*name).to_owned(), "keyspace", (*name).to_owned())))),
            DescribeTarget::Keyspace(scope, name) => self.keyspace(*scope, name.as_ref()),
            DescribeTarget::Tables => Ok(self.tables()),
            DescribeTarget::Types => Ok(self.types()),
            DescribeTarget::Functions => Ok(self.functions()),
            DescribeTarget::Aggregates => Ok(self.aggregates()),
            DescribeTarget::Table(name) => self.table(name),
            DescribeTarget::Type(name) => self.user_type(name),
            DescribeTarget::Index(name) => self.index(name),
            DescribeTarget::View(name) => self.materialized_view(name),
            DescribeTarget::Function(name) => self.function(name),
            DescribeTarget::Aggregate(name) => self.aggregate(name),
            DescribeTarget::Any(name) => self.any(name),
        }
    }

    fn schema(&self, scope: SchemaScope) -> Description {
        let shown = self.keyspaces.values().filter(|keyspace| scope == SchemaScope::Full || !system::is_system_keyspace(&keyspace.name));
        elements(shown.flat_map(|keyspace| self.contents(keyspace)))
    }

    fn keyspace(&self, scope: KeyspaceScope, name: Option<&Identifier>) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name)?;
        let mut contents = self.contents(keyspace);
        if scope == KeyspaceScope::Only {
            contents.truncate(1);
        }
        Ok(elements(contents))
    }

    /// The keyspace, then its types, each after those that it has, then functions, aggregates and tables.
    fn contents(&self, keyspace: &Keyspace) -> Vec<Element> {
        let mut contents = vec![self.element(&keyspace.name, "keyspace", &keyspace.name, create_keyspace(keyspace))];
        contents.extend(schema_text::dependencies_first(keyspace).into_iter().map(|user| self.type_element(user)));
        contents.extend(keyspace.functions.functions().map(|function| self.function_element(function)));
        contents.extend(keyspace.functions.aggregates().map(|aggregate| self.aggregate_element(aggregate)));
        let tables =
            sorted(keyspace.tables.values(), |table| &table.name).into_iter().filter(|table| table.view.is_none() && !table.is_cdc_log());
        contents.extend(tables.flat_map(|table| self.table_elements(keyspace, table)));
        contents
    }

    fn tables(&self) -> Description {
        let shown = self.shown_keyspaces().flat_map(|keyspace| {
            let tables = sorted(keyspace.tables.values(), |table| &table.name).into_iter().filter(|table| table.view.is_none());
            tables.map(|table| (keyspace.name.clone(), "table", table.name.clone()))
        });
        names(shown)
    }

    fn types(&self) -> Description {
        let shown = self.shown_keyspaces().flat_map(|keyspace| {
            let types = sorted(keyspace.types.values(), |user| &user.name);
            types.into_iter().map(|user| (keyspace.name.clone(), "type", user.name.clone()))
        });
        names(shown)
    }

    fn functions(&self) -> Description {
        let of = |keyspace: &'a Arc<Keyspace>| {
            keyspace.functions.functions().map(|function| (keyspace.name.clone(), "function", function_signature(function)))
        };
        signatures(self.shown_keyspaces().flat_map(|keyspace| of(keyspace)))
    }

    fn aggregates(&self) -> Description {
        let of = |keyspace: &'a Arc<Keyspace>| {
            keyspace.functions.aggregates().map(|aggregate| (keyspace.name.clone(), "aggregate", aggregate_signature(aggregate)))
        };
        signatures(self.shown_keyspaces().flat_map(|keyspace| of(keyspace)))
    }

    /// All functions of a name.
    fn function(&self, name: &FunctionName) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        let found: Vec<Element> = keyspace.functions.functions_named(&name.name).map(|function| self.function_element(function)).collect();
        if found.is_empty() { Err(DescribeError::function(&keyspace.name, &name.name)) } else { Ok(elements(found)) }
    }

    /// All aggregates of a name.
    fn aggregate(&self, name: &FunctionName) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        let found: Vec<Element> =
            keyspace.functions.aggregates_named(&name.name).map(|aggregate| self.aggregate_element(aggregate)).collect();
        if found.is_empty() { Err(DescribeError::aggregate(&keyspace.name, &name.name)) } else { Ok(elements(found)) }
    }

    /// The session's keyspace, or all of them when it uses none.
    fn shown_keyspaces(&self) -> impl Iterator<Item = &&'a Arc<Keyspace>> {
        self.keyspaces.values().filter(|keyspace| self.keyspace.is_none_or(|used| used == keyspace.name))
    }

    fn table(&self, name: &QualifiedName) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        let table = keyspace.tables.get(name.name.as_str()).filter(|table| table.view.is_none());
        let table = table.ok_or_else(|| DescribeError::table(&keyspace.name, &name.name))?;
        Ok(elements(self.table_elements(keyspace, table)))
    }

    fn materialized_view(&self, name: &QualifiedName) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        let view = keyspace.tables.get(name.name.as_str()).filter(|table| table.view.is_some());
        let view = view.ok_or_else(|| DescribeError::view(&keyspace.name, &name.name))?;
        Ok(elements([self.table_element(view)]))
    }

    fn index(&self, name: &QualifiedName) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        let found = index_of(keyspace, name.name.as_str()).ok_or_else(|| DescribeError::index(&keyspace.name, &name.name))?;
        Ok(elements([self.index_element(found.0, found.1)]))
    }

    fn user_type(&self, name: &QualifiedName) -> Result<Description, DescribeError> {
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        let user = keyspace.types.get(name.name.as_str()).ok_or_else(|| DescribeError::user_type(&keyspace.name, &name.name))?;
        Ok(elements([self.type_element(user)]))
    }

    /// A name alone is a keyspace's first, then that of a table of the session's keyspace.
    fn any(&self, name: &QualifiedName) -> Result<Description, DescribeError> {
        if name.keyspace.is_none() && self.keyspaces.contains_key(name.name.as_str()) {
            return self.keyspace(KeyspaceScope::WithContents, Some(&name.name));
        }
        if name.keyspace.is_none() && self.keyspace.is_none() {
            return Err(DescribeError::UnknownKeyspace(name.name.as_str().to_owned()));
        }
        let keyspace = self.used_keyspace(name.keyspace.as_ref())?;
        if let Some(table) = keyspace.tables.get(name.name.as_str()) {
            return Ok(elements(self.table_elements(keyspace, table)));
        }
        let found = index_of(keyspace, name.name.as_str()).ok_or_else(|| DescribeError::any(&keyspace.name, &name.name))?;
        Ok(elements([self.index_element(found.0, found.1)]))
    }

    fn used_keyspace(&self, name: Option<&Identifier>) -> Result<&'a Arc<Keyspace>, DescribeError> {
        let name = name.map(Identifier::as_str).or(self.keyspace).ok_or(DescribeError::NoKeyspace)?;
        self.keyspaces.get(name).copied().ok_or_else(|| DescribeError::UnknownKeyspace(name.to_owned()))
    }

    fn function_element(&self, function: &Function) -> Element {
        self.element(&function.keyspace, "function", &function_signature(function), create_function(function))
    }

    fn aggregate_element(&self, aggregate: &UserAggregate) -> Element {
        self.element(&aggregate.keyspace, "aggregate", &aggregate_signature(aggregate), create_aggregate(aggregate))
    }

    fn type_element(&self, user: &UserType) -> Element {
        self.element(&user.keyspace, "type", &user.name, create_type(user))
    }

    fn table_element(&self, table: &Table) -> Element {
        let statement = schema_text::describe_table(table, self.detail);
        let kind = if table.view.is_some() { "materialized_view" } else { "table" };
        self.element(&table.keyspace, kind, &table.name, statement)
    }

    /// A table, then its indexes and views.
    fn table_elements(&self, keyspace: &Keyspace, table: &Table) -> Vec<Element> {
        let indexes = table.indexes.values().map(|index| self.index_element(table, index));
        let views = table.views.iter().filter_map(|view| keyspace.tables.get(view)).map(|view| self.table_element(view));
        std::iter::once(self.table_element(table)).chain(indexes).chain(views).collect()
    }

    fn index_element(&self, table: &Table, index: &Index) -> Element {
        self.element(&table.keyspace, "index", &index.name, create_index(table, index))
    }

    fn element(&self, keyspace: &str, kind: &'static str, name: &str, statement: String) -> Element {
        Element { keyspace: keyspace.to_owned(), kind, name: name.to_owned(), statement }
    }
}

/// By name, upper and lower case alike.
fn sorted<'a, T>(things: impl Iterator<Item = &'a Arc<T>>, name: fn(&T) -> &String) -> Vec<&'a Arc<T>> {
    let mut sorted: Vec<_> = things.collect();
    sorted.sort_by_key(|thing| (name(thing).to_lowercase(), name(thing).clone()));
    sorted
}

fn quoted(name: &str) -> Vec<u8> {
    quote_identifier(name).into_owned().into_bytes()
}

fn names(things: impl Iterator<Item = (String, &'static str, String)>) -> Description {
    let rows = things.map(|(keyspace, kind, name)| vec![quoted(&keyspace), kind.into(), quoted(&name)]).collect();
    Description { columns: columns(&["keyspace_name", "type", "name"]), rows }
}

/// As [`names`], of functions, whose names have their quotes.
fn signatures(things: impl Iterator<Item = (String, &'static str, String)>) -> Description {
    let rows = things.map(|(keyspace, kind, name)| vec![quoted(&keyspace), kind.into(), name.into_bytes()]).collect();
    Description { columns: columns(&["keyspace_name", "type", "name"]), rows }
}

fn elements(things: impl IntoIterator<Item = Element>) -> Description {
    let row = |element: Element| {
        let is_signature = matches!(element.kind, "function" | "aggregate");
        let name = if is_signature { element.name.into_bytes() } else { quoted(&element.name) };
        vec![quoted(&element.keyspace), element.kind.into(), name, element.statement.into_bytes()]
    };
    let columns = columns(&["keyspace_name", "type", "name", "create_statement"]);
    Description { columns, rows: things.into_iter().map(row).collect() }
}
