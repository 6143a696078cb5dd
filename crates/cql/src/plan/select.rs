//! SELECT.
//!
//! A select is done in two halves. The shard finds rows and gives, for each, the values of `sources` (the fetch); the core that holds the
//! client's connection turns them into the result's columns (`outputs`), groups and aggregates. When the outputs are the sources
//! (`plain`), as in most statements, what the shard gives goes to the client as it is.

use super::{ClusteringPlan, Comparator, KeyTerm, Mask, Term};
use crate::index::Analysis;
use crate::value::function::{FunctionSpec, Similarity};
use crate::wire::{ColumnSpec, ProtocolVersion, ResultMetadata};
use base::TableId;
use model::{DataType, Index, Table};
use std::sync::{Arc, OnceLock};

/// In [`Select::slots`]: the column was dropped, and its cells are nobody's.
pub const SLOT_GONE: u16 = 0;

/// In [`Select::slots`]: the column's cells make a row live but are not read.
pub const SLOT_UNREAD: u16 = 1;

/// In [`Select::slots`]: this much more than the index into [`Select::cells`].
pub const SLOT_FIRST: u16 = 2;

/// A planned SELECT.
#[derive(Clone, Debug)]
pub struct Select {
    /// The table.
    pub table: Arc<Table>,
    /// The static and regular columns that anything below reads, each once.
    pub cells: Vec<SourceColumn>,
    /// For each column id what a row's cell of it is: [`SLOT_GONE`], [`SLOT_UNREAD`] or [`SLOT_FIRST`] and more, so that one pass over
    /// a row's cells finds all.
    pub slots: Vec<u16>,
    /// How many columns of the clustering key, from the first, must be decoded.
    pub clustering_read: usize,
    /// What is read of each row.
    pub sources: Vec<Source>,
    /// The result's columns; with `json` what the one column is made of.
    pub outputs: Vec<Output>,
    /// Whether `outputs` are just `sources`, in order.
    pub plain: bool,
    /// Whether at most one row can come, by a whole primary key of plain terms, and nothing happens to it after the fetch.
    pub single: bool,
    /// `SELECT DISTINCT`: one row a partition.
    pub distinct: bool,
    /// `SELECT JSON`
    pub json: bool,
    /// Restrictions that give whole partition keys, or empty for a scan.
    pub partition: Vec<KeyTerm>,
    /// `token(pk) > …`
    pub token_lower: Option<TokenBound>,
    /// `token(pk) < …`
    pub token_upper: Option<TokenBound>,
    /// Restrictions on the clustering key that are a contiguous range for each prefix.
    pub clustering: ClusteringPlan,
    /// What each row must match besides.
    pub filters: Vec<Filter>,
    /// Whether WHERE says anything of the partition key.
    pub restricts_partition: bool,
    /// The index that gives the rows to look at, where partitions are not given.
    pub index: Option<IndexUse>,
    /// Whether it says ALLOW FILTERING, needed or not.
    pub allow_filtering: bool,
    /// Whether a partition with nothing but static columns gives a row: not when the statement is about certain rows.
    pub static_only_rows: bool,
    /// Whether rows come in the reverse of the table's clustering order.
    pub reversed: bool,
    /// Whether a source tells about a cell instead of holding its value.
    pub reads_stamps: bool,
    /// GROUP BY: what the rows of a group have in common.
    pub group_by: Option<GroupBy>,
    /// What outputs aggregate over rows.
    pub aggregates: Vec<Aggregate>,
    /// LIMIT
    pub limit: Option<Term>,
    /// PER PARTITION LIMIT
    pub per_partition_limit: Option<Term>,
    /// ORDER BY over several partitions (IN): sort by these sources.
    pub sort: Vec<SortKey>,
    /// `ORDER BY … ANN OF`: only the rows that are nearest come, nearest first.
    pub nearest: Option<Nearest>,
    /// The names of the masked columns that it restricts.
    pub masked_restrictions: Vec<String>,
    /// The description of the result, by protocol version.
    pub metadata: Metadata,
}

/// What the rows of a group have in common, besides their partition.
#[derive(Clone, Debug, Default)]
pub struct GroupBy {
    /// Values of these sources.
    pub sources: Vec<usize>,
    /// The result of this function of the column after those.
    pub function: Option<Expression>,
}

/// How an index is used.
#[derive(Clone, Debug)]
pub struct IndexUse {
    /// The index.
    pub index: Arc<Index>,
    /// The types of what its entries start with.
    pub types: Vec<DataType>,
    /// The filters that it answers, by their positions in [`Select::filters`].
    pub filters: Vec<usize>,
    /// Whether an entry stands for the whole partition: that of a static column.
    pub of_partitions: bool,
}

/// A column whose cells are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceColumn {
    /// Position in `Table::columns`.
    pub position: usize,
    /// Whether it is static.
    pub is_static: bool,
}

/// A value that the fetch gives for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A column of the partition key.
    Partition(usize),
    /// A column of the clustering key.
    Clustering(usize),
    /// The value of one of [`Select::cells`].
    Cell(usize),
    /// `WRITETIME(c)` of one of [`Select::cells`]; of a collection's elements the latest.
    WriteTime(usize),
    /// `TTL(c)` of one of [`Select::cells`].
    TimeToLive(usize),
    /// When each part of one of [`Select::cells`] was written: of a list a list, of a set or map a map by element or key, of a user type a tuple.
    WriteTimes(usize),
    /// How long each part lives, likewise; empty for ever.
    TimesToLive(usize),
}

