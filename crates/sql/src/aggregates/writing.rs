//! The statement over the table of groups.

use super::shape::{Shape, TABLE};
use crate::schemas::quoted;
use crate::syntax::Word;

/// The name of a computed column.
pub(super) fn column(fold: usize) -> String {
    format!("#{fold}")
}

/// Writes it. What is put in has a space before and after it: in the statement no word may have been next to what it takes the place of.
/// What a function gives has no affinity, a column without a type has that of bytes: `+` takes it off.
pub(super) fn write(sql: &str, words: &[Word<'_>], shape: &Shape) -> String {
    // What stands in place of which part of the text.
    let mut changes = vec![(span(words, &shape.from), format!("{} AS {}", quoted(TABLE), quoted(&shape.name)))];
    changes.extend(shape.calls.iter().map(|(call, fold)| (span(words, call), format!("+{}", quoted(&column(*fold))))));
    if let Some(condition) = &shape.condition {
        let (start, end) = span(words, condition);
        changes.push(((start, start), "(".to_owned()));
        changes.push(((end, end), "\n)".to_owned()));
    }
    if let Some(group_by) = &shape.group_by {
        changes.push((span(words, &(group_by.start - 2..group_by.end)), String::new()));
    }
    if let Some(having) = &shape.having {
        let keyword = &words[having.start - 1];
        let word = if shape.condition.is_some() { "AND (" } else { "WHERE (" };
        let end = span(words, having).1;
        changes.push(((keyword.start, keyword.end()), word.to_owned()));
        changes.push(((end, end), "\n)".to_owned()));
    }
    // At one place what only puts in comes last: it closes what a change before it is in.
    changes.sort_by_key(|((start, end), _)| (*start, *end));
    let (mut written, mut taken) = (String::with_capacity(sql.len() + 64), 0);
    for ((start, end), text) in changes {
        written.push_str(&sql[taken..start]);
        written.push(' ');
        written.push_str(&text);
        written.push(' ');
        taken = end;
    }
    written.push_str(&sql[taken..]);
    written
}

/// Where some words are in the text.
fn span(words: &[Word<'_>], range: &std::ops::Range<usize>) -> (usize, usize) {
    (words[range.start].start, words[range.end - 1].end())
}
