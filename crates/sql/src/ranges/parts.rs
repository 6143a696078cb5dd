//! The parts of a statement of GROUP BY RANGE.

use super::clause::{Clause, Fill};
use crate::expressions::{Kind, kind_of, words_of_expression};
use crate::syntax::{SyntaxError, Word, WordKind};
use crate::tables::{Column, SourceError, Table, Tables};
use std::sync::Arc;

/// Why a statement cannot be written anew.
#[derive(Debug)]
pub(crate) enum RangesError {
    /// It is wrong.
    Syntax(SyntaxError),
    /// Its table could not be looked up.
    Source(SourceError),
}

impl From<SyntaxError> for RangesError {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

pub(super) fn wrong(message: impl Into<String>) -> RangesError {
    RangesError::Syntax(SyntaxError(message.into()))
}

/// A part of the statement's list.
pub(super) struct Item<'a> {
    /// Without the name that it is given.
    pub(super) text: &'a str,
    pub(super) label: String,
    pub(super) is_time: bool,
    pub(super) kind: Option<Kind>,
}

/// The statement's parts.
pub(super) struct Ranges<'a> {
    pub(super) items: Vec<Item<'a>>,
    pub(super) from: &'a str,
    pub(super) condition: &'a str,
    /// The column's name, as SQLite shall read it.
    pub(super) time: String,
    pub(super) step_ms: i64,
    pub(super) offset_ms: i64,
    pub(super) fill: Fill,
    /// From here to there, both included.
    pub(super) bounds: [Option<String>; 2],
    /// What follows: conditions of groups, then the order and the limit.
    pub(super) having: &'a str,
    pub(super) rest: &'a str,
}

/// A name as SQLite reads it, whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Takes a statement apart.
///
/// # Errors
/// It is wrong, or none of one table.
pub(super) fn parse<'a>(sql: &'a str, words: &[Word<'a>], tables: &dyn Tables) -> Result<Ranges<'a>, RangesError> {
    let whole = match words {
        [words @ .., end] if end.is_symbol(';') => words,
        words => words,
    };
    let place = |keyword: &str| outside(whole).find(|(_, word)| word.is(keyword)).map(|(at, _)| at);
    let plain = "GROUP BY RANGE is for SELECT … FROM one table WHERE …, without joins, subqueries and set operations";
    let (Some(0), Some(from), Some(condition), Some(group)) = (place("SELECT"), place("FROM"), place("WHERE"), place("GROUP")) else {
        return Err(wrong(plain));
    };
    let set_operation = ["UNION", "EXCEPT", "INTERSECT", "WITH", "JOIN"].iter().find_map(|word| place(word));
    if !(from < condition && condition < group) || set_operation.is_some() || whole[1].is("DISTINCT") {
        return Err(wrong(plain));
    }
    let source = &whole[from + 1..condition];
    let table =
        source.first().and_then(Word::name).filter(|_| source.len() <= 3 && !source.iter().any(|word| word.kind == WordKind::Symbol));
    let table = tables.find(&table.ok_or_else(|| wrong(plain))?).map_err(RangesError::Source)?;
    let table = table.ok_or_else(|| wrong(format!("no such table: {}", source[0].text)))?;
    let mut clause = Clause { words: whole.get(group + 3..).unwrap_or_default() };
    let (time, [step_ms, offset_ms], fill) = clause.read()?;
    let column = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(&time));
    let column = column.filter(|column| column.kind.is_time());
    let column = column.ok_or_else(|| wrong(format!("GROUP BY RANGE is by a column of times, which {time} is not")))?;
    let conditions = &whole[condition + 1..group];
    let bounds = bounds(sql, conditions, column)?;
    if fill != Fill::Nothing && bounds.iter().any(Option::is_none) || bounds.iter().all(Option::is_none) {
        let message = format!("GROUP BY RANGE needs a range of {time} in WHERE, joined by AND: {time} BETWEEN … AND …, or comparisons");
        return Err(wrong(message));
    }
    let tail = clause.words;
    let order = outside(tail).find(|(_, word)| word.is("ORDER") || word.is("LIMIT")).map_or(tail.len(), |(at, _)| at);
    Ok(Ranges {
        items: items(sql, &whole[1..from], &table, column)?,
        from: text(sql, source),
        condition: text(sql, conditions),
        time: quoted(&column.name),
        step_ms,
        offset_ms,
        fill,
        bounds,
        having: text(sql, &tail[..order]),
        rest: text(sql, &tail[order..]),
    })
}

/// Where each of `words` is that no bracket encloses.
fn outside<'w, 'a>(words: &'w [Word<'a>]) -> impl Iterator<Item = (usize, &'w Word<'a>)> {
    let mut depth = 0_usize;
    words.iter().enumerate().filter(move |(_, word)| {
        depth = if word.is_symbol(')') { depth.saturating_sub(1) } else { depth };
        let is_outside = depth == 0;
        depth += usize::from(word.is_symbol('('));
        is_outside
    })
}

