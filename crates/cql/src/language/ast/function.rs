//! CREATE and DROP of functions and aggregates.

use super::{
    name::{FunctionName, Identifier},
    term::Term,
    type_name::TypeName,
};

/// `CREATE [OR REPLACE] FUNCTION …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateFunction {
    /// The function.
    pub name: FunctionName,
    /// `OR REPLACE`
    pub or_replace: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// Names and types of its arguments.
    pub arguments: Vec<(Identifier, TypeName)>,
    /// What a null argument does.
    pub null_input: NullInput,
    /// `RETURNS type`
    pub returns: TypeName,
    /// `LANGUAGE …`, in lower case.
    pub language: Identifier,
    /// The source text.
    pub body: Box<str>,
}

/// What a function does with a null argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullInput {
    /// `CALLED ON NULL INPUT`
    Called,
    /// `RETURNS NULL ON NULL INPUT`
    ReturnsNull,
}

/// `DROP FUNCTION …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropFunction {
    /// The function.
    pub name: FunctionName,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The types of its arguments, if given.
    pub arguments: Option<Vec<TypeName>>,
}

/// `CREATE [OR REPLACE] AGGREGATE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateAggregate {
    /// The aggregate.
    pub name: FunctionName,
    /// `OR REPLACE`
    pub or_replace: bool,
    /// `IF NOT EXISTS`
    pub if_not_exists: bool,
    /// The types of its arguments.
    pub arguments: Vec<TypeName>,
    /// `SFUNC …`
    pub state_function: Identifier,
    /// `STYPE …`
    pub state_type: TypeName,
    /// `REDUCEFUNC …` (ScyllaDB)
    pub reduce_function: Option<Identifier>,
    /// `FINALFUNC …`
    pub final_function: Option<Identifier>,
    /// `INITCOND …`
    pub initial_condition: Option<Term>,
}

/// `DROP AGGREGATE …`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DropAggregate {
    /// The aggregate.
    pub name: FunctionName,
    /// `IF EXISTS`
    pub if_exists: bool,
    /// The types of its arguments, if given.
    pub arguments: Option<Vec<TypeName>>,
}
