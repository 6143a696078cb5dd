//! Regular expressions as POSIX has them, in the syntax of the `regex_lite` crate, which matches in linear time.

use crate::ResultCode;
use regex_lite::{Regex, RegexBuilder};

mod flags {
    pub(super) const EXTENDED: i64 = 1;
    pub(super) const IGNORE_CASE: i64 = 2;
    /// Whether there is a match is all that is told anyway.
    pub(super) const NO_SUBMATCHES: i64 = 4;
    pub(super) const NEWLINE: i64 = 8;
}

/// What a compiled pattern may take.
const COMPILED_BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    pub(super) fn new(pattern: &[u8], flags: i64) -> Result<Self, ResultCode> {
        let known = flags::EXTENDED | flags::IGNORE_CASE | flags::NO_SUBMATCHES | flags::NEWLINE;
        let pattern = std::str::from_utf8(pattern).map_err(|_| ResultCode::PARAMETER)?;
        if flags & !known != 0 {
            return Err(ResultCode::PARAMETER);
        }
        let has_lines = flags & flags::NEWLINE != 0;
        let regex = RegexBuilder::new(&translated(pattern, flags & flags::EXTENDED != 0))
            .case_insensitive(flags & flags::IGNORE_CASE != 0)
            .multi_line(has_lines)
            .dot_matches_new_line(!has_lines)
            .size_limit(COMPILED_BYTES_MAX)
            .build();
        regex.map(Self).map_err(|_| ResultCode::PARAMETER)
    }

    /// Whether it matches anywhere in a text; none if that is no text.
    pub(super) fn matches(&self, text: &[u8]) -> Option<bool> {
        std::str::from_utf8(text).ok().map(|text| self.0.is_match(text))
    }
}

/// In basic patterns `\(` groups and `(` is itself; in sets `\` and `[` are themselves.
fn translated(pattern: &str, is_extended: bool) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '[' => translate_set(&mut rest, &mut out),
            '\\' => match rest.next() {
                Some(c @ ('(' | ')' | '{' | '}' | '|' | '+' | '?')) if !is_extended => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => out.push('\\'),
            },
            '(' | ')' | '{' | '}' | '|' | '+' | '?' if !is_extended => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// A set, whose `[` is read: `]` right at its start is itself, `[:name:]` is a class.
fn translate_set(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    out.push('[');
    if let Some(c) = rest.next_if_eq(&'^') {
        out.push(c);
    }
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(c) = rest.next() {
        match c {
            ']' => {
                out.push(c);
                return;
            }
            '[' if rest.peek() == Some(&':') => {
                out.push(c);
                for c in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' | '\\' | '&' | '~' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_and_extended_patterns_match_as_posix_says() {
        for (pattern, flags, text, expected) in [
            ("^ab+c$", 1, "abbc", true),
            ("^ab+c$", 0, "abbc", false),
            ("^ab+c$", 0, "ab+c", true),
            (r"^\(ab\)*$", 0, "abab", true),
            (r"^(ab)*$", 0, "(ab)", true),
            (r"^(ab)*$", 0, "abab", false),
            ("ABC", 2, "xabcx", true),
            ("^b", 0, "a\nb", false),
            ("^b", 8, "a\nb", true),
            ("a.b", 1, "a\nb", true),
            ("a.b", 9, "a\nb", false),
            (r"[]\]", 1, r"\", true),
            ("[^]a]", 1, "]a", false),
            ("^[[:digit:]]+$", 1, "123", true),
            ("[[a]", 1, "[", true),
        ] {
            let compiled = Pattern::new(pattern.as_bytes(), flags).unwrap_or_else(|code| panic!("{pattern}: {code}"));
            assert_eq!(compiled.matches(text.as_bytes()), Some(expected), "{pattern} {flags} {text}");
        }
        assert!(Pattern::new(b"a(", 1).is_err());
        assert!(Pattern::new(b"(((a{200}){200}){200})", 1).is_err());
        assert!(Pattern::new(b"\xff", 1).is_err());
        assert!(Pattern::new(b"a", 16).is_err());
        assert_eq!(Pattern::new(b"a", 1).map(|pattern| pattern.matches(b"\xff")), Ok(None));
    }
}