/// What is made of the stamps of a column's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// That of one part.
    One,
    /// A list of those of a list's elements.
    OfList,
    /// A list of those of a set's elements or a map's values.
    OfMap,
    /// A list of those of a user type's fields.
    OfFields,
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
    /// A source's mask in place of its value; null where there is no row.
    Masked(usize, Arc<Mask>),
    /// A value.
    Term(Term),
    /// A function of other expressions.
    Call(FunctionSpec, Vec<Expression>),
    /// `token(…)` of the parts of a partition key.
    Token(Arc<Table>, Vec<Expression>),
    /// One of [`Select::aggregates`], over the rows of a group.
    Aggregate(usize),
    /// `c[k]` of a list, set or map, whose type is given.
    Element(Box<Expression>, DataType, Term),
    /// `c[from..to]` of a set or map, whose type is given.
    Slice(Box<Expression>, DataType, Option<Term>, Option<Term>),
    /// Stamps as they are selected: null where there is none.
    Stamps(Box<Expression>, Stamps),
    /// A field of a user type or tuple by its number.
    Field(Box<Expression>, usize),
    /// `[…]`
    List(Vec<Expression>),
    /// `[…]` of a vector, of elements of this type.
    Vector(DataType, Vec<Expression>),
    /// `{…}`, sorted by the element type.
    Set(DataType, Vec<Expression>),
    /// `{k: v, …}`, sorted by the key type.
    Map(DataType, Vec<(Expression, Expression)>),
    /// `(…)`, or a user type's fields.
    Fields(Vec<Expression>),
}

/// What is aggregated over rows.
#[derive(Clone, Debug)]
pub enum Aggregate {
    /// `count(*)`
    CountRows,
    /// An aggregate of expressions.
    Of(Box<FunctionSpec>, Vec<Expression>),
}

/// An end of a range of tokens.
#[derive(Clone, Debug)]
pub struct TokenBound {
    /// Where it is.
    pub token: TokenTerm,
    /// Whether the token itself is within.
    pub inclusive: bool,
}

/// What a token is compared with.
#[derive(Clone, Debug)]
pub enum TokenTerm {
    /// A 64-bit integer.
    Value(Term),
    /// `token(…)` of a partition key's parts.
    Of(Vec<Term>),
}

/// What a row must match.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What is compared.
    pub subject: Subject,
    /// The type of what is compared; of an element the element's.
    pub data_type: DataType,
    /// How.
    pub operator: Comparator,
    /// With what; several for IN.
    pub values: Vec<Term>,
    /// `IN ?`: the one value is a list.
    pub in_list: bool,
    /// What the index that answers it does to texts first.
    pub analysis: Option<Analysis>,
    /// As messages call it.
    pub name: String,
}

/// What a filter compares.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A source.
    Source(Source),
    /// The value at a key of a map, whose type is given.
    Element(Source, DataType, Term),
    /// These columns of the clustering key, as a tuple.
    Clustering(std::ops::Range<usize>),
}

/// A column that rows are sorted by after they were collected.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Which source.
    pub source: usize,
    /// Its type.
    pub data_type: DataType,
    /// Largest first.
    pub descending: bool,
}

/// What `ORDER BY … ANN OF` looks for.
#[derive(Clone, Debug)]
pub struct Nearest {
    /// The vector of a row.
    pub(crate) source: Source,
    /// The index on it.
    pub(crate) index: TableId,
    /// How near it is.
    pub(crate) similarity: Similarity,
    /// To this one.
    pub(crate) vector: Term,
    /// The column, as messages call it.
    pub(crate) name: String,
}

/// The description of a result's columns, encoded when it is first needed.
#[derive(Clone, Debug, Default)]
pub struct Metadata {
    by_version: [OnceLock<ResultMetadata>; 3],
}

impl Select {
    /// The result's columns as a reply describes them.
    #[inline]
    #[must_use]
    pub fn metadata(&self, version: ProtocolVersion) -> &ResultMetadata {
        let slot = match version {
            ProtocolVersion::V3 => 0,
            ProtocolVersion::V4 => 1,
            ProtocolVersion::V5 => 2,
        };
        self.metadata.by_version[slot].get_or_init(|| self.encode_metadata(version))
    }

    #[cold]
    fn encode_metadata(&self, version: ProtocolVersion) -> ResultMetadata {
        let (keyspace, table) = (self.table.keyspace.as_str(), self.table.name.as_str());
        if self.json {
            return ResultMetadata::encode(version, &[ColumnSpec { keyspace, table, name: "[json]", data_type: &DataType::Text }]);
        }
        let columns: Vec<ColumnSpec<'_>> =
            self.outputs.iter().map(|output| ColumnSpec { keyspace, table, name: &output.name, data_type: &output.data_type }).collect();
        ResultMetadata::encode(version, &columns)
    }

    /// The column behind one of `cells`.
    #[must_use]
    pub fn cell_type(&self, cell: usize) -> &DataType {
        &self.table.columns[self.cells[cell].position].data_type
    }
}