fn text<'a>(sql: &'a str, words: &[Word<'_>]) -> &'a str {
    match words {
        [first, .., last] => &sql[first.start..last.end()],
        [one] => &sql[one.start..one.end()],
        [] => "",
    }
}

/// The column that words are, whichever table they name.
fn column_name(words: &[Word<'_>]) -> Option<String> {
    match words {
        [column] => column.name(),
        [_, dot, column] if dot.is_symbol('.') => column.name(),
        _ => None,
    }
}

fn items<'a>(sql: &'a str, list: &[Word<'a>], table: &Arc<Table>, time: &Column) -> Result<Vec<Item<'a>>, RangesError> {
    let commas = outside(list).filter(|(_, word)| word.is_symbol(',')).map(|(at, _)| at);
    let (mut items, mut start) = (Vec::new(), 0);
    for end in commas.chain([list.len()]) {
        let words = &list[start..end];
        start = end + 1;
        if let [star] | [_, _, star] = words
            && star.is_symbol('*')
        {
            items.extend(table.columns.iter().map(|column| Item {
                text: "",
                label: column.name.clone(),
                is_time: column.name == time.name,
                kind: Some(Kind::Of(column.kind)),
            }));
            continue;
        }
        if words.iter().any(|word| word.is("SELECT") || word.is("OVER")) {
            return Err(wrong("the list of a GROUP BY RANGE has neither subqueries nor windows"));
        }
        let (expression, name) = words.split_at(words_of_expression(sql, words));
        let name = match name {
            [] => None,
            [name] if !name.is("AS") => name.name(),
            [as_word, name] if as_word.is("AS") => name.name(),
            [first, ..] => return Err(wrong(format!("near \"{}\": syntax error", first.text))),
        };
        let column = column_name(expression).and_then(|name| table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(&name)));
        let label = name.or_else(|| column.map(|column| column.name.clone())).unwrap_or_else(|| text(sql, expression).to_owned());
        items.push(Item {
            text: text(sql, expression),
            label,
            is_time: column.is_some_and(|column| column.name == time.name),
            kind: column.map(|column| Kind::Of(column.kind)).or_else(|| kind_of(text(sql, expression), table)),
        });
    }
    Ok(items)
}

/// What the conditions that AND joins say of the time: from where and up to where.
fn bounds(sql: &str, words: &[Word<'_>], time: &Column) -> Result<[Option<String>; 2], RangesError> {
    let (mut bounds, mut start, mut is_between) = ([None, None], 0, false);
    let ends: Vec<usize> = outside(words)
        .filter(|(_, word)| {
            is_between |= word.is("BETWEEN");
            word.is("AND") && !std::mem::take(&mut is_between)
        })
        .map(|(at, _)| at)
        .chain([words.len()])
        .collect();
    if outside(words).any(|(_, word)| word.is("OR")) {
        return Ok(bounds);
    }
    for end in ends {
        for (bound, found) in bounds.iter_mut().zip(bounds_of(sql, &words[start..end], time)) {
            *bound = bound.take().or(found);
        }
        start = end + 1;
    }
    Ok(bounds)
}

/// What one condition says of the time.
fn bounds_of(sql: &str, condition: &[Word<'_>], time: &Column) -> [Option<String>; 2] {
    let is_time = |words: &[Word<'_>]| column_name(words).is_some_and(|name| name.eq_ignore_ascii_case(&time.name));
    let at = outside(condition).find(|(_, word)| word.is("BETWEEN") || word.is_symbol('<') || word.is_symbol('>'));
    let Some((at, operator)) = at else { return [None, None] };
    let (left, right) = (&condition[..at], &condition[at + 1..]);
    if operator.is("BETWEEN") {
        let and = outside(right).find(|(_, word)| word.is("AND")).map(|(at, _)| at);
        return match and.filter(|_| is_time(left)) {
            Some(and) => [Some(text(sql, &right[..and]).to_owned()), Some(text(sql, &right[and + 1..]).to_owned())],
            None => [None, None],
        };
    }
    let (is_equal_too, right) = match right {
        [equal, right @ ..] if equal.is_symbol('=') => (true, right),
        right => (false, right),
    };
    let is_less = operator.is_symbol('<');
    let (other, is_upper) = match (is_time(left), is_time(right)) {
        (true, false) => (text(sql, right), is_less),
        (false, true) => (text(sql, left), !is_less),
        _ => return [None, None],
    };
    // The next time that the column can hold. Times may be integers or texts: functions take both, and steps are of milliseconds.
    let bound = match (is_equal_too, is_upper) {
        (true, _) => other.to_owned(),
        (false, true) => format!("timestamp_add('NANOSECOND', {other}, -1)"),
        (false, false) if time.kind.is_precise_time() => format!("timestamp_add('NANOSECOND', {other}, 1)"),
        (false, false) => format!("timestamp_add('MILLISECOND', {other}, 1)"),
    };
    if is_upper { [None, Some(bound)] } else { [Some(bound), None] }
}
