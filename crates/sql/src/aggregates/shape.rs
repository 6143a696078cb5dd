//! Which statements: one SELECT of one table, whose columns are groups and functions of columns.
//!
//! What is not known here is no such statement. It costs time then, and is right.

use super::parts::{at_depth_0, closing, column_at, may_precede_bracket, only_column};
use super::terms;
use crate::syntax::{Word, WordKind};
use crate::tables::{ColumnType, Table};
use model::aggregate::Function;
use std::ops::Range;

/// The name of the table of groups. No statement has it that is written anew.
pub(super) const TABLE: &str = "#groups";

/// What is known of a statement.
pub(super) struct Shape {
    /// The words that name the table, after FROM; and what it is called.
    pub(super) from: Range<usize>,
    pub(super) name: String,
    /// The words of each clause, without its keywords.
    pub(super) condition: Option<Range<usize>>,
    pub(super) group_by: Option<Range<usize>>,
    pub(super) having: Option<Range<usize>>,
    /// The columns of the groups, and what is computed of them.
    pub(super) groups: Vec<usize>,
    pub(super) folds: Vec<(Function, usize)>,
    /// The words of each call, and which fold it is.
    pub(super) calls: Vec<(Range<usize>, usize)>,
}

/// What makes a statement something else.
const OTHER: [&str; 18] = [
    "SELECT",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "WITH",
    "WINDOW",
    "OVER",
    "FILTER",
    "JOIN",
    "COLLATE",
    "INDEXED",
    "VALUES",
    "EXISTS",
    "RANGE",
    "FILL",
    "MATCH",
    "REGEXP",
    "RAISE",
];

/// What SQLite calls the number of a row, in quotes or not: groups have others.
const ROW_NUMBERS: [&str; 3] = ["ROWID", "OID", "_ROWID_"];

const CLAUSES: [&str; 5] = ["WHERE", "GROUP", "HAVING", "ORDER", "LIMIT"];

impl Shape {
    /// A statement's; none if it is no such.
    pub(super) fn of(words: &[Word<'_>], table: &Table) -> Option<Self> {
        let (first, rest) = words.split_first()?;
        let is_row_number = |word: &Word<'_>| {
            // A text may be a name behind a point.
            let name = word.text.trim_matches(['"', '`', '\'', '[', ']']);
            ROW_NUMBERS.iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        let is_other = |word: &Word<'_>| {
            let is_quoted_sign = word.kind == WordKind::Quoted && word.text.contains('#');
            OTHER.iter().any(|other| word.is(other)) || is_quoted_sign || is_row_number(word)
        };
        if !first.is("SELECT") || rest.iter().any(is_other) || words.iter().any(|word| word.text.starts_with('#')) {
            return None;
        }
        let end = words.len() - words.iter().rev().take_while(|word| word.is_symbol(';')).count();
        let words = &words[..end];
        let from = at_depth_0(words, 1..end, |word| word.is("FROM"))?;
        let (source, name) = source(words, from + 1, table)?;
        let mut shape = Self {
            from: source.clone(),
            name,
            condition: None,
            group_by: None,
            having: None,
            groups: Vec::new(),
            folds: Vec::new(),
            calls: Vec::new(),
        };
        let rest = shape.clauses(words, source.end)?;
        if let Some(group_by) = shape.group_by.clone() {
            for item in words[group_by].split(|word| word.is_symbol(',')) {
                let column = only_column(item, table)?;
                if !shape.groups.contains(&column) {
                    shape.groups.push(column);
                }
            }
        }
        let parts = [Some(1..from), shape.having.clone(), Some(rest..end)];
        for part in parts.into_iter().flatten() {
            shape.expressions(words, part, table)?;
        }
        if let Some(condition) = shape.condition.clone() {
            terms::check(&words[condition], table, &shape.groups)?;
        }
        let aggregates = shape.group_by.is_some() || !shape.calls.is_empty();
        aggregates.then_some(shape)
    }

