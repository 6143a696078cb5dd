//! Functions and aggregates in the schema blob.

use super::Inconsistency;
use super::types::{Resolver, TypeDocument};
use crate::function::{Function, Functions, NullInput, UserAggregate};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FunctionDocument {
    name: String,
    arguments: Vec<(String, TypeDocument)>,
    returns: TypeDocument,
    called_on_null: bool,
    language: String,
    body: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AggregateDocument {
    name: String,
    arguments: Vec<TypeDocument>,
    state_type: TypeDocument,
    state_function: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reduce_function: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    final_function: Option<String>,
    /// Hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initial: Option<String>,
    returns: TypeDocument,
}

impl FunctionDocument {
    pub(super) fn of(function: &Function) -> Self {
        Self {
            name: function.name.clone(),
            arguments: function.arguments.iter().map(|(name, data_type)| (name.clone(), TypeDocument::of(data_type))).collect(),
            returns: TypeDocument::of(&function.returns),
            called_on_null: function.null_input == NullInput::Called,
            language: function.language.clone(),
            body: function.body.clone(),
        }
    }

    fn into_function(self, resolver: &mut Resolver<'_>) -> Result<Function, Inconsistency> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for (name, data_type) in self.arguments {
            arguments.push((name, resolver.data_type(data_type, 0)?));
        }
        Ok(Function {
            keyspace: resolver.keyspace.to_owned(),
            name: self.name,
            arguments,
            returns: resolver.data_type(self.returns, 0)?,
            null_input: if self.called_on_null { NullInput::Called } else { NullInput::ReturnsNull },
            language: self.language,
            body: self.body,
        })
    }
}

impl AggregateDocument {
    pub(super) fn of(aggregate: &UserAggregate) -> Self {
        let hex = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            name: aggregate.name.clone(),
            arguments: aggregate.arguments.iter().map(TypeDocument::of).collect(),
            state_type: TypeDocument::of(&aggregate.state_type),
            state_function: aggregate.state_function.clone(),
            reduce_function: aggregate.reduce_function.clone(),
            final_function: aggregate.final_function.clone(),
            initial: aggregate.initial.as_ref().map(hex),
            returns: TypeDocument::of(&aggregate.returns),
        }
    }

    fn into_aggregate(self, resolver: &mut Resolver<'_>) -> Result<UserAggregate, Inconsistency> {
        Ok(UserAggregate {
            keyspace: resolver.keyspace.to_owned(),
            name: self.name,
            arguments: self.arguments.into_iter().map(|data_type| resolver.data_type(data_type, 0)).collect::<Result<_, _>>()?,
            state_type: resolver.data_type(self.state_type, 0)?,
            state_function: self.state_function,
            reduce_function: self.reduce_function,
            final_function: self.final_function,
            initial: self.initial.map(|digits| bytes(&digits).ok_or(Inconsistency::Initial)).transpose()?,
            returns: resolver.data_type(self.returns, 0)?,
        })
    }
}

/// The bytes that hexadecimal digits say.
pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?, 16).ok()).collect()
}

/// The functions and aggregates of a keyspace, or the name of one that cannot be.
pub(super) fn functions(
    functions: Vec<FunctionDocument>,
    aggregates: Vec<AggregateDocument>,
    resolver: &mut Resolver<'_>,
) -> Result<Functions, (String, Inconsistency)> {
    let mut all = Functions::default();
    for document in functions {
        let name = document.name.clone();
        let function = document.into_function(resolver).map_err(|fault| (name.clone(), fault))?;
        if all.function(&name, &function.argument_types()).is_some() {
            return Err((name, Inconsistency::NameTwice));
        }
        all.put_function(function);
    }
    for document in aggregates {
        let name = document.name.clone();
        let aggregate = document.into_aggregate(resolver).map_err(|fault| (name.clone(), fault))?;
        if all.aggregate(&name, &aggregate.arguments).is_some() || all.function(&name, &aggregate.arguments).is_some() {
            return Err((name, Inconsistency::NameTwice));
        }
        if all.function(&aggregate.state_function, &aggregate.state_arguments()).is_none() {
            return Err((name, Inconsistency::StateFunction));
        }
        all.put_aggregate(aggregate);
    }
    Ok(all)
}
