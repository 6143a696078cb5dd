//! What an index does to texts before it compares them: `case_sensitive`, `normalize` and `ascii` of SAI, what stands for them in SASI, and SASI's
//! analyzers that take texts apart.

use super::tokens::Tokenizer;
use model::{DataType, Index};
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// SASI has no entry of a token with so many bytes.
const TOKEN_BYTES_END: usize = 1024;

/// What letters become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Case {
    #[default]
    Kept,
    Lower,
    Upper,
}

/// The steps, in the order in which they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Texts are taken apart: what follows is done to each token.
    tokenizer: Option<Tokenizer>,
    case: Case,
    /// Texts that look alike become the same (Unicode's NFC).
    normalizes: bool,
    /// Latin letters lose their accents.
    folds_to_ascii: bool,
}

impl Analysis {
    /// That of an index on values of a type; `None` if texts are compared as they are.
    #[must_use]
    pub fn of(index: &Index, data_type: &DataType) -> Option<Self> {
        if !matches!(data_type, DataType::Text | DataType::Ascii) {
            return None;
        }
        let is = |option: &str, value: &str| index.options.get(option).is_some_and(|given| given.eq_ignore_ascii_case(value));
        let case = |is_lower: bool, is_upper: bool| match (is_lower, is_upper) {
            (true, _) => Case::Lower,
            (false, true) => Case::Upper,
            (false, false) => Case::Kept,
        };
        let analysis = match Tokenizer::of(&index.options) {
            Some(Tokenizer::Words) => Self {
                tokenizer: Some(Tokenizer::Words),
                case: case(is("tokenization_normalize_lowercase", "true"), is("tokenization_normalize_uppercase", "true")),
                normalizes: true,
                folds_to_ascii: false,
            },
            Some(tokenizer) => Self { tokenizer: Some(tokenizer), ..Self::default() },
            None => Self {
                tokenizer: None,
                case: case(is("case_sensitive", "false") || is("normalize_lowercase", "true"), is("normalize_uppercase", "true")),
                normalizes: is("normalize", "true"),
                folds_to_ascii: is("ascii", "true"),
            },
        };
        (analysis != Self::default()).then_some(analysis)
    }

    /// Whether an index has entries of tokens.
    #[must_use]
    pub fn takes_apart(index: &Index, data_type: &DataType) -> bool {
        Self::of(index, data_type).is_some_and(|analysis| analysis.tokenizer.is_some())
    }

    /// Tells what a text that is looked for is compared as: its tokens, or the whole.
    pub(crate) fn texts(&self, value: &[u8], found: &mut dyn FnMut(&[u8])) {
        match (self.tokenizer, std::str::from_utf8(value)) {
            (Some(tokenizer), Ok(text)) => tokenizer.tokens(text, &mut |token| found(&self.apply(token.as_bytes()))),
            (Some(_), Err(_)) => {}
            (None, _) => found(&self.apply(value)),
        }
    }

    /// Tells what a stored text is found by: as [`Analysis::texts`], without tokens that are too long.
    pub(crate) fn stored_texts(&self, value: &[u8], found: &mut dyn FnMut(&[u8])) {
        let is_whole = self.tokenizer.is_none();
        self.texts(value, &mut |text| {
            if is_whole || text.len() < TOKEN_BYTES_END {
                found(text);
            }
        });
    }

    /// A text, or a token of one, as it is compared. Bytes that are no text stay.
    #[must_use]
    pub fn apply<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        let Ok(text) = std::str::from_utf8(value) else { return Cow::Borrowed(value) };
        let mut text = Cow::Borrowed(text);
        match self.case {
            Case::Lower if text.chars().any(|letter| !letter.is_lowercase() && letter.to_lowercase().next() != Some(letter)) => {
                text = Cow::Owned(text.to_lowercase());
            }
            Case::Upper => text = Cow::Owned(text.to_uppercase()),
            Case::Lower | Case::Kept => {}
        }
        if !text.is_ascii() {
            if self.normalizes {
                text = Cow::Owned(text.nfc().collect());
            }
            if self.folds_to_ascii {
                text = Cow::Owned(ascii(&text));
            }
        }
        match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }
}

