//! What an index does to texts before it compares them: `case_sensitive`, `normalize` and `ascii` of SAI, and what stands for them in SASI.

use model::{DataType, Index};
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// The steps, in the order in which they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Letters become lower-case ones.
    ignores_case: bool,
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
        let analysis = Self {
            ignores_case: is("case_sensitive", "false") || is("normalize_lowercase", "true"),
            normalizes: is("normalize", "true"),
            folds_to_ascii: is("ascii", "true"),
        };
        (analysis != Self::default()).then_some(analysis)
    }

    /// A text as it is compared. Bytes that are no text stay.
    #[must_use]
    pub fn apply<'a>(&self, value: &'a [u8]) -> Cow<'a, [u8]> {
        let Ok(text) = std::str::from_utf8(value) else { return Cow::Borrowed(value) };
        let mut text = Cow::Borrowed(text);
        if self.ignores_case && text.chars().any(|letter| !letter.is_lowercase() && letter.to_lowercase().next() != Some(letter)) {
            text = Cow::Owned(text.to_lowercase());
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
        let Self { ignores_case, normalizes, folds_to_ascii } = self;
        write!(f, "NonTokenizingAnalyzer{{caseSensitive={}, normalized={normalizes}, ascii={folds_to_ascii}}}", !ignores_case)
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

    fn analysed(ignores_case: bool, normalizes: bool, folds_to_ascii: bool, text: &str) -> String {
        let analysis = Analysis { ignores_case, normalizes, folds_to_ascii };
        String::from_utf8_lossy(&analysis.apply(text.as_bytes())).into_owned()
    }

    #[test]
    fn texts_are_compared_as_the_options_say() {
        assert_eq!(analysed(true, false, false, "Straße ÉCOLE"), "straße école");
        assert_eq!(analysed(false, true, false, "e\u{301}cole"), "\u{e9}cole");
        assert_eq!(analysed(false, false, true, "Éçole Łódź Straße 日本"), "Ecole Lodz Strasse 日本");
        assert_eq!(analysed(true, true, true, "E\u{301}COLE"), "ecole");
        let plain = Analysis { ignores_case: true, normalizes: true, folds_to_ascii: true };
        assert!(matches!(plain.apply(b"as it is"), Cow::Borrowed(b"as it is")));
        assert_eq!(&*plain.apply(&[0xff, b'A']), [0xff, b'A']);
    }
}
