//! CREATE, ALTER and DROP TYPE. A user type that changes changes in every type and table of its keyspace that has it.

use super::DdlError;
use super::change::{Context, Outcome, SchemaEventTarget};
use super::error::TypeError;
use super::types::{TypeResolver, names_any, qualified_text, refers_to, with_user_types};
use crate::language::ast::{self, AlterTypeOperation, Identifier, NativeType, TypeName};
use crate::wire::ChangeKind;
use model::{Column, DataType, Frozen, Keyspace, Table, UserType};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

pub(super) fn create(context: &Context<'_>, statement: &ast::CreateType) -> Result<Outcome, DdlError> {
    let name = statement.name.name.as_str();
    let mut names = HashSet::new();
    if let Some((twice, _)) = statement.fields.iter().find(|(field, _)| !names.insert(field.as_str())) {
        return Err(TypeError::FieldTwice { field: twice.as_str().to_owned(), name: name.to_owned() }.into());
    }
    let keyspace = context.existing_keyspace(statement.name.keyspace.as_ref())?;
    if keyspace.types.contains_key(name) {
        return if statement.if_not_exists { Ok(Outcome::unchanged()) } else { Err(DdlError::TypeExists(name.to_owned())) };
    }
    let fields: Vec<_> = statement
        .fields
        .iter()
        .map(|(field, type_name)| Ok((field.as_str().to_owned(), field_type(keyspace, type_name)?)))
        .collect::<Result<_, DdlError>>()?;
    let user = Arc::new(UserType { keyspace: keyspace.name.clone(), name: name.to_owned(), fields });
    check_size(&user)?;
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.types.insert(name.to_owned(), user);
    Ok(context.with_keyspace(keyspace, ChangeKind::Created, SchemaEventTarget::Type(name.to_owned())))
}

pub(super) fn alter(context: &Context<'_>, statement: &ast::AlterType) -> Result<Outcome, DdlError> {
    let name = statement.name.name.as_str();
    let keyspace_name = context.keyspace_name(statement.name.keyspace.as_ref())?;
    let found = context.schema.keyspaces.get(keyspace_name).and_then(|keyspace| Some((keyspace, keyspace.types.get(name)?)));
    let Some((keyspace, former)) = found else {
        let unknown = DdlError::UnknownAlteredType { keyspace: keyspace_name.to_owned(), name: name.to_owned() };
        return if statement.if_exists { Ok(Outcome::unchanged()) } else { Err(unknown) };
    };
    let user = match &statement.operation {
        AlterTypeOperation::Add { if_not_exists, field, type_name } => add(keyspace, former, field, type_name, *if_not_exists)?,
        AlterTypeOperation::Rename { if_exists, fields } => rename(former, fields, *if_exists)?,
        AlterTypeOperation::AlterType { .. } => return Err(TypeError::AlterFieldType.into()),
    };
    if user == **former {
        return Ok(Outcome::unchanged());
    }
    let keyspace = with_type(keyspace, Arc::new(user))?;
    Ok(context.with_keyspace(keyspace, ChangeKind::Updated, SchemaEventTarget::Type(name.to_owned())))
}

pub(super) fn drop(context: &Context<'_>, statement: &ast::DropType) -> Result<Outcome, DdlError> {
    let name = statement.name.name.as_str();
    let keyspace_name = context.keyspace_name(statement.name.keyspace.as_ref())?;
    let Some(keyspace) = context.schema.keyspaces.get(keyspace_name).filter(|keyspace| keyspace.types.contains_key(name)) else {
        let unknown = DdlError::UnknownDroppedType { keyspace: keyspace_name.to_owned(), name: name.to_owned() };
        return if statement.if_exists { Ok(Outcome::unchanged()) } else { Err(unknown) };
    };
    let functions = keyspace.functions.functions().filter(|function| function.types().any(|data_type| refers_to(data_type, name)));
    let aggregates = keyspace.functions.aggregates().filter(|aggregate| aggregate.types().any(|data_type| refers_to(data_type, name)));
    let users: Vec<&str> =
        functions.map(|function| function.name.as_str()).chain(aggregates.map(|aggregate| aggregate.name.as_str())).collect();
    if !users.is_empty() {
        let users = users.iter().map(|user| format!("{}.{user}", keyspace.name)).collect::<Vec<_>>().join(", ");
        return Err(TypeError::TypeUsedByFunctions { keyspace: keyspace.name.clone(), name: name.to_owned(), users }.into());
    }
    let types = keyspace.types.values().filter(|user| user.fields.iter().any(|(_, field)| refers_to(field, name)));
    let users: Vec<&str> = types.map(|user| user.name.as_str()).collect();
    if !users.is_empty() {
        return Err(TypeError::TypeUsedByTypes { keyspace: keyspace.name.clone(), name: name.to_owned(), users: users.join(", ") }.into());
    }
    let tables = keyspace.tables.values().filter(|table| table.columns.iter().any(|column| refers_to(&column.data_type, name)));
    let users: Vec<&str> = tables.map(|table| table.name.as_str()).collect();
    if !users.is_empty() {
        return Err(TypeError::TypeUsedByTables { keyspace: keyspace.name.clone(), name: name.to_owned(), users: users.join(", ") }.into());
    }
    let mut keyspace = Keyspace::clone(keyspace);
    keyspace.types.remove(name);
    Ok(context.with_keyspace(keyspace, ChangeKind::Dropped, SchemaEventTarget::Type(name.to_owned())))
}

fn field_type(keyspace: &Keyspace, type_name: &TypeName) -> Result<DataType, DdlError> {
    match type_name {
        TypeName::Native(NativeType::Counter) => return Err(TypeError::CounterField.into()),
        TypeName::User(_) => return Err(TypeError::UserTypeField.into()),
        _ => {}
    }
    TypeResolver { keyspace: Some(&keyspace.name), types: Some(&keyspace.types) }.resolve(type_name)
}