    /// Notes where the clauses after FROM are; gives where ORDER BY or LIMIT begin, or the end.
    fn clauses(&mut self, words: &[Word<'_>], start: usize) -> Option<usize> {
        let mut at = start;
        while at < words.len() {
            let keyword = &words[at];
            let first = if keyword.is("GROUP") { at + 2 } else { at + 1 };
            let is_clause = |word: &Word<'_>| CLAUSES.iter().any(|clause| word.is(clause));
            let next = at_depth_0(words, first.min(words.len())..words.len(), is_clause).unwrap_or(words.len());
            let clause = match keyword {
                word if word.is("WHERE") => &mut self.condition,
                word if word.is("GROUP") && words.get(at + 1)?.is("BY") => &mut self.group_by,
                word if word.is("HAVING") => &mut self.having,
                word if word.is("ORDER") || word.is("LIMIT") => return Some(at),
                _ => return None,
            };
            if clause.is_some() || first >= next {
                return None;
            }
            *clause = Some(first..next);
            at = next;
        }
        Some(at)
    }

    /// Notes the calls of aggregates in a part of the statement. All other columns have to be those of groups.
    fn expressions(&mut self, words: &[Word<'_>], part: Range<usize>, table: &Table) -> Option<()> {
        let mut at = part.start;
        while at < part.end {
            let word = &words[at];
            let calls = words.get(at + 1).filter(|_| at + 1 < part.end).is_some_and(|next| next.is_symbol('('));
            if calls && let Some((call, fold)) = call(words, at, table)? {
                let number = self.folds.iter().position(|known| *known == fold).unwrap_or_else(|| {
                    self.folds.push(fold);
                    self.folds.len() - 1
                });
                at = call.end;
                self.calls.push((call, number));
                continue;
            }
            if calls && !may_precede_bracket(word) {
                return None;
            }
            let is_all = word.is_symbol('*') && is_before_list(words.get(at.wrapping_sub(1)));
            let is_alias = at > 0 && words[at - 1].is("AS");
            if is_all || (!calls && !is_alias && column_at(words, at, table).is_some_and(|column| !self.groups.contains(&column))) {
                return None;
            }
            at += 1;
        }
        Some(())
    }
}

/// Whether a `*` after this is all columns.
fn is_before_list(word: Option<&Word<'_>>) -> bool {
    word.is_none_or(|word| word.is("SELECT") || word.is("ALL") || word.is("DISTINCT") || word.is_symbol(',') || word.is_symbol('.'))
}

/// The words that name the table, with what it is called.
fn source(words: &[Word<'_>], start: usize, table: &Table) -> Option<(Range<usize>, String)> {
    let mut at = start;
    let mut name = words.get(at)?.name()?;
    at += 1;
    if words.get(at).is_some_and(|word| word.is_symbol('.')) {
        let schema = std::mem::replace(&mut name, words.get(at + 1)?.name()?);
        if !table.schema.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(&schema)) {
            return None;
        }
        at += 2;
    }
    if !table.name.eq_ignore_ascii_case(&name) {
        return None;
    }
    let is_over = |word: Option<&Word<'_>>| word.is_none_or(|word| CLAUSES.iter().any(|clause| word.is(clause)));
    if !is_over(words.get(at)) {
        at += usize::from(words[at].is("AS"));
        name = words.get(at)?.name()?;
        at += 1;
    }
    is_over(words.get(at)).then_some((start..at, name))
}

/// The words of a call, and what it computes.
type Call = (Range<usize>, (Function, usize));

/// The call of an aggregate that begins with a word, if it is one. None at all if it is one that no table computes.
fn call(words: &[Word<'_>], at: usize, table: &Table) -> Option<Option<Call>> {
    const FUNCTIONS: [(&str, Function); 5] = [
        ("COUNT", Function::Count),
        ("SUM", Function::Sum),
        ("AVG", Function::Average),
        ("MIN", Function::Least),
        ("MAX", Function::Greatest),
    ];
    let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| words[at].is(name)) else { return Some(None) };
    let close = closing(words, at + 1)?;
    let argument = &words[at + 2..close];
    let fold = match argument {
        [word] if *function == Function::Count && (word.is_symbol('*') || word.kind == WordKind::Number) => (Function::Rows, 0),
        _ => {
            let column = only_column(argument, table)?;
            let kind = table.columns[column].kind;
            let is_number = kind.is_integral() || matches!(kind, ColumnType::Float | ColumnType::Double);
            let is_sum = matches!(function, Function::Sum | Function::Average);
            if kind == ColumnType::Opaque || kind.is_precise_time() || (is_sum && !is_number) {
                return None;
            }
            (*function, column)
        }
    };
    Some(Some((at..close + 1, fold)))
}
