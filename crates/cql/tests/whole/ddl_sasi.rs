//! SASI indexes whose analyzers take texts apart: their options, where Cassandra's answer says nothing or TarnDB's differs.

use crate::schema_support::Session;
use cql::CqlError;

fn create(options: &str) -> String {
    let options = options.replace("sasi.", "org.apache.cassandra.index.sasi.analyzer.");
    format!("CREATE CUSTOM INDEX ON t (v) USING 'org.apache.cassandra.index.sasi.SASIIndex' WITH OPTIONS = {{{options}}}")
}

fn session() -> Session {
    let mut session = Session::new();
    session.all(&[
        "CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "USE app",
        "CREATE TABLE t (k int PRIMARY KEY, v text)",
    ]);
    session
}

#[test]
fn options_that_cannot_be_are_refused_with_their_reason() {
    let mut session = session();
    for (options, message) in [
        ("'analyzer_class': 'sasi.DelimiterAnalyzer', 'delimiter': ''", "Only single character delimiters supported, was "),
        ("'analyzer_class': 'sasi.DelimiterAnalyzer', 'delimiter': 'ab'", "Only single character delimiters supported, was ab"),
        ("'analyzer_class': 'sasi.DelimiterAnalyzer', 'delimiter': '😀'", "Only single character delimiters supported, was 😀"),
        (
            "'analyzer_class': 'sasi.StandardAnalyzer', 'tokenization_normalize_lowercase': 'true', 'tokenization_normalize_uppercase': 'true'",
            "Options to normalize terms cannot be both uppercase and lowercase at the same time",
        ),
        (
            "'analyzer_class': 'sasi.NonTokenizingAnalyzer', 'normalize_lowercase': 'true', 'normalize_uppercase': 'true'",
            "Options to normalize terms cannot be both uppercase and lowercase at the same time",
        ),
    ] {
        assert_eq!(session.run(&create(options)).unwrap_err(), CqlError::Config(message.to_owned()), "{options}");
    }
    for option in ["tokenization_enable_stemming", "tokenization_skip_stop_words"] {
        let options = format!("'analyzer_class': 'sasi.StandardAnalyzer', 'tokenization_locale': 'en', '{option}': 'true'");
        let message = format!("{option} is not supported by TarnDB yet");
        assert_eq!(session.run(&create(&options)).unwrap_err(), CqlError::Invalid(message), "{options}");
    }
}

#[test]
fn options_are_kept_as_they_were_given() {
    for options in [
        "'analyzed': 'true', 'analyzer_class': 'sasi.DelimiterAnalyzer', 'delimiter': '░', 'mode': 'PREFIX'",
        "'analyzed': 'false', 'analyzer_class': 'sasi.DelimiterAnalyzer', 'delimiter': 'ab'",
        "'analyzer_class': 'sasi.StandardAnalyzer', 'tokenization_locale': 'en', 'tokenization_skip_stop_words': 'and, the, or'",
        "'analyzer_class': 'sasi.StandardAnalyzer', 'tokenization_enable_stemming': 'true'",
        "'analyzer_class': 'sasi.NonTokenizingAnalyzer', 'normalize_uppercase': 'true'",
    ] {
        let mut session = session();
        session.all(&[&create(options)]);
        let index = session.schema.table("app", "t").unwrap().indexes["t_v_idx"].clone();
        let kept = index.options.iter().map(|(option, value)| format!("'{option}': '{value}'")).collect::<Vec<_>>().join(", ");
        assert_eq!(kept, options.replace("sasi.", "org.apache.cassandra.index.sasi.analyzer."));
    }
}
