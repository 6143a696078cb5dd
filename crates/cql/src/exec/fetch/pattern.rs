//! What LIKE looks for.

use crate::CqlError;
use crate::index::Analysis;
use crate::plan::Likes;
use crate::value::parse::Excerpt;

/// What LIKE compares with: `%` at either end of a pattern stands for anything. An index that takes texts apart takes what stands between them apart, too:
/// a value must have all of these tokens.
pub(in crate::exec) struct Pattern {
    texts: Vec<Vec<u8>>,
    is_open_before: bool,
    is_open_after: bool,
    analysis: Option<Analysis>,
}

/// Which texts match: they are this one, or begin with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Among<'a> {
    Equal(&'a [u8]),
    Beginning(&'a [u8]),
    All,
}

impl Pattern {
    /// Reads a pattern that column `name` is compared with.
    ///
    /// # Errors
    /// A pattern without a text, and one that the column's index cannot look for.
    pub(super) fn new(pattern: &[u8], likes: Likes, name: &str, analysis: Option<Analysis>) -> Result<Self, CqlError> {
        let before = pattern.strip_prefix(b"%");
        let rest = before.unwrap_or(pattern);
        let after = rest.strip_suffix(b"%");
        let (text, is_open_before, is_open_after) = (after.unwrap_or(rest), before.is_some(), after.is_some());
        check(text, (is_open_before, is_open_after), likes, name)?;
        let mut texts = Vec::new();
        match &analysis {
            Some(analysis) => analysis.texts(text, &mut |text| texts.push(text.to_vec())),
            None => texts.push(text.to_vec()),
        }
        Ok(Self { texts, is_open_before, is_open_after, analysis })
    }

    /// The texts among which one must be of each value that matches; `None` if nothing matches.
    pub(super) fn among(&self) -> Option<Among<'_>> {
        let longest = self.texts.iter().max_by_key(|text| text.len())?;
        Some(match (self.is_open_before, self.is_open_after) {
            (true, _) => Among::All,
            (false, true) => Among::Beginning(longest),
            (false, false) => Among::Equal(longest),
        })
    }

    /// Whether a value matches.
    pub(super) fn matches(&self, actual: &[u8]) -> bool {
        let Some(analysis) = &self.analysis else { return self.texts.iter().all(|text| self.fits(actual, text)) };
        let mut missing: Vec<&[u8]> = self.texts.iter().map(Vec::as_slice).collect();
        if missing.is_empty() {
            return false;
        }
        analysis.stored_texts(actual, &mut |found| missing.retain(|text| !self.fits(found, text)));
        missing.is_empty()
    }

    fn fits(&self, actual: &[u8], text: &[u8]) -> bool {
        match (self.is_open_before, self.is_open_after) {
            (false, false) => actual == text,
            (false, true) => actual.starts_with(text),
            (true, false) => actual.ends_with(text),
            (true, true) => actual.windows(text.len()).any(|part| part == text),
        }
    }
}

/// Refuses a pattern without a text, and one that the index of column `name` cannot look for.
fn check(text: &[u8], is_open: (bool, bool), likes: Likes, name: &str) -> Result<(), CqlError> {
    if text.is_empty() {
        return Err(CqlError::invalid("LIKE value can't be empty."));
    }
    let form = match (is_open, likes) {
        ((true, true), Likes::Beginnings) => "'%<term>%'",
        ((true, false), Likes::Beginnings) => "'%<term>'",
        ((false, true), Likes::AllButBeginnings) => "'<term>%'",
        _ => return Ok(()),
    };
    let text = String::from_utf8_lossy(text);
    Err(CqlError::Invalid(format!("{name} LIKE {form} {} is only supported on properly indexed columns", Excerpt::new(&text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DataType, Index};
    use std::collections::BTreeMap;

    /// The analysis of an index whose parts are between commas.
    fn parts() -> Option<Analysis> {
        let class = "org.apache.cassandra.index.sasi.analyzer.DelimiterAnalyzer".to_owned();
        let options = BTreeMap::from([("analyzer_class".to_owned(), class)]);
        let index = Index {
            id: base::TableId(1),
            name: String::new(),
            column: model::ColumnId(0),
            part: model::IndexPart::Value,
            class: None,
            options,
        };
        Analysis::of(&index, &DataType::Text)
    }

    fn pattern(text: &str, likes: Likes) -> Result<Pattern, CqlError> {
        Pattern::new(text.as_bytes(), likes, "v", parts())
    }

    /// Which of the values match, as Cassandra 5.0.9 finds them.
    #[test]
    fn tokens_of_the_pattern_must_all_be_tokens_of_the_value() {
        let values = ["abc,def", "abcd,,xyz,", "def,abc", "", "ABC", ",", "abc def", "x%y,a", "%z,q"];
        let matching = |text: &str, likes| {
            let pattern = pattern(text, likes).expect("a pattern");
            values.iter().enumerate().filter(|(_, value)| pattern.matches(value.as_bytes())).map(|(at, _)| at).collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("abc", vec![0, 2]),
            ("abc%", vec![0, 1, 2, 6]),
            ("abc,def", vec![0, 2]),
            ("abc,zzz", vec![]),
            ("xy,ab%", vec![1]),
            (",", vec![]),
            (",abc,", vec![0, 2]),
            ("x%y", vec![7]),
            ("abc def", vec![6]),
        ] {
            assert_eq!(matching(text, Likes::Beginnings), expected, "{text}");
        }
        for (text, expected) in
            [("%bc", vec![0, 2]), ("%b%", vec![0, 1, 2, 6]), ("%,abc,%", vec![0, 1, 2, 6]), ("%de,bc%", vec![0, 2, 6]), ("%%z", vec![8])]
        {
            assert_eq!(matching(text, Likes::AllButBeginnings), expected, "{text}");
        }
    }

    #[test]
    fn what_an_index_cannot_look_for_is_refused() {
        let refused = |text, likes| pattern(text, likes).err().map(|error| error.to_string());
        let only = |form| Some(format!("v LIKE {form} is only supported on properly indexed columns"));
        assert_eq!(refused("%,Ab,", Likes::Beginnings), only("'%<term>' ,Ab,"));
        assert_eq!(refused("%b%", Likes::Beginnings), only("'%<term>%' b"));
        assert_eq!(refused("ab%", Likes::AllButBeginnings), only("'<term>%' ab"));
        assert_eq!(refused("%%", Likes::All).as_deref(), Some("LIKE value can't be empty."));
        assert_eq!(refused("ab%", Likes::All), None);
    }

    #[test]
    fn the_longest_text_is_looked_up() {
        let among = |text: &str| pattern(text, Likes::All).expect("a pattern").among().map(|among| format!("{among:?}"));
        assert_eq!(among("a,bcd,ef"), Some(format!("{:?}", Among::Equal(b"bcd"))));
        assert_eq!(among("a,bcd%"), Some(format!("{:?}", Among::Beginning(b"bcd"))));
        assert_eq!(among("%a"), Some(format!("{:?}", Among::All)));
        assert_eq!(among(",,"), None);
    }
}
