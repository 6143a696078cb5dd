//! What a line tells, before the outcome is known.

use super::Category;
use cql::plan::Prepared;
use std::net::SocketAddr;
use std::sync::Arc;

/// Who asks, and when.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) protocol: &'static str,
    pub(crate) address: SocketAddr,
    /// Who has logged in, or says so.
    pub(crate) role: Option<Arc<str>>,
    pub(crate) wall_us: i64,
}

impl Source {
    pub(crate) fn role(&self) -> &str {
        self.role.as_deref().unwrap_or("anonymous")
    }
}

/// The words of a request.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// It has none.
    None,
    /// As they are.
    Text(Box<str>),
    /// Of a statement that is prepared.
    Prepared(Arc<Prepared>),
    /// They may have had a password; what is left does not.
    Masked(Box<str>),
}

impl Operation {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Text(text) | Self::Masked(text) => Some(text),
            Self::Prepared(prepared) => Some(&prepared.text),
        }
    }
}

/// One line's contents.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// If it succeeds.
    pub(crate) category: Category,
    /// The kind of statement: `SELECT`, `CREATE_TABLE`.
    pub(crate) kind: &'static str,
    pub(crate) keyspace: Option<Box<str>>,
    /// The table, role, set: what in that keyspace it is about.
    pub(crate) object: Option<Box<str>>,
    pub(crate) operation: Operation,
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// For want of a permission or a password.
    Unauthorized(String),
    Other(String),
    /// Its connection ended before the reply.
    Unknown,
}

impl Failure {
    pub(crate) fn category(&self) -> Category {
        match self {
            Self::Unauthorized(_) => Category::Auth,
            Self::Other(_) | Self::Unknown => Category::Error,
        }
    }
}
