//! SELECT.
//!
//! A select is done in two halves. The shard finds rows and gives, for each, the values of `sources` (the fetch); the core that holds the
//! client's connection turns them into the result's columns (`outputs`), groups and aggregates. When the outputs are the sources, as
//! in most statements, the first half writes the reply itself.

use super::{ClusteringPlan, Comparator, KeyTerm, Term};
use crate::value::function::FunctionSpec;
use model::{DataType, Table};
use std::sync::Arc;

/// A planned SELECT.
#[derive(Debug)]
pub struct Select {
    /// The table.
    pub table: Arc<Table>,
    /// What is read of each row.
    pub sources: Vec<Source>,
    /// For each column id, 1 + the index of the source that wants its cell's value, or 0: so that one pass over a row's cells finds all.
    pub slots: Vec<u16>,
    /// The result's columns.
    pub outputs: Vec<Output>,
    /// Whether `outputs` are just `sources`, in order.
    pub plain: bool,
    /// `SELECT DISTINCT`, or only partition key and static columns were asked for with it: one row a partition.
    pub distinct: bool,
    /// `SELECT JSON`
    pub json: bool,
    /// Restrictions that give whole partition keys, or empty for a scan.
    pub partition: Vec<KeyTerm>,
    /// `token(pk) > …`
    pub token_lower: Option<(Term, bool)>,
    /// `token(pk) < …`
    pub token_upper: Option<(Term, bool)>,
    /// Restrictions on the clustering key that are a contiguous range for each prefix.
    pub clustering: ClusteringPlan,
    /// What each row must match besides.
    pub filters: Vec<Filter>,
    /// Whether rows come in the reverse of the table's clustering order.
    pub reversed: bool,
    /// GROUP BY: how many of the primary key's columns make a group.
    pub group_by: Option<usize>,
    /// Whether outputs aggregate over rows.
    pub aggregates: bool,
    /// LIMIT
    pub limit: Option<Term>,
    /// PER PARTITION LIMIT
    pub per_partition_limit: Option<Term>,
    /// ORDER BY over several partitions (IN): the sources to sort by, descending when true.
    pub sort: Vec<(usize, bool)>,
}

/// A value that the fetch gives for each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A column of the partition key.
    Partition(usize),
    /// A column of the clustering key.
    Clustering(usize),
    /// A static column.
    Static(SourceColumn),
    /// A regular column.
    Regular(SourceColumn),
    /// `WRITETIME(c)`
    WriteTime(SourceColumn),
    /// `TTL(c)`
    Ttl(SourceColumn),
}

/// A column that a source reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Position in `Table::columns`.
    pub position: usize,
    /// Whether it is static.
    pub is_static: bool,
}

/// A column of the result.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
    /// How it comes about.
    pub expression: Expression,
}

/// How an output comes about from the sources.
#[derive(Clone, Debug)]
pub enum Expression {
    /// A source.
    Source(usize),
    /// A value.
    Term(Term),
    /// A function of other expressions.
    Call(FunctionSpec, Vec<Expression>),
    /// An aggregate over the rows of a group, of one expression (`None`: `count(*)`).
    Aggregate(crate::value::function::AggregateSpec, Option<Box<Expression>>),
    /// `c[k]`, `c.f`
    Element(Box<Expression>, DataType, Box<Term>),
    /// A field of a user type or tuple by its number.
    Field(Box<Expression>, usize),
}

/// What a row must match.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What is compared.
    pub source: Source,
    /// Its type.
    pub data_type: DataType,
    /// Which part of it.
    pub target: FilterTarget,
    /// How.
    pub operator: Comparator,
    /// With what; several for IN.
    pub values: Vec<Term>,
    /// `IN ?`: the one value is a list.
    pub in_list: bool,
}

/// Which part of a source a filter compares.
#[derive(Clone, Debug)]
pub enum FilterTarget {
    /// The whole.
    Whole,
    /// A map's value at a key.
    Element(Term),
}
