//! What stands before FROM: selectors become expressions over sources.

use super::literal::may_be;
use super::reads::Reads;
use crate::language::ast::{self, CellAttribute, Selection, Selector};
use crate::plan::call_planner::operator_of;
use crate::plan::columns::find_column;
use crate::plan::term_planner::{assignable, neutral};
use crate::plan::{Aggregate, Expression, Output, Planner, Source, Stamps};
use crate::value::function::{self, Argument, FunctionError, FunctionSpec};
use crate::{CqlError, ddl};
use model::{ColumnKind, DataType, Frozen, Keyspace};
use std::sync::Arc;

/// The outputs of a SELECT.
#[derive(Default)]
pub(super) struct Selected {
    pub(super) outputs: Vec<Output>,
    pub(super) aggregates: Vec<Aggregate>,
}

/// A selector as far as it could be planned by itself.
pub(super) enum Operand<'s> {
    Planned(Expression, DataType),
    Literal(&'s ast::Literal),
    /// A marker or a collection: its type comes from what takes it.
    Untyped,
}

fn invalid(error: FunctionError) -> CqlError {
    CqlError::Invalid(error.to_string())
}

impl Planner<'_> {
    /// Plans the outputs of `statement`.
    pub(super) fn selection(&mut self, statement: &ast::Select, reads: &mut Reads) -> Result<Selected, CqlError> {
        let mut selected = Selected::default();
        match &statement.selection {
            Selection::Wildcard => {
                let table = Arc::clone(&reads.table);
                for (position, column) in table.columns.iter().enumerate() {
                    let source = reads.column(position);
                    let expression = Expression::Source(reads.source(source));
                    selected.outputs.push(Output { name: column.name.clone(), data_type: column.data_type.clone(), expression });
                }
            }
            Selection::Selectors(items) => {
                for item in items {
                    let (expression, data_type) = self.selector(&item.selector, None, reads, &mut selected.aggregates)?;
                    let name = match (&item.alias, &item.selector) {
                        (Some(alias), _) => alias.as_str().to_owned(),
                        (None, Selector::Cast { value, .. }) if self.has_type(value, &data_type, reads)? => self.result_name(value),
                        (None, selector) => self.result_name(selector),
                    };
                    selected.outputs.push(Output { name, data_type, expression });
                }
            }
        }
        Ok(selected)
    }

    fn result_name(&self, selector: &Selector) -> String {
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

    /// Whether a selector is of this type by itself.
    fn has_type(&mut self, selector: &Selector, data_type: &DataType, reads: &mut Reads) -> Result<bool, CqlError> {
        Ok(matches!(self.operand(selector, reads, &mut Vec::new())?, Operand::Planned(_, own) if own == *data_type))
    }

    /// Plans one selector; `receiver` is the type that what it stands in wants.
    pub(super) fn selector(
        &mut self,
        selector: &Selector,
        receiver: Option<&DataType>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        match selector {
            Selector::Column(name) => {
                let table = Arc::clone(&reads.table);
                let (position, column) = find_column(&table, name)?;
                let source = reads.column(position);
                Ok((Expression::Source(reads.source(source)), column.data_type.clone()))
            }
            Selector::Literal(literal) => {
                let receiver = receiver.ok_or_else(|| cannot_infer(selector))?;
                let term = self.term(&ast::Term::Literal(literal.clone()), receiver, "[selection]")?;
                Ok((Expression::Term(term), receiver.clone()))
            }
            Selector::Marker(marker) => {
                let receiver = receiver.ok_or_else(|| cannot_infer(selector))?;
                Ok((Expression::Term(self.mark(marker.index, "[selection]", receiver)), receiver.clone()))
            }
            Selector::CountRows => {
                aggregates.push(Aggregate::CountRows);
                Ok((Expression::Aggregate(aggregates.len() - 1), DataType::BigInt))
            }
            Selector::Function { name, arguments } => self.function_selector(name, arguments, receiver, reads, aggregates),
            Selector::CellAttribute { attribute, of } => self.cell_attribute(*attribute, of, reads),
            Selector::Cast { value, type_name } => self.cast(value, ddl::native_type(*type_name), reads, aggregates),
            Selector::TypeHint { type_name, value } => {
                let hinted = ddl::resolve_type(type_name, self.type_keyspace(), self.schema)?;
                let (expression, own) = self.selector(value, Some(&hinted), reads, aggregates)?;
                if !assignable(&own, &hinted) {
                    return Err(CqlError::Invalid(format!("Cannot assign value {value} to {selector} of type {hinted}")));
                }
                Ok((expression, hinted))
            }
            Selector::Field { of, field } => {
                let (expression, whole) = self.selector(of, None, reads, aggregates)?;
                let DataType::Udt(user, _) = &whole else {
                    return Err(CqlError::Invalid(format!("Invalid field selection: {of} of type {whole} is not a user type")));
                };
                let number = user.fields.iter().position(|(name, _)| name == field.as_str());
                let number = number.ok_or_else(|| CqlError::Invalid(format!("{of} of type {whole} has no field {field}")))?;
                let field_type = user.fields[number].1.clone();
                Ok((Expression::Field(Box::new(expression), number), field_type))
            }
            Selector::Element { of, key } => {
                let (expression, whole) = self.selector(of, None, reads, aggregates)?;
                let (key_type, element) = element_types(of, &whole, "element")?;
                let term = self.term(key, &key_type, &part_name(of, &whole))?;
                Ok((Expression::Element(Box::new(expression), whole, term), element))
            }
            Selector::Slice { of, from, to } => {
                let (expression, whole) = self.selector(of, None, reads, aggregates)?;
                let (key_type, _) = element_types(of, &whole, "slice")?;
                let mut end =
                    |term: &Option<ast::Term>| term.as_ref().map(|term| self.term(term, &key_type, &part_name(of, &whole))).transpose();
                let (from, to) = (end(from)?, end(to)?);
                Ok((Expression::Slice(Box::new(expression), whole.clone(), from, to), whole.frozen()))
            }
            Selector::Arithmetic { operator, left, right } => {
                let operands = [(&**left, self.operand(left, reads, aggregates)?), (&**right, self.operand(right, reads, aggregates)?)];
                let found = function::operator(operator_of(*operator), argument(&operands[0].1), argument(&operands[1].1), receiver)
                    .map_err(|error| invalid(error.with_operands(left, right)))?;
                self.function_call(found, operands.into(), reads, aggregates)
            }
            Selector::Negation(value) => {
                let operand = self.operand(value, reads, aggregates)?;
                let found = function::negation(argument(&operand), receiver).map_err(invalid)?;
                self.function_call(found, vec![(value, operand)], reads, aggregates)
            }
            Selector::Tuple(parts) if parts.len() == 1 && !matches!(receiver, Some(DataType::Tuple(_))) => {
                self.selector(&parts[0], receiver, reads, aggregates)
            }
            Selector::List(_) | Selector::Set(_) | Selector::Map(_) | Selector::Tuple(_) => {
                let whole = match receiver {
                    Some(receiver) => receiver.clone(),
                    None => self.natural_type(selector, reads)?,
                };
                let expression = self.composed(selector, &whole, reads, aggregates)?;
                Ok((expression, whole))
            }
        }
    }

    /// `CAST(value AS to)`
    fn cast(
        &mut self,
        value: &Selector,
        to: DataType,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let (expression, from) = match self.operand(value, reads, aggregates)? {
            Operand::Planned(expression, from) => (expression, from),
            Operand::Literal(literal) => {
                let from = neutral(literal).map(|literal| literal.natural_type()).ok_or_else(|| cannot_infer(value))?;
                self.selector(value, Some(&from), reads, aggregates)?
            }
            Operand::Untyped => return Err(cannot_infer(value)),
        };
        if from == to {
            return Ok((expression, to));
        }
        let cast = function::cast(&from, &to).map_err(|_| CqlError::Invalid(format!("{value} cannot be cast to {to}")))?;
        Ok((Expression::Call(cast, vec![expression]), to))
    }

    /// `WRITETIME(c)` and the like: of a column of several cells a list, of one of its parts one.
    fn cell_attribute(&mut self, attribute: CellAttribute, of: &Selector, reads: &mut Reads) -> Result<(Expression, DataType), CqlError> {
        let table = Arc::clone(&reads.table);
        let function = match attribute {
            CellAttribute::WriteTime => "writetime",
            CellAttribute::MaxWriteTime => "maxwritetime",
            CellAttribute::Ttl => "ttl",
        };
        let whole = match of {
            Selector::Element { of, .. } | Selector::Field { of, .. } | Selector::Slice { of, .. } => of,
            whole => whole,
        };
        let Selector::Column(name) = whole else {
            return Err(CqlError::Invalid(format!("Selection function {function} cannot be used on {of}")));
        };
        let (position, column) = find_column(&table, name)?;
        if matches!(column.kind, ColumnKind::PartitionKey | ColumnKind::Clustering) {
            return Err(CqlError::Invalid(format!("Cannot use selection function {function} on PRIMARY KEY part {}", column.name)));
        }
        let cell = reads.cell(position);
        let stamp_type = if attribute == CellAttribute::Ttl { DataType::Int } else { DataType::BigInt };
        let (of_cell, of_parts) = match attribute {
            CellAttribute::WriteTime | CellAttribute::MaxWriteTime => (Source::WriteTime(cell), Source::WriteTimes(cell)),
            CellAttribute::Ttl => (Source::TimeToLive(cell), Source::TimesToLive(cell)),
        };
        // All parts of a frozen value were written at once, and the latest of a whole column is known without its parts.
        let is_whole = matches!(of, Selector::Column(_));
        if !is_whole {
            // There must be such a part.
            self.selector(of, None, reads, &mut Vec::new())?;
        }
        if !column.data_type.is_multi_cell() || (is_whole && attribute == CellAttribute::MaxWriteTime) {
            return Ok((Expression::Source(reads.source(of_cell)), stamp_type));
        }
        let stamps = Box::new(Expression::Source(reads.source(of_parts)));
        let by_part = match &column.data_type {
            DataType::Map(key, ..) | DataType::Set(key, _) => DataType::Map(Arc::clone(key), Arc::new(stamp_type.clone()), Frozen::Yes),
            whole => whole.clone(),
        };
        let list = DataType::List(Arc::new(stamp_type.clone()), Frozen::No);
        Ok(match (of, &column.data_type) {
            (Selector::Column(_), DataType::List(..)) => (Expression::Stamps(stamps, Stamps::OfList), list),
            (Selector::Column(_), DataType::Udt(..)) => (Expression::Stamps(stamps, Stamps::OfFields), list),
            (Selector::Column(_), _) => (Expression::Stamps(stamps, Stamps::OfMap), list),
            (Selector::Field { .. }, DataType::Udt(user, _)) => {
                let (expression, _) = self.selector(of, None, reads, &mut Vec::new())?;
                let Expression::Field(_, number) = expression else {
                    return Err(CqlError::Invalid(format!("{} has no such field", user.name)));
                };
                (Expression::Field(stamps, number), stamp_type)
            }
            (Selector::Element { key, .. }, whole) => {
                let (key_type, _) = element_types(of, whole, "element")?;
                let key = self.term(key, &key_type, &format!("key({})", column.name))?;
                let element = Expression::Element(stamps, by_part, key);
                (Expression::Stamps(Box::new(element), Stamps::One), stamp_type)
            }
            (Selector::Slice { from, to, .. }, whole) => {
                let (key_type, _) = element_types(of, whole, "slice")?;
                let name = format!("key({})", column.name);
                let from = from.as_ref().map(|term| self.term(term, &key_type, &name)).transpose()?;
                let to = to.as_ref().map(|term| self.term(term, &key_type, &name)).transpose()?;
                let slice = Expression::Slice(stamps, by_part, from, to);
                (Expression::Stamps(Box::new(slice), Stamps::OfMap), list)
            }
            _ => return Err(CqlError::Invalid(format!("Selection function {function} cannot be used on {of}"))),
        })
    }

    /// Plans what a function, cast or operator is applied to, if it says its type itself.
    pub(super) fn operand<'s>(
        &mut self,
        selector: &'s Selector,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<Operand<'s>, CqlError> {
        Ok(match selector {
            Selector::Literal(literal) => Operand::Literal(literal),
            Selector::Marker(_) | Selector::List(_) | Selector::Set(_) | Selector::Map(_) => Operand::Untyped,
            Selector::Tuple(parts) if parts.len() == 1 => return self.operand(&parts[0], reads, aggregates),
            Selector::Tuple(_) => Operand::Untyped,
            other => {
                let (expression, data_type) = self.selector(other, None, reads, aggregates)?;
                Operand::Planned(expression, data_type)
            }
        })
    }

    fn function_selector(
        &mut self,
        name: &ast::FunctionName,
        arguments: &[Selector],
        receiver: Option<&DataType>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        if name.name == "token" && name.keyspace.as_ref().is_none_or(|keyspace| keyspace.as_str() == "system") {
            let table = Arc::clone(&reads.table);
            if arguments.len() != table.partition_key_len {
                return Err(CqlError::Invalid(format!(
                    "Invalid number of arguments in call to function system.token: {} required but {} provided",
                    table.partition_key_len,
                    arguments.len()
                )));
            }
            let mut parts = Vec::with_capacity(arguments.len());
            for (position, (argument, column)) in arguments.iter().zip(table.partition_key()).enumerate() {
                let (expression, own) = self.selector(argument, Some(&column.data_type), reads, aggregates)?;
                if !assignable(&own, &column.data_type) {
                    return Err(CqlError::Invalid(format!(
                        "Type error: {argument} cannot be passed as argument {position} of function system.token of type {}",
                        column.data_type
                    )));
                }
                parts.push(expression);
            }
            return Ok((Expression::Token(table, parts), DataType::BigInt));
        }
        let aggregates_before = aggregates.len();
        let mut operands = Vec::with_capacity(arguments.len());
        for argument in arguments {
            operands.push((argument, self.operand(argument, reads, aggregates)?));
        }
        let types: Vec<Argument<'_>> = operands.iter().map(|(selector, operand)| argument_of(selector, operand)).collect();
        let found = self.resolve_function(name, &types, receiver)?;
        if found.is_aggregate() && aggregates.len() > aggregates_before {
            return Err(CqlError::invalid("aggregate functions cannot be used as arguments of aggregate functions"));
        }
        self.function_call(found, operands, reads, aggregates)
    }

    /// A call of `function` with operands, those without a type of their own being of its arguments' types.
    fn function_call(
        &mut self,
        function: FunctionSpec,
        operands: Vec<(&Selector, Operand<'_>)>,
        reads: &mut Reads,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<(Expression, DataType), CqlError> {
        let mut arguments = Vec::with_capacity(operands.len());
        for (position, ((selector, operand), argument_type)) in operands.into_iter().zip(function.arguments()).enumerate() {
            if !may_be(selector, argument_type) {
                return Err(CqlError::Invalid(format!(
                    "Type error: {selector} cannot be passed as argument {position} of function {} of type {argument_type}",
                    function.signature().full_name()
                )));
            }
            arguments.push(match operand {
                Operand::Planned(expression, _) => expression,
                Operand::Literal(_) | Operand::Untyped => self.selector(selector, Some(argument_type), reads, aggregates)?.0,
            });
        }
        let result = function.result().clone();
        self.note_call(&function);
        if !function.is_aggregate() {
            return Ok((Expression::Call(function, arguments), result));
        }
        let counts_rows = arguments.is_empty() && function.user().is_none();
        aggregates.push(if counts_rows { Aggregate::CountRows } else { Aggregate::Of(Box::new(function), arguments) });
        Ok((Expression::Aggregate(aggregates.len() - 1), result))
    }
}

fn argument<'a>(operand: &'a Operand<'_>) -> Argument<'a> {
    match operand {
        Operand::Planned(_, data_type) => Argument::Type(data_type),
        Operand::Literal(literal) => neutral(literal).map_or(Argument::Unknown, Argument::Literal),
        Operand::Untyped => Argument::Unknown,
    }
}

/// The same of a function, of which a list literal may be a vector.
fn argument_of<'a>(selector: &Selector, operand: &'a Operand<'_>) -> Argument<'a> {
    match (operand, selector) {
        (Operand::Untyped, Selector::List(elements)) => Argument::List(elements.len()),
        (Operand::Untyped, Selector::Set(_) | Selector::Map(_) | Selector::Tuple(_)) => Argument::Composed,
        _ => argument(operand),
    }
}

pub(super) fn cannot_infer(selector: &Selector) -> CqlError {
    CqlError::Invalid(format!("Cannot infer type for term {selector} in selection clause (try using a cast to force a type)"))
}

/// What messages and markers call a part of a set or map.
fn part_name(of: &Selector, whole: &DataType) -> String {
    if matches!(whole, DataType::Set(..)) { format!("value({of})") } else { format!("key({of})") }
}

/// The types of key and element of a set or map.
fn element_types(of: &Selector, whole: &DataType, what: &str) -> Result<(DataType, DataType), CqlError> {
    match whole {
        DataType::Map(key, value, _) => Ok(((**key).clone(), (**value).clone())),
        DataType::Set(element, _) => Ok(((**element).clone(), (**element).clone())),
        DataType::List(..) => {
            let capital = if what == "slice" { "Slice" } else { "Element" };
            Err(CqlError::Invalid(format!("{capital} selection is only allowed on sets and maps, but {of} is a list")))
        }
        other => Err(CqlError::Invalid(format!("Invalid {what} selection: {of} is of type {other} is not a collection"))),
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
