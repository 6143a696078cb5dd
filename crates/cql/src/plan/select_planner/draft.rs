//! What WHERE says, before and after it is known what is a key and what filters.

use crate::language::ast::Comparison;
use crate::plan::columns::slice_ends;
use crate::plan::{ClusteringPlan, Comparator, Filter, KeyTerm, Likes, SliceBound, Source, Subject, Term, TokenBound, TupleKeys};
use model::{Column, DataType, Table};

/// Cassandra's words for a statement that would have to look at more rows than it gives.
pub(super) const NEEDS_FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. \
     If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING";

/// What WHERE says.
#[derive(Default)]
pub(super) struct Restrictions {
    /// Whole partition keys; empty for a scan.
    pub(super) partition: Vec<KeyTerm>,
    pub(super) token_lower: Option<TokenBound>,
    pub(super) token_upper: Option<TokenBound>,
    pub(super) clustering: ClusteringPlan,
    pub(super) filters: Vec<Filter>,
    /// For each column of the primary key whether it is restricted to one value.
    pub(super) equal: Vec<bool>,
    /// Whether it restricts clustering columns.
    pub(super) restricts_clustering: bool,
    /// Whether it restricts clustering or regular columns: then it is about rows, and static columns alone are none.
    pub(super) about_rows: bool,
}

/// What WHERE says of the primary key's columns, before it is known what is a key and what filters.
pub(super) struct Draft {
    pub(super) keys: Vec<Option<KeyTerm>>,
    /// Ends of ranges by the column they start at.
    pub(super) lower: Vec<Option<SliceBound>>,
    pub(super) upper: Vec<Option<SliceBound>>,
    pub(super) tuple_in: Option<TupleIn>,
    /// The relations about the clustering key, in the statement's order: messages go by it.
    pub(super) clustering_order: Vec<ClusteringRelation>,
    /// `(a, b) > ?`, where the tuple is not known in parts: with the columns it is about.
    pub(super) tuple_filters: Vec<(std::ops::Range<usize>, Filter)>,
    /// Filters on columns of the partition key and the clustering key that cannot be keys.
    pub(super) partition_filters: Vec<Filter>,
    pub(super) clustering_filters: Vec<Filter>,
    pub(super) regular_filters: Vec<Filter>,
}

/// A relation about columns of the clustering key.
pub(super) struct ClusteringRelation {
    /// The columns, by position in the clustering key.
    pub(super) columns: std::ops::Range<usize>,
    /// Whether it is `<`, `<=`, `>`, `>=` or BETWEEN.
    pub(super) is_range: bool,
}

/// `(a, b) IN …`
pub(super) struct TupleIn {
    /// The columns, by position in the clustering key.
    pub(super) columns: std::ops::Range<usize>,
    pub(super) data_type: DataType,
    pub(super) keys: TupleKeys,
}

impl Restrictions {
    /// Whether it names one row by its whole primary key, and says nothing else.
    pub(super) fn is_one_row(&self, table: &Table) -> bool {
        let whole_clustering_key = self.clustering.keys.len() == table.clustering_len
            && self.clustering.tuples.is_none()
            && !self.clustering.keys.iter().any(KeyTerm::is_in);
        self.filters.is_empty()
            && !self.partition.is_empty()
            && !self.partition.iter().any(KeyTerm::is_in)
            && self.token_lower.is_none()
            && self.token_upper.is_none()
            && whole_clustering_key
    }

    pub(super) fn restricts_partition(&self) -> bool {
        let is_of_partition = |filter: &Filter| matches!(filter.subject, Subject::Source(Source::Partition(_)));
        !self.partition.is_empty() || self.token_lower.is_some() || self.token_upper.is_some() || self.filters.iter().any(is_of_partition)
    }
}

