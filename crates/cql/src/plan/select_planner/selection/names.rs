//! What the columns of a result are called.

use crate::language::ast::{self, Selector};
use crate::plan::Planner;
use crate::value::function;
use model::Keyspace;
use std::sync::Arc;

impl Planner<'_> {
    /// The name of a result's column without an alias.
    pub(super) fn result_name(&self, selector: &Selector) -> String {
        result_name(selector, &|name| self.keyspace_of(name))
    }

    /// The keyspace of a function as results name it.
    fn keyspace_of(&self, name: &ast::FunctionName) -> String {
        if let Some(keyspace) = &name.keyspace {
            return keyspace.as_str().to_owned();
        }
        let own = name.name.as_str();
        let keyspace = self.function_keyspace.as_deref().and_then(|keyspace| self.schema.keyspaces.get(keyspace));
        let is_user = |keyspace: &&Arc<Keyspace>| {
            keyspace.functions.functions_named(own).next().is_some() || keyspace.functions.aggregates_named(own).next().is_some()
        };
        keyspace.filter(is_user).filter(|_| !function::is_native(own)).map_or_else(|| "system".to_owned(), |keyspace| keyspace.name.clone())
    }
}

/// The name of a result's column without an alias, as Cassandra makes it: functions get the keyspace they live in.
fn result_name(selector: &Selector, keyspace_of: &dyn Fn(&ast::FunctionName) -> String) -> String {
    let result_name = |selector: &Selector| result_name(selector, keyspace_of);
    let all = |parts: &[Selector]| parts.iter().map(result_name).collect::<Vec<_>>().join(", ");
    match selector {
        Selector::Literal(ast::Literal::Null) => "NULL".to_owned(),
        Selector::Function { name, arguments } => format!("{}.{}({})", keyspace_of(name), name.name.as_str(), all(arguments)),
        Selector::CellAttribute { attribute, of } => format!("{}({})", attribute.text(), result_name(of)),
        Selector::Cast { value, type_name } => format!("cast({} as {})", result_name(value), type_name.text()),
        Selector::TypeHint { type_name, value } => format!("({type_name}){}", result_name(value)),
        Selector::Field { of, field } => format!("{}.{}", result_name(of), field.as_str()),
        Selector::Element { of, key } => format!("{}[{key}]", result_name(of)),
        Selector::Arithmetic { operator, left, right } => format!("{} {} {}", result_name(left), operator.sign(), result_name(right)),
        Selector::Negation(value) => format!("-{}", result_name(value)),
        Selector::List(parts) => format!("[{}]", all(parts)),
        Selector::Set(parts) => format!("{{{}}}", all(parts)),
        Selector::Tuple(parts) => format!("({})", all(parts)),
        Selector::Map(entries) => {
            let entries: Vec<_> = entries.iter().map(|(key, value)| format!("{}: {}", result_name(key), result_name(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Selector::Column(_) | Selector::Literal(_) | Selector::Marker(_) | Selector::CountRows | Selector::Slice { .. } => {
            selector.to_string()
        }
    }
}
