//! What a SELECT reads: tables alone, whose columns mean what they are, or also what the statement makes itself.

use super::keywords::ends_from;
use crate::syntax::Word;
use crate::tables::Table;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The tables of each SELECT, by the place of this word; one that reads anything else has none.
pub(super) type Sources = HashMap<usize, Vec<Arc<Table>>>;

/// A bracket, and the SELECT that is in it.
#[derive(Default)]
struct Level {
    select: Option<usize>,
    is_in_from: bool,
}

/// The names after WITH, in lower case. A function after a comma counts as one, too: then less is known.
pub(super) fn common_names(words: &[Word<'_>]) -> HashSet<String> {
    let is_common = |at: usize| {
        let begins = |word: &Word<'_>| word.is_symbol('(') || word.is("NOT") || word.is("MATERIALIZED");
        let (next, after) = (words.get(at + 1), words.get(at + 2));
        let has_text = next.is_some_and(|next| next.is("AS")) && after.is_some_and(begins);
        let before = at.checked_sub(1).map(|before| &words[before]);
        let is_listed = before.is_some_and(|word| word.is("WITH") || word.is("RECURSIVE") || word.is_symbol(','));
        has_text || (is_listed && next.is_some_and(|next| next.is_symbol('(')))
    };
    let names = (0..words.len()).filter(|at| is_common(*at)).filter_map(|at| words[at].name());
    names.map(|name| name.to_lowercase()).collect()
}

/// Finds what each SELECT reads, in one pass.
pub(super) fn sources(words: &[Word<'_>], tables: &[Arc<Table>], common: &HashSet<String>) -> Sources {
    let (mut found, mut levels) = (HashMap::<usize, Option<Vec<Arc<Table>>>>::new(), vec![Level::default()]);
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &words[before]);
        let Some(level) = levels.last_mut() else { break };
        if level.is_in_from
            && let (Some(before), Some(select)) = (before, level.select)
            && (before.is("FROM") || before.is("JOIN") || before.is_symbol(','))
            && let Some(read) = found.get_mut(&select)
        {
            match table_at(words, at, tables, common) {
                Some(table) => read.iter_mut().for_each(|read| read.push(Arc::clone(table))),
                None => *read = None,
            }
        }
        if word.is_symbol('(') {
            levels.push(Level::default());
        } else if word.is_symbol(')') {
            levels.pop();
            if levels.is_empty() {
                levels.push(Level::default());
            }
        } else if word.is("SELECT") {
            *level = Level { select: Some(at), is_in_from: false };
            found.insert(at, Some(Vec::new()));
        } else if word.is("FROM") {
            level.is_in_from |= !before.is_some_and(|before| before.is("DISTINCT"));
        } else if ends_from(word) {
            level.is_in_from = false;
        }
    }
    found.into_iter().filter_map(|(at, read)| Some((at, read?))).collect()
}

/// The table that is named there, if it is one alone.
fn table_at<'t>(words: &[Word<'_>], at: usize, tables: &'t [Arc<Table>], common: &HashSet<String>) -> Option<&'t Arc<Table>> {
    let has_point = words.get(at + 1).is_some_and(|word| word.is_symbol('.'));
    let name = words.get(if has_point { at + 2 } else { at })?.name()?;
    if common.contains(&name.to_lowercase()) {
        return None;
    }
    let mut named = tables.iter().filter(|table| table.name.eq_ignore_ascii_case(&name));
    named.next().filter(|_| named.next().is_none())
}
