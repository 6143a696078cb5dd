//! Where statements end.

use sql::syntax::{is_blank, words};

/// The statements that are whole, each without its `;`, and what is left. At the end of the input the last one needs no `;`.
pub(super) fn split(text: &str, is_end: bool) -> (Vec<&str>, &str) {
    // A text or a comment that does not end yet.
    let Ok(words) = words(text) else { return if is_end { (vec![text], "") } else { (Vec::new(), text) } };
    let (mut statements, mut begin) = (Vec::new(), 0);
    for end in words.iter().filter(|word| word.is_symbol(';')) {
        statements.push(&text[begin..end.start]);
        begin = end.end();
    }
    let rest = &text[begin..];
    let rest = if is_blank(rest) {
        ""
    } else if is_end {
        statements.push(rest);
        ""
    } else {
        rest
    };
    statements.retain(|statement| !is_blank(statement));
    (statements, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_that_are_in_no_text() {
        assert_eq!(split("SELECT ';' -- ;\n; SELECT \"a;\";;\n SEL", false), (vec!["SELECT ';' -- ;\n", " SELECT \"a;\""], "\n SEL"));
        assert_eq!(split("SELECT 'a\n", false), (vec![], "SELECT 'a\n"));
        assert_eq!(split("SELECT 'a\n", true), (vec!["SELECT 'a\n"], ""));
        assert_eq!(split("SELECT 1", true), (vec!["SELECT 1"], ""));
        assert_eq!(split("SELECT 1; -- done\n", false), (vec!["SELECT 1"], ""));
        assert_eq!(split(" \n", true), (vec![], ""));
    }
}
