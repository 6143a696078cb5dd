//! Functions and aggregates that users have made.

use crate::types::DataType;
use std::sync::Arc;

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The keyspace that it is in.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// Names and types of its arguments.
    pub arguments: Vec<(String, DataType)>,
    /// The type of its result.
    pub returns: DataType,
    /// What a null argument does.
    pub null_input: NullInput,
    /// The language of its body, in lower case.
    pub language: String,
    /// Its body.
    pub body: String,
}

impl Function {
    /// The language of functions that are modules of WebAssembly.
    pub const WASM: &str = "wasm";
}

/// What a function does with a null argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullInput {
    /// It is called.
    Called,
    /// The result is null.
    ReturnsNull,
}

/// An aggregate: a state that a function makes of the state before and a row's values, and what another one makes of the last state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAggregate {
    /// The keyspace that it and its functions are in.
    pub keyspace: String,
    /// Its name.
    pub name: String,
    /// The types of its arguments.
    pub arguments: Vec<DataType>,
    /// The type of its state.
    pub state_type: DataType,
    /// The function of the state and the arguments.
    pub state_function: String,
    /// The function of two states (ScyllaDB); kept, not called.
    pub reduce_function: Option<String>,
    /// The function of the last state.
    pub final_function: Option<String>,
    /// The first state, as wire bytes; null without.
    pub initial: Option<Vec<u8>>,
    /// The type of its result.
    pub returns: DataType,
}

/// The functions and aggregates of a keyspace. Both share names; of one name no two have the same argument types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    functions: Vec<Arc<Function>>,
    aggregates: Vec<Arc<UserAggregate>>,
}

/// Types as functions are told apart by them: whether they are frozen does not matter.
fn are_same<'a>(one: impl ExactSizeIterator<Item = &'a DataType>, two: &[DataType]) -> bool {
    one.len() == two.len() && one.zip(two).all(|(one, two)| one == two || one.frozen() == two.frozen())
}

impl Function {
    /// The types of its arguments.
    #[must_use]
    pub fn argument_types(&self) -> Vec<DataType> {
        self.arguments.iter().map(|(_, data_type)| data_type.clone()).collect()
    }

    /// Whether it takes arguments of these types.
    #[must_use]
    pub fn takes(&self, types: &[DataType]) -> bool {
        are_same(self.arguments.iter().map(|(_, data_type)| data_type), types)
    }

    /// The types of arguments and result.
    pub fn types(&self) -> impl Iterator<Item = &DataType> {
        self.arguments.iter().map(|(_, data_type)| data_type).chain([&self.returns])
    }
}

impl UserAggregate {
    /// Whether it takes arguments of these types.
    #[must_use]
    pub fn takes(&self, types: &[DataType]) -> bool {
        are_same(self.arguments.iter(), types)
    }

    /// The types of arguments, state and result.
    pub fn types(&self) -> impl Iterator<Item = &DataType> {
        self.arguments.iter().chain([&self.state_type, &self.returns])
    }

    /// What its state function takes.
    #[must_use]
    pub fn state_arguments(&self) -> Vec<DataType> {
        [&self.state_type].into_iter().chain(&self.arguments).cloned().collect()
    }

    /// Whether a function is a part of it.
    #[must_use]
    pub fn uses(&self, function: &Function) -> bool {
        let state = || std::slice::from_ref(&self.state_type);
        let is_state = function.name == self.state_function && function.takes(&self.state_arguments());
        let is_final = self.final_function.as_ref() == Some(&function.name) && function.takes(state());
        let is_reduce =
            self.reduce_function.as_ref() == Some(&function.name) && function.takes(&[self.state_type.clone(), self.state_type.clone()]);
        is_state || is_final || is_reduce
    }
}

impl Functions {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty() && self.aggregates.is_empty()
    }

    /// All functions, by name and types.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.functions.iter()
    }

    /// All aggregates likewise.
    pub fn aggregates(&self) -> impl Iterator<Item = &Arc<UserAggregate>> {
        self.aggregates.iter()
    }

    /// The functions of a name.
    pub fn functions_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<Function>> {
        self.functions.iter().filter(move |function| function.name == name)
    }

    /// The aggregates of a name.
    pub fn aggregates_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Arc<UserAggregate>> {
        self.aggregates.iter().filter(move |aggregate| aggregate.name == name)
    }

    /// The function of a name and types.
    #[must_use]
    pub fn function(&self, name: &str, types: &[DataType]) -> Option<&Arc<Function>> {
        self.functions.iter().find(|function| function.name == name && function.takes(types))
    }

    /// The aggregate of a name and types.
    #[must_use]
    pub fn aggregate(&self, name: &str, types: &[DataType]) -> Option<&Arc<UserAggregate>> {
        self.aggregates.iter().find(|aggregate| aggregate.name == name && aggregate.takes(types))
    }

    /// Puts a function into the place of the one of its name and types.
    pub fn put_function(&mut self, function: Function) {
        self.remove_function(&function.name, &function.argument_types());
        self.functions.push(Arc::new(function));
        let key = |function: &Arc<Function>| (function.name.clone(), texts(&function.argument_types()));
        self.functions.sort_by_cached_key(key);
    }

    /// The same of an aggregate.
    pub fn put_aggregate(&mut self, aggregate: UserAggregate) {
        self.remove_aggregate(&aggregate.name, &aggregate.arguments);
        self.aggregates.push(Arc::new(aggregate));
        self.aggregates.sort_by_cached_key(|aggregate| (aggregate.name.clone(), texts(&aggregate.arguments)));
    }

    /// Takes a function away.
    pub fn remove_function(&mut self, name: &str, types: &[DataType]) {
        self.functions.retain(|function| function.name != name || !function.takes(types));
    }

    /// Takes an aggregate away.
    pub fn remove_aggregate(&mut self, name: &str, types: &[DataType]) {
        self.aggregates.retain(|aggregate| aggregate.name != name || !aggregate.takes(types));
    }

    /// The same ones with other types in place of theirs.
    ///
    /// # Errors
    /// That of a type that cannot be changed.
    pub fn with_types<E>(&self, change: impl Fn(&DataType) -> Result<DataType, E>) -> Result<Self, E> {
        let mut changed = Self::default();
        for function in &self.functions {
            let mut function = Function::clone(function);
            for (_, data_type) in &mut function.arguments {
                *data_type = change(data_type)?;
            }
            function.returns = change(&function.returns)?;
            changed.put_function(function);
        }
        for aggregate in &self.aggregates {
            let mut aggregate = UserAggregate::clone(aggregate);
            for data_type in aggregate.arguments.iter_mut().chain([&mut aggregate.state_type, &mut aggregate.returns]) {
                *data_type = change(data_type)?;
            }
            changed.put_aggregate(aggregate);
        }
        Ok(changed)
    }
}

fn texts(types: &[DataType]) -> Vec<String> {
    types.iter().map(ToString::to_string).collect()
}
