//! What a SASI index cannot be on, and its options.

use super::DdlError;
use super::error::IndexError;
use crate::index::Analyzer;
use model::{Column, DataType};
use std::collections::BTreeMap;

const MODES: [&str; 3] = ["PREFIX", "CONTAINS", "SPARSE"];

/// Checks a column and options, in Cassandra's order. As there, whatever else is given is kept: how entries are stored there, and what nobody knows.
pub(super) fn check(column: &Column, options: &BTreeMap<String, String>) -> Result<(), DdlError> {
    if column.data_type.is_collection() {
        return Err(IndexError::SasiOnCollection.into());
    }
    let is_text = matches!(column.data_type, DataType::Text | DataType::Ascii);
    if let Some(class) = options.get("analyzer_class") {
        let analyzer = Analyzer::named(class).ok_or_else(|| IndexError::SasiAnalyzer(class.clone()))?;
        if !is_text && analyzer != Analyzer::NoOp {
            return Err(IndexError::SasiAnalyzerType(analyzer.name(), column.data_type.clone()).into());
        }
        if analyzer == Analyzer::NonTokenizing && options.contains_key("case_sensitive") && normalizes_case(options) {
            return Err(IndexError::SasiCase.into());
        }
    }
    if let Some(mode) = options.get("mode") {
        if !MODES.iter().any(|known| known.eq_ignore_ascii_case(mode)) {
            return Err(IndexError::SasiMode(mode.clone()).into());
        }
        if mode.eq_ignore_ascii_case("SPARSE") {
            check_sparse(is_text, options)?;
        }
    }
    if is_text { check_analyzer(options) } else { Ok(()) }
}

fn normalizes_case(options: &BTreeMap<String, String>) -> bool {
    ["normalize_lowercase", "normalize_uppercase"].iter().any(|option| options.contains_key(*option))
}

fn is_true(options: &BTreeMap<String, String>, option: &str) -> bool {
    options.get(option).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The mode SPARSE is for numbers, which are not analysed.
fn check_sparse(is_text: bool, options: &BTreeMap<String, String>) -> Result<(), DdlError> {
    if is_text {
        return Err(IndexError::SasiSparseText.into());
    }
    let is_analyzed = options.contains_key("analyzer_class") && !options.contains_key("analyzed");
    if is_analyzed || is_true(options, "analyzed") { Err(IndexError::SasiSparseAnalyzed.into()) } else { Ok(()) }
}

/// The options of the analyzer that an index on texts has.
fn check_analyzer(options: &BTreeMap<String, String>) -> Result<(), DdlError> {
    let is_true = |option| is_true(options, option);
    match Analyzer::of(options) {
        Analyzer::NoOp => Ok(()),
        Analyzer::NonTokenizing if is_true("normalize_lowercase") && is_true("normalize_uppercase") => {
            Err(IndexError::SasiBothCases.into())
        }
        Analyzer::NonTokenizing => Ok(()),
        Analyzer::Delimiter => match options.get("delimiter") {
            Some(delimiter) if delimiter.encode_utf16().count() != 1 => Err(IndexError::SasiDelimiter(delimiter.clone()).into()),
            _ => Ok(()),
        },
        Analyzer::Standard if is_true("tokenization_normalize_lowercase") && is_true("tokenization_normalize_uppercase") => {
            Err(IndexError::SasiBothCases.into())
        }
        // Without a language both do nothing.
        Analyzer::Standard if options.contains_key("tokenization_locale") && is_true("tokenization_enable_stemming") => {
            Err(DdlError::Unsupported("tokenization_enable_stemming"))
        }
        Analyzer::Standard if options.contains_key("tokenization_locale") && is_true("tokenization_skip_stop_words") => {
            Err(DdlError::Unsupported("tokenization_skip_stop_words"))
        }
        Analyzer::Standard => Ok(()),
    }
}