/// As Cassandra calls it.
impl std::fmt::Display for Analysis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { tokenizer: _, case, normalizes, folds_to_ascii } = self;
        write!(f, "NonTokenizingAnalyzer{{caseSensitive={}, normalized={normalizes}, ascii={folds_to_ascii}}}", *case == Case::Kept)
    }
}

/// A text with ASCII letters in place of Latin ones that are like them; other letters stay.
fn ascii(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() {
            folded.push(letter);
        } else if let Some(letters) = without_decomposition(letter) {
            folded.push_str(letters);
        } else {
            let from = folded.len();
            decompose_compatible(letter, |part| {
                if !is_combining_mark(part) {
                    folded.push(part);
                }
            });
            if !folded[from..].is_ascii() || folded.len() == from {
                folded.truncate(from);
                folded.push(letter);
            }
        }
    }
    folded
}

/// Letters that Unicode does not take apart.
fn without_decomposition(letter: char) -> Option<&'static str> {
    Some(match letter {
        'Æ' => "AE",
        'æ' => "ae",
        'Œ' => "OE",
        'œ' => "oe",
        'ß' => "ss",
        'ẞ' => "SS",
        'Ø' => "O",
        'ø' => "o",
        'Đ' | 'Ð' => "D",
        'đ' | 'ð' => "d",
        'Þ' => "TH",
        'þ' => "th",
        'Ł' => "L",
        'ł' => "l",
        'Ħ' => "H",
        'ħ' => "h",
        'Ŧ' => "T",
        'ŧ' => "t",
        'ı' => "i",
        'ĸ' => "q",
        '‘' | '’' | '‚' | '‛' => "'",
        '“' | '”' | '„' => "\"",
        '‐' | '‑' | '‒' | '–' | '—' => "-",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(ignores_case: bool, normalizes: bool, folds_to_ascii: bool) -> Analysis {
        let case = if ignores_case { Case::Lower } else { Case::Kept };
        Analysis { tokenizer: None, case, normalizes, folds_to_ascii }
    }

    fn analysed(ignores_case: bool, normalizes: bool, folds_to_ascii: bool, text: &str) -> String {
        String::from_utf8_lossy(&steps(ignores_case, normalizes, folds_to_ascii).apply(text.as_bytes())).into_owned()
    }

    #[test]
    fn texts_are_compared_as_the_options_say() {
        assert_eq!(analysed(true, false, false, "Straße ÉCOLE"), "straße école");
        assert_eq!(analysed(false, true, false, "e\u{301}cole"), "\u{e9}cole");
        assert_eq!(analysed(false, false, true, "Éçole Łódź Straße 日本"), "Ecole Lodz Strasse 日本");
        assert_eq!(analysed(true, true, true, "E\u{301}COLE"), "ecole");
        let plain = steps(true, true, true);
        assert!(matches!(plain.apply(b"as it is"), Cow::Borrowed(b"as it is")));
        assert_eq!(&*plain.apply(&[0xff, b'A']), [0xff, b'A']);
    }

    #[test]
    fn tokens_are_compared_as_the_options_say() {
        let found = |analysis: &Analysis, text: &str| {
            let mut found = Vec::new();
            analysis.stored_texts(text.as_bytes(), &mut |text| found.push(String::from_utf8_lossy(text).into_owned()));
            found
        };
        let words = Analysis { tokenizer: Some(Tokenizer::Words), case: Case::Upper, normalizes: true, folds_to_ascii: false };
        assert_eq!(found(&words, "straße, e\u{301}cole"), ["STRASSE", "\u{c9}COLE"]);
        let parts = Analysis { tokenizer: Some(Tokenizer::Delimiter(',')), ..Analysis::default() };
        let text = format!("a B,{},{},c", "l".repeat(1023), "l".repeat(1024));
        assert_eq!(found(&parts, &text), ["a B".to_owned(), "l".repeat(1023), "c".to_owned()]);
        let mut sought = 0;
        parts.texts(text.as_bytes(), &mut |_| sought += 1);
        assert_eq!(sought, 4);
        parts.texts(&[0xff, b','], &mut |_| sought += 1);
        assert_eq!(sought, 4, "bytes that are no text have no tokens");
    }
}
