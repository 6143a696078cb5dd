//! Indexes whose analyzer makes entries that earlier programs do not: of tokens, or of texts in upper case.

use super::{Index, Schema};

/// The one analyzer that all programs know.
const KNOWN_ANALYZER: &str = "org.apache.cassandra.index.sasi.analyzer.NonTokenizingAnalyzer";

impl Schema {
    /// Whether there is an index with such an analyzer.
    #[must_use]
    pub fn has_analyzers(&self) -> bool {
        self.tables().flat_map(|table| table.indexes.values()).any(|index| has_analyzer(index))
    }
}

fn has_analyzer(index: &Index) -> bool {
    let is_other = index.options.get("analyzer_class").is_some_and(|class| class != KNOWN_ANALYZER);
    is_other || index.options.get("normalize_uppercase").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}
