//! Functions and aggregates as the statements that make them.

use super::type_text;
use crate::language::quote_identifier;
use crate::value::text::to_literal;
use model::{DataType, Function, NullInput, UserAggregate};

fn types<'a>(types: impl Iterator<Item = &'a DataType>) -> String {
    types.map(type_text).collect::<Vec<_>>().join(", ")
}

/// `f(int, text)`
pub(super) fn function_signature(function: &Function) -> String {
    format!("{}({})", quote_identifier(&function.name), types(function.arguments.iter().map(|(_, data_type)| data_type)))
}

/// The same of an aggregate.
pub(super) fn aggregate_signature(aggregate: &UserAggregate) -> String {
    format!("{}({})", quote_identifier(&aggregate.name), types(aggregate.arguments.iter()))
}

/// `CREATE FUNCTION …;`
pub(super) fn create_function(function: &Function) -> String {
    let arguments: Vec<String> =
        function.arguments.iter().map(|(name, data_type)| format!("{} {}", quote_identifier(name), type_text(data_type))).collect();
    let null_input = match function.null_input {
        NullInput::Called => "CALLED",
        NullInput::ReturnsNull => "RETURNS NULL",
    };
    let body =
        if function.body.contains("$$") { format!("'{}'", function.body.replace('\'', "''")) } else { format!("$${}$$", function.body) };
    format!(
        "CREATE FUNCTION {}.{}({})\n    {null_input} ON NULL INPUT\n    RETURNS {}\n    LANGUAGE {}\n    AS {body};",
        quote_identifier(&function.keyspace),
        quote_identifier(&function.name),
        arguments.join(", "),
        type_text(&function.returns),
        function.language
    )
}

/// `CREATE AGGREGATE …;`
pub(super) fn create_aggregate(aggregate: &UserAggregate) -> String {
    let mut statement = format!(
        "CREATE AGGREGATE {}.{}\n    SFUNC {}\n    STYPE {}",
        quote_identifier(&aggregate.keyspace),
        aggregate_signature(aggregate),
        quote_identifier(&aggregate.state_function),
        type_text(&aggregate.state_type)
    );
    let parts = [("REDUCEFUNC", &aggregate.reduce_function), ("FINALFUNC", &aggregate.final_function)];
    for (word, name) in parts {
        statement.extend(name.iter().map(|name| format!("\n    {word} {}", quote_identifier(name))));
    }
    let initial = aggregate.initial.iter().map(|bytes| format!("\n    INITCOND {}", to_literal(&aggregate.state_type, Some(bytes))));
    statement.extend(initial);
    statement.push(';');
    statement
}
