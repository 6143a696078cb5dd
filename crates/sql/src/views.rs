//! Views that a statement names: SQLite's own, made in the statement's SQLite from texts that the source of tables has, written anew as statements are.
//!
//! The text of a view is as little trusted as a statement. It is one SELECT, made while SQLite may do nothing else than to make a view, and what it names is looked up and allowed as what a
//! statement names. Views of views are expanded in each other, so their number can grow by the power of their depth: it is counted before SQLite expands them.

use crate::expressions;
use crate::schemas::quoted;
use crate::syntax::{Word, WordKind, words};
use crate::tables::{Dialect, Table};
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Different views that a statement names, itself or in views.
pub const VIEWS_MAX: usize = 32;
/// How often all of them together are expanded.
pub const EXPANSIONS_MAX: usize = 1_000;

/// What one SQLite has of views.
#[derive(Default)]
pub(crate) struct Views {
    /// By their names in lower case.
    texts: BTreeMap<String, View>,
}

struct View {
    /// As it was first written.
    name: String,
    /// What its source has.
    text: String,
    /// What SQLite has been told; nothing before.
    told: Option<String>,
}

impl Views {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.texts.contains_key(&name.to_ascii_lowercase())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The texts of all of them.
    pub(crate) fn texts(&self) -> Vec<&str> {
        self.texts.values().map(|view| view.text.as_str()).collect()
    }

    /// Notes a view, which [`Self::tell`] makes.
    ///
    /// # Errors
    /// Its text is no SELECT, or there are too many.
    pub(crate) fn add(&mut self, name: &str, text: String) -> Result<(), String> {
        if self.texts.len() >= VIEWS_MAX {
            return Err(format!("a statement names at most {VIEWS_MAX} views, those in views included"));
        }
        // Others could be written as what is no word here, and be expanded without being counted.
        if !name.chars().all(|c| c.is_alphanumeric() || "_-./=@$ ".contains(c)) {
            return Err(format!("{name} is no name of a view: it has signs that names do not have"));
        }
        let said = words(&text).map_err(|error| format!("the view {name}: {error}"))?;
        let selects = said.first().is_some_and(|word| ["SELECT", "WITH", "VALUES"].iter().any(|first| word.is(first)));
        if !selects || said.iter().any(|word| word.is_symbol(';')) {
            return Err(format!("the view {name} is no SELECT"));
        }
        self.texts.insert(name.to_ascii_lowercase(), View { name: name.to_owned(), text, told: None });
        Ok(())
    }

    /// Makes views be there, as they are written over the tables that are known by now; the connection's authorizer is another one then.
    ///
    /// # Errors
    /// SQLite does not take one, or it says what cannot be.
    pub(crate) fn tell(&mut self, connection: &mut Connection, tables: &[Arc<Table>], dialect: Dialect) -> Result<(), String> {
        let texts: Vec<String> = self.texts.values().map(|view| view.text.clone()).collect();
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        for view in self.texts.values_mut() {
            let of_view = |error: &dyn std::fmt::Display| format!("the view {}: {error}", view.name);
            let written = expressions::rewrite(&view.text, tables, &all, dialect).map_err(|error| of_view(&error))?.sql;
            if view.told.as_ref() == Some(&written) {
                continue;
            }
            let name = quoted(&view.name);
            let first = if view.told.is_some() { format!("DROP VIEW {name}; ") } else { String::new() };
            let made = connection
                .authorizer(Some(only_makes_views))
                .and_then(|()| connection.execute_batch(&format!("{first}CREATE VIEW {name} AS {written}")));
            made.map_err(|error| of_view(&error))?;
            view.told = Some(written);
        }
        Ok(())
    }

    /// # Errors
    /// A statement would have SQLite expand too many of them.
    pub(crate) fn check(&self, sql: &str) -> Result<(), String> {
        let mut known = BTreeMap::new();
        if self.expansions(sql, &mut known) > EXPANSIONS_MAX {
            return Err(format!(
                "the statement names views that name views: all of them together are read more than {EXPANSIONS_MAX} times"
            ));
        }
        Ok(())
    }

    /// How many views a text expands to. One that is within itself counts as none: SQLite says that it is.
    fn expansions(&self, text: &str, known: &mut BTreeMap<String, usize>) -> usize {
        let Ok(words) = words(text) else { return 0 };
        let mut count = 0_usize;
        for name in words.iter().filter_map(possible_name).map(|name| name.to_ascii_lowercase()) {
            let Some(of_view) = self.texts.get(&name) else { continue };
            let within = match known.get(&name) {
                Some(within) => *within,
                None => {
                    known.insert(name.clone(), 0);
                    let within = self.expansions(&of_view.text, known);
                    known.insert(name, within);
                    within
                }
            };
            count = count.saturating_add(within).saturating_add(1);
        }
        count
    }
}

/// A word as a name: to SQLite a text is one, too, where a table is to be.
fn possible_name(word: &Word<'_>) -> Option<String> {
    match word.kind {
        WordKind::Text => Some(word.text.trim_matches('\'').to_owned()),
        _ => word.name(),
    }
}

/// What SQLite does to make a view, and nothing else.
fn only_makes_views(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::CreateView { .. } | AuthAction::DropView { .. } | AuthAction::Select | AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Insert { table_name } | AuthAction::Update { table_name, .. } | AuthAction::Delete { table_name }
            if table_name == "sqlite_master" =>
        {
            Authorization::Allow
        }
        // What DROP VIEW asks of the view itself.
        AuthAction::Delete { .. } => Authorization::Allow,
        _ => Authorization::Deny,
    }
}
