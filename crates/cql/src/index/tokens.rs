//! How a SASI index takes texts apart, as its `analyzer_class` says.

use std::collections::BTreeMap;
use unicode_segmentation::UnicodeSegmentation;

/// Where Cassandra has its analyzers.
const PACKAGE: &str = "org.apache.cassandra.index.sasi.analyzer.";
/// What stands between parts if nothing is said.
const DELIMITER: char = ',';
/// Words that are longer, in units of UTF-16, are left out.
const WORD_UNITS_MAX: usize = 255;

/// Cassandra's analyzers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Analyzer {
    /// Texts stay as they are.
    NoOp,
    /// Texts stay whole.
    NonTokenizing,
    /// Texts are what stands between delimiters.
    Delimiter,
    /// Texts are words.
    Standard,
}

impl Analyzer {
    /// All, with their names.
    const NAMED: [(&str, Self); 4] = [
        ("NoOpAnalyzer", Self::NoOp),
        ("NonTokenizingAnalyzer", Self::NonTokenizing),
        ("DelimiterAnalyzer", Self::Delimiter),
        ("StandardAnalyzer", Self::Standard),
    ];

    /// The one that a class with its package is.
    pub(crate) fn named(class: &str) -> Option<Self> {
        let name = class.strip_prefix(PACKAGE)?;
        Self::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, analyzer)| analyzer)
    }

    /// Its class, without the package.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMED.into_iter().find(|(_, analyzer)| *analyzer == self).map_or("", |(name, _)| name)
    }

    /// The one that options of an index on texts ask for, `analyzed` counted.
    pub(crate) fn of(options: &BTreeMap<String, String>) -> Self {
        let is_analyzed = options.get("analyzed").map(|value| value.eq_ignore_ascii_case("true"));
        match options.get("analyzer_class") {
            Some(class) if is_analyzed.unwrap_or(true) => Self::named(class).unwrap_or(Self::NoOp),
            None if is_analyzed.unwrap_or(false) => Self::Standard,
            _ => Self::NoOp,
        }
    }
}

/// What makes tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokenizer {
    /// Each part between delimiters that is not empty.
    Delimiter(char),
    /// Each word, by Unicode's rules.
    Words,
}

impl Tokenizer {
    /// That of an index with these options; `None` if texts stay whole.
    pub(super) fn of(options: &BTreeMap<String, String>) -> Option<Self> {
        match Analyzer::of(options) {
            Analyzer::Delimiter => {
                Some(Self::Delimiter(options.get("delimiter").and_then(|given| given.chars().next()).unwrap_or(DELIMITER)))
            }
            Analyzer::Standard => Some(Self::Words),
            Analyzer::NoOp | Analyzer::NonTokenizing => None,
        }
    }

    /// Tells the tokens of a text, in their order.
    pub(super) fn tokens(self, text: &str, token: &mut dyn FnMut(&str)) {
        match self {
            Self::Delimiter(delimiter) => text.split(delimiter).filter(|part| !part.is_empty()).for_each(token),
            Self::Words => words(text, &mut |word| {
                if word.len() <= WORD_UNITS_MAX || word.encode_utf16().count() <= WORD_UNITS_MAX {
                    token(word);
                }
            }),
        }
    }
}

/// Tells the words of a text. Letters that are written without spaces and are not words by themselves stay together.
fn words(text: &str, word: &mut dyn FnMut(&str)) {
    let mut joined = 0..0;
    for (at, part) in text.split_word_bound_indices() {
        let end = at + part.len();
        if part.chars().next().is_some_and(is_joined) {
            joined = if joined.is_empty() { at..end } else { joined.start..end };
            continue;
        }
        if !joined.is_empty() {
            word(&text[std::mem::take(&mut joined)]);
        }
        if part.contains(char::is_alphanumeric) {
            word(part);
        }
    }
    if !joined.is_empty() {
        word(&text[joined]);
    }
}

/// Whether it takes a dictionary to tell where words of its script end: Thai, Lao, Myanmar, Khmer.
fn is_joined(letter: char) -> bool {
    matches!(letter,
        '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ebd}' | '\u{ec0}'..='\u{ece}' | '\u{edc}'..='\u{edf}'
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{108f}' | '\u{1780}'..='\u{17d3}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(tokenizer: Tokenizer, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        tokenizer.tokens(text, &mut |token| found.push(token.to_owned()));
        found
    }

    fn options(given: &[(&str, &str)]) -> BTreeMap<String, String> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn parts_between_delimiters_are_tokens_and_empty_ones_are_not() {
        let parts = Tokenizer::Delimiter('░');
        assert_eq!(tokens(parts, "░error░error=refused░░http.path=/3░"), ["error", "error=refused", "http.path=/3"]);
        assert_eq!(tokens(parts, "whole"), ["whole"]);
        assert_eq!(tokens(parts, "░░"), [""; 0]);
        assert_eq!(tokens(parts, ""), [""; 0]);
    }

    /// What Cassandra 5.0.9 finds of the same texts.
    #[test]
    fn words_end_where_cassandra_ends_them() {
        let words = |text| tokens(Tokenizer::Words, text);
        assert_eq!(words("Hello, World! 3.14 a_b foo-bar"), ["Hello", "World", "3.14", "a_b", "foo", "bar"]);
        assert_eq!(words("can't don’t 1,000.5 2:30 5a __ _x_ !"), ["can't", "don’t", "1,000.5", "2", "30", "5a", "_x_"]);
        assert_eq!(words("日本語テキスト ひら 한국어"), ["日", "本", "語", "テキスト", "ひ", "ら", "한국어"]);
        assert_eq!(words("ภาษาไทย สวัสดี๑"), ["ภาษาไทย", "สวัสดี", "๑"]);
        assert_eq!(words("user@example.com 😀 emoji 🇩🇪"), ["user", "example.com", "emoji"]);
        assert_eq!(words(&format!("{} {} y", "x".repeat(255), "x".repeat(256))), ["x".repeat(255), "y".to_owned()]);
    }

    #[test]
    fn options_say_which_analyzer_is_meant() {
        let class = |name: &str| format!("{PACKAGE}{name}");
        let of = |given: &[(&str, &str)]| Tokenizer::of(&options(given));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("analyzed", "true")]), Some(Tokenizer::Words));
        assert_eq!(of(&[("analyzer_class", &class("DelimiterAnalyzer"))]), Some(Tokenizer::Delimiter(',')));
        assert_eq!(of(&[("analyzer_class", &class("DelimiterAnalyzer")), ("delimiter", "x")]), Some(Tokenizer::Delimiter('x')));
        assert_eq!(of(&[("analyzer_class", &class("DelimiterAnalyzer")), ("analyzed", "false")]), None);
        assert_eq!(of(&[("analyzer_class", &class("NonTokenizingAnalyzer"))]), None);
        assert_eq!(Analyzer::named("DelimiterAnalyzer"), None);
    }
}