impl Draft {
    pub(super) fn new(table: &Table) -> Self {
        let keys = table.partition_key_len + table.clustering_len;
        Self {
            keys: vec![None; keys],
            lower: vec![None; keys],
            upper: vec![None; keys],
            tuple_in: None,
            clustering_order: Vec::new(),
            tuple_filters: Vec::new(),
            partition_filters: Vec::new(),
            clustering_filters: Vec::new(),
            regular_filters: Vec::new(),
        }
    }

    /// Says of the LIKE on column `name`, which has just been read, which patterns it may have.
    pub(super) fn set_like(&mut self, name: &str, likes: Likes) {
        let filters = [&mut self.partition_filters, &mut self.clustering_filters, &mut self.regular_filters];
        let last = filters.into_iter().filter_map(|filters| filters.last_mut());
        for filter in last.filter(|filter| filter.name == name && matches!(filter.operator, Comparator::Like(_))) {
            filter.operator = Comparator::Like(likes);
        }
    }

    /// Notes the relation of `columns`, the first of which has this position in the table, if it is about the clustering key.
    pub(super) fn note_order(&mut self, table: &Table, first: usize, columns: usize, comparison: &Comparison) {
        let key = table.partition_key_len..table.partition_key_len + table.clustering_len;
        if key.contains(&first) {
            let start = first - table.partition_key_len;
            self.clustering_order.push(ClusteringRelation { columns: start..start + columns, is_range: slice_ends(comparison).is_some() });
        }
    }

    /// For each column of the primary key whether it is restricted to one value.
    pub(super) fn equal(&self, table: &Table) -> Vec<bool> {
        let mut equal: Vec<bool> = self.keys.iter().map(|key| key.as_ref().is_some_and(|key| !key.is_in())).collect();
        let filters = self.tuple_filters.iter().filter(|(_, filter)| filter.operator == Comparator::Equal).map(|(run, _)| run);
        let alone = self.tuple_in.iter().filter(|tuple_in| matches!(&tuple_in.keys, TupleKeys::Terms(tuples) if tuples.len() == 1));
        for run in filters.chain(alone.map(|tuple_in| &tuple_in.columns)) {
            equal[table.partition_key_len + run.start..table.partition_key_len + run.end].fill(true);
        }
        equal
    }

    pub(super) fn restricts_clustering(&self, table: &Table) -> bool {
        let is_restricted =
            |position: usize| self.keys[position].is_some() || self.lower[position].is_some() || self.upper[position].is_some();
        (table.partition_key_len..self.keys.len()).any(is_restricted)
            || self.tuple_in.is_some()
            || !self.tuple_filters.is_empty()
            || !self.clustering_filters.is_empty()
    }
}

pub(super) fn key_filter(source: Source, column: &Column, key: KeyTerm) -> Filter {
    let (operator, values, in_list) = match key {
        KeyTerm::Equal(term) => (Comparator::Equal, vec![term], false),
        KeyTerm::In(terms) => (Comparator::In, terms, false),
        KeyTerm::InList(term) => (Comparator::In, vec![term], true),
    };
    column_filter(source, column, (operator, values, in_list))
}

/// A filter on a column.
pub(super) fn column_filter(source: Source, column: &Column, (operator, values, in_list): (Comparator, Vec<Term>, bool)) -> Filter {
    let (data_type, name) = (column.data_type.clone(), column.name.clone());
    Filter { subject: Subject::Source(source), data_type, operator, values, in_list, analysis: None, name }
}

pub(super) fn slice_filter(subject: Subject, data_type: DataType, is_lower: bool, bound: SliceBound, name: &str) -> Filter {
    let operator = match (is_lower, bound.inclusive) {
        (true, true) => Comparator::GreaterOrEqual,
        (true, false) => Comparator::Greater,
        (false, true) => Comparator::LessOrEqual,
        (false, false) => Comparator::Less,
    };
    Filter { subject, data_type, operator, values: bound.terms, in_list: false, analysis: None, name: name.to_owned() }
}