fn check_size(user: &Arc<UserType>) -> Result<(), DdlError> {
    let is_small = DataType::Udt(Arc::clone(user), Frozen::Yes).is_within_bounds();
    if is_small { Ok(()) } else { Err(DdlError::TypeTooLarge { data_type: user.name.clone() }) }
}

fn add(
    keyspace: &Keyspace,
    former: &UserType,
    field: &Identifier,
    type_name: &TypeName,
    if_not_exists: bool,
) -> Result<UserType, DdlError> {
    let (keyspace_name, name, field) = (keyspace.name.clone(), former.name.clone(), field.as_str().to_owned());
    let data_type = field_type(keyspace, type_name)?;
    if refers_to(&data_type, &former.name) {
        return Err(TypeError::CircularType { keyspace: keyspace_name, name, field, data_type: qualified_text(&data_type) }.into());
    }
    let is_used = |table: &&Arc<Table>| table.partition_key().iter().any(|column| refers_to(&column.data_type, &former.name));
    let tables: Vec<String> = keyspace.tables.values().filter(is_used).map(|table| format!("{}.{}", table.keyspace, table.name)).collect();
    if !tables.is_empty() {
        let (tables, data_type) = (tables.join(", "), qualified_text(&data_type));
        return Err(TypeError::TypeInPartitionKey { keyspace: keyspace_name, name, field, data_type, tables }.into());
    }
    let mut user = former.clone();
    if user.fields.iter().any(|(other, _)| *other == field) {
        return if if_not_exists { Ok(user) } else { Err(DdlError::Type(TypeError::FieldExists { keyspace: keyspace_name, name, field })) };
    }
    user.fields.push((field, data_type));
    Ok(user)
}

/// All renames at once, so that names can be swapped.
fn rename(former: &UserType, fields: &[(Identifier, Identifier)], if_exists: bool) -> Result<UserType, DdlError> {
    let mut user = former.clone();
    for (from, to) in fields {
        let position = former.fields.iter().position(|(field, _)| field == from.as_str());
        match position.and_then(|position| user.fields.get_mut(position)) {
            Some((field, _)) => *field = to.as_str().to_owned(),
            None if if_exists => {}
            None => {
                let (keyspace, name) = (former.keyspace.clone(), former.name.clone());
                return Err(TypeError::UnknownField { keyspace, name, field: from.as_str().to_owned() }.into());
            }
        }
    }
    let mut names = HashSet::new();
    if let Some((twice, _)) = user.fields.iter().find(|(field, _)| !names.insert(field.as_str())) {
        return Err(TypeError::RenamedFieldTwice { field: twice.clone(), name: former.name.clone() }.into());
    }
    Ok(user)
}

/// `keyspace` with `user` in place of the type of its name, in every type and table.
fn with_type(keyspace: &Keyspace, user: Arc<UserType>) -> Result<Keyspace, DdlError> {
    check_size(&user)?;
    let name = user.name.clone();
    let mut types = keyspace.types.clone();
    types.insert(name.clone(), user);
    let mut waiting: Vec<Arc<UserType>> = keyspace.types.values().filter(|user| user.name != name && has(user, &name)).cloned().collect();
    // A type is rebuilt once every type in it has been. No type contains itself, so each round rebuilds at least one, and there are no
    // more rounds than types have levels.
    while !waiting.is_empty() {
        let names: HashSet<String> = waiting.iter().map(|user| user.name.clone()).collect();
        let (later, ready): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|user| user.fields.iter().any(|(_, field)| names_any(field, &names)));
        assert!(!ready.is_empty(), "user types never contain themselves");
        for user in ready {
            let user = Arc::new(rebuilt(&user, &types));
            check_size(&user)?;
            types.insert(user.name.clone(), user);
        }
        waiting = later;
    }
    let mut keyspace = keyspace.clone();
    for table in keyspace.tables.values_mut() {
        if table.columns.iter().any(|column| types_of(column).any(|data_type| refers_to(data_type, &name))) {
            let mut changed = Table::clone(table);
            for column in &mut changed.columns {
                column.data_type = with_user_types(&column.data_type, &types);
                for argument in column.mask.as_mut().map(Arc::make_mut).iter_mut().flat_map(|mask| &mut mask.arguments) {
                    argument.data_type = with_user_types(&argument.data_type, &types);
                }
                if !column.data_type.is_within_bounds() {
                    return Err(DdlError::TypeTooLarge { data_type: name });
                }
            }
            *table = Arc::new(changed);
        }
    }
    keyspace.functions = keyspace.functions.with_types(|data_type| {
        let changed = with_user_types(data_type, &types);
        if changed.is_within_bounds() { Ok(changed) } else { Err(DdlError::TypeTooLarge { data_type: name.clone() }) }
    })?;
    keyspace.types = types;
    Ok(keyspace)
}

/// Its own type, and those of its mask's arguments.
fn types_of(column: &Column) -> impl Iterator<Item = &DataType> {
    let of_mask = column.mask.iter().flat_map(|mask| &mask.arguments).map(|argument| &argument.data_type);
    std::iter::once(&column.data_type).chain(of_mask)
}

fn has(user: &UserType, name: &str) -> bool {
    user.fields.iter().any(|(_, field)| refers_to(field, name))
}

fn rebuilt(user: &UserType, types: &BTreeMap<String, Arc<UserType>>) -> UserType {
    let fields = user.fields.iter().map(|(name, field)| (name.clone(), with_user_types(field, types))).collect();
    UserType { keyspace: user.keyspace.clone(), name: user.name.clone(), fields }
}
