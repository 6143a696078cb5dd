//! From a text to a [`Prepared`] statement.

use super::masked::{QueriedMasks, masked, queried};
use super::{Batch, BatchKind, Marker, Mask, Modify, Statement, ViewCondition, ViewPlan};
use crate::CqlError;
use crate::language::{self, ast};
use crate::plan::KeyTerm;
use crate::system::{is_system_keyspace, table as system_table};
use crate::value::function::UserSpec;
use crate::wire::{ProtocolVersion, ResultMetadata};
use md5::{Digest, Md5};
use model::{DataType, Function, Schema, Table, UserAggregate};
use std::sync::Arc;

/// A statement planned against one version of the schema.
#[derive(Debug)]
pub struct Prepared {
    /// What drivers execute it by: the MD5 of keyspace and text, as Cassandra computes it.
    pub id: [u8; 16],
    /// The plan.
    pub statement: Statement,
    /// Bind markers in text order.
    pub markers: Vec<Marker>,
    /// Keyspace and table, when there is one table.
    pub table: Option<(String, String)>,
    /// The markers that make the partition key, in key order, when markers do: drivers route by them.
    pub partition_key_markers: Vec<u16>,
    /// The text, to prepare it again after a schema change.
    pub text: String,
    /// The keyspace it was prepared in.
    pub keyspace: Option<String>,
    /// The schema it was planned against.
    pub schema_version: u128,
    /// What users have made and it calls.
    pub called: Vec<Called>,
    /// What is different for those who may not see masked columns; none of most statements.
    pub masking: Option<Box<Masking>>,
    /// Whether it shows masks in place of values.
    pub is_masked: bool,
}

/// What a statement is to those who may not see masked columns.
#[derive(Debug)]
pub struct Masking {
    /// The statement that they run instead; none if it shows no masked column.
    pub masked: Option<Arc<Prepared>>,
    /// The masked columns that it compares with something.
    pub queried: Vec<QueriedMasks>,
}

/// Plans one statement.
pub struct Planner<'a> {
    /// What names mean.
    pub(super) schema: &'a Schema,
    /// The connection's keyspace.
    pub(super) keyspace: Option<&'a str>,
    /// Names given with `:name`.
    names: Vec<Option<ast::Identifier>>,
    /// The table of the statement whose terms are planned.
    marker_table: Option<Arc<Table>>,
    /// Filled as terms are planned.
    markers: Vec<Option<Marker>>,
    /// Function calls planned so far.
    pub(super) calls: u16,
    /// The keyspace of the statement's table, where functions of users are looked for that name none.
    pub(super) function_keyspace: Option<String>,
    /// What `token()` takes in the statement's table; nothing where it is no value.
    pub(super) token_arguments: Vec<DataType>,
    /// What users have made and the statement calls.
    pub(super) called: Vec<Called>,
    /// Calls of functions of users among a modification's values.
    pub(super) user_calls: Vec<super::Term>,
}

/// Something that a user has made and a statement calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// A function.
    Function(Arc<Function>),
    /// An aggregate. Its functions are called, too.
    Aggregate(Arc<UserAggregate>),
}

impl Called {
    /// Whether a schema has it just so.
    #[must_use]
    pub fn is_of(&self, schema: &Schema) -> bool {
        let functions = |keyspace: &str| schema.keyspaces.get(keyspace).map(|keyspace| &keyspace.functions);
        match self {
            Self::Function(function) => {
                let known = functions(&function.keyspace).and_then(|known| known.function(&function.name, &function.argument_types()));
                known == Some(function)
            }
            Self::Aggregate(aggregate) => {
                let known = functions(&aggregate.keyspace).and_then(|known| known.aggregate(&aggregate.name, &aggregate.arguments));
                known == Some(aggregate)
            }
        }
    }
}

impl<'a> Planner<'a> {
    /// A planner of a statement with markers of these names.
    pub(super) fn new(schema: &'a Schema, keyspace: Option<&'a str>, names: Vec<Option<ast::Identifier>>) -> Self {
        let markers = vec![None; names.len()];
        Self {
            schema,
            keyspace,
            names,
            marker_table: None,
            markers,
            calls: 0,
            function_keyspace: None,
            token_arguments: Vec::new(),
            called: Vec::new(),
            user_calls: Vec::new(),
        }
    }
}

/// Parses and plans `text`.
///
/// # Errors
/// Syntax errors, unknown names, wrong types: in Cassandra's words.
pub fn prepare(schema: &Schema, keyspace: Option<&str>, text: &str) -> Result<Prepared, CqlError> {
    let parsed = language::parse(text).map_err(|error| CqlError::Syntax(error.to_string()))?;
    let mut planner = Planner::new(schema, keyspace, parsed.markers);
    let statement = planner.statement(parsed.statement)?;
    let called = std::mem::take(&mut planner.called);
    let markers = planner
        .markers
        .into_iter()
        .map(|marker| marker.ok_or_else(|| CqlError::invalid("A bind marker stands where no value can be bound")))
        .collect::<Result<Vec<_>, _>>()?;
    let (table, partitions): (Option<&Table>, Vec<&[KeyTerm]>) = match &statement {
        Statement::Select(plan) => (Some(&plan.table), vec![&plan.partition]),
        Statement::Modify(plan) => (Some(&plan.table), vec![&plan.partition]),
        Statement::Batch(batch) => match batch.statements.first() {
            Some(first) if batch.statements.iter().all(|other| other.table.id == first.table.id) => {
                (Some(&first.table), batch.statements.iter().map(|statement| &*statement.partition).collect())
            }
            _ => (None, Vec::new()),
        },
        _ => (None, Vec::new()),
    };
    let mut hasher = Md5::new();
    hasher.update(keyspace.unwrap_or_default().as_bytes());
    hasher.update(text.as_bytes());
    let prepared = Prepared {
        id: hasher.finalize().into(),
        partition_key_markers: partition_key_markers(table, &partitions),
        table: table.map(|table| (table.keyspace.clone(), table.name.clone())),
        statement,
        markers,
        text: text.to_owned(),
        keyspace: keyspace.map(str::to_owned),
        schema_version: schema.version,
        called,
        masking: None,
        is_masked: false,
    };
    Ok(Prepared { masking: masking(schema, &prepared)?, ..prepared })
}

/// What a statement is to those who may not see masked columns, if it is another one to them.
fn masking(schema: &Schema, prepared: &Prepared) -> Result<Option<Box<Masking>>, CqlError> {
    if !prepared.tables().any(|table| table.has_masks()) {
        return Ok(None);
    }
    let queried = queried(&prepared.statement);
    let masked = masked(schema, &prepared.statement)?.map(|(statement, masks)| {
        Arc::new(Prepared {
            id: prepared.id,
            partition_key_markers: prepared.partition_key_markers.clone(),
            table: prepared.table.clone(),
            statement,
            markers: prepared.markers.clone(),
            text: prepared.text.clone(),
            keyspace: prepared.keyspace.clone(),
            schema_version: prepared.schema_version,
            called: prepared.called.iter().cloned().chain(masks.iter().filter_map(|mask| called_by(mask))).collect(),
            masking: None,
            is_masked: true,
        })
    });
    Ok((masked.is_some() || !queried.is_empty()).then(|| Box::new(Masking { masked, queried })))
}

/// The function of a user that masks a column.
fn called_by(mask: &Mask) -> Option<Called> {
    match mask.function.user() {
        Some(UserSpec::Function(script)) => Some(Called::Function(Arc::clone(script.function()))),
        _ => None,
    }
}

/// The value of a term that needs no row and no marker; none is null.
///
/// # Errors
/// A term that is not of the type.
pub fn constant(schema: &Schema, keyspace: Option<&str>, term: &ast::Term, data_type: &DataType) -> Result<Option<Vec<u8>>, CqlError> {
    let mut planner = Planner::new(schema, keyspace, Vec::new());
    match planner.term(term, data_type, "(dummy)")? {
        super::Term::Null => Ok(None),
        super::Term::Constant(bytes) => Ok(Some(bytes.into())),
        _ => Err(CqlError::invalid("INITCOND must be a constant")),
    }
}

/// What a materialized view of `table` asks of its rows.
///
/// # Errors
/// What no view may ask for, in Cassandra's words.
pub fn view_conditions(table: &Table, clause: &ast::WhereClause) -> Result<Vec<ViewCondition>, CqlError> {
    let schema = Schema::empty();
    Planner::new(&schema, None, Vec::new()).view_conditions(table, clause)
}

/// The views of a table of the schema.
#[must_use]
pub fn view_plans(schema: &Schema, table: &Table) -> Arc<[ViewPlan]> {
    let plan = |view: &Arc<Table>| {
        let clause = language::parse_where(&view.view.as_ref()?.where_clause)?;
        Some(ViewPlan { table: Arc::clone(view), conditions: view_conditions(table, &clause).ok()? })
    };
    // What could be declared can be planned.
    schema.views_of(table).filter_map(plan).collect()
}

/// The markers of a partition key: of several for a column the last. None unless all columns have one.
fn partition_key_markers(table: Option<&Table>, partitions: &[&[KeyTerm]]) -> Vec<u16> {
    let marker_of = |term: &super::Term| if let super::Term::Bind(index) = term { Some(*index) } else { None };
    let mut markers = vec![None; table.map_or(0, |table| table.partition_key_len)];
    for partition in partitions {
        for (marker, term) in markers.iter_mut().zip(partition.iter()) {
            let last = match term {
                KeyTerm::Equal(term) => marker_of(term),
                KeyTerm::In(terms) => terms.iter().filter_map(marker_of).next_back(),
                KeyTerm::InList(_) => None,
            };
            *marker = last.or(*marker);
        }
    }
    markers.into_iter().collect::<Option<Vec<u16>>>().unwrap_or_default()
}

impl Planner<'_> {
    fn statement(&mut self, statement: ast::Statement) -> Result<Statement, CqlError> {
        use ast::Statement as S;
        Ok(match statement {
            S::Select(select) => Statement::Select(Arc::new(self.select(&select)?)),
            S::Insert(insert) => Statement::Modify(Arc::new(self.modification(&ast::Modification::Insert(insert))?)),
            S::Update(update) => Statement::Modify(Arc::new(self.modification(&ast::Modification::Update(update))?)),
            S::Delete(delete) => Statement::Modify(Arc::new(self.modification(&ast::Modification::Delete(delete))?)),
            S::Batch(batch) => Statement::Batch(self.batch(&batch)?),
            S::Truncate(truncate) => {
                let table = self.table(&truncate.table)?;
                if is_system_keyspace(&table.keyspace) {
                    return Err(CqlError::Unauthorized(format!("Cannot TRUNCATE a table of the system keyspace {}", table.keyspace)));
                }
                if table.view.is_some() {
                    return Err(CqlError::invalid("Cannot TRUNCATE materialized view directly; must truncate base table instead"));
                }
                check_writable(&table)?;
                Statement::Truncate(table)
            }
            S::Use(name) => {
                if !self.schema.keyspaces.contains_key(name.as_str()) && !is_system_keyspace(name.as_str()) {
                    return Err(CqlError::Invalid(format!("Keyspace '{}' does not exist", name.as_str())));
                }
                Statement::Use(name.as_str().to_owned())
            }
            S::Describe(describe) => Statement::Describe(Box::new(describe)),
            S::PruneView(_) => {
                return Err(CqlError::invalid("PRUNE MATERIALIZED VIEW finds nothing to do: views follow their tables at once"));
            }
            S::CreateView(_) if !self.names.is_empty() => {
                return Err(CqlError::invalid("Bind variables are not allowed in CREATE MATERIALIZED VIEW statements"));
            }
            other => Statement::Schema(Box::new(other)),
        })
    }

    fn modification(&mut self, statement: &ast::Modification) -> Result<Modify, CqlError> {
        let modify = match statement {
            ast::Modification::Insert(insert) => self.insert(insert)?,
            ast::Modification::Update(update) => self.update(update)?,
            ast::Modification::Delete(delete) => self.delete(delete)?,
        };
        Ok(Modify { user_calls: std::mem::take(&mut self.user_calls), ..modify })
    }

    fn batch(&mut self, batch: &ast::Batch) -> Result<Batch, CqlError> {
        let kind = match batch.kind {
            ast::BatchKind::Logged => BatchKind::Logged,
            ast::BatchKind::Unlogged => BatchKind::Unlogged,
            ast::BatchKind::Counter => BatchKind::Counter,
        };
        if batch.attributes.time_to_live.is_some() {
            return Err(CqlError::invalid("Global TTL on the BATCH statement is not supported."));
        }
        let timestamp = batch.attributes.timestamp.as_ref().map(|term| self.term(term, &DataType::BigInt, "[timestamp]")).transpose()?;
        let mut statements: Vec<Arc<Modify>> = Vec::with_capacity(batch.statements.len());
        for statement in &batch.statements {
            statements.push(Arc::new(self.modification(statement)?));
        }
        let counters = statements.iter().filter(|statement| statement.table.is_counter()).count();
        if timestamp.is_some() {
            let mistake = if statements.iter().any(|statement| statement.is_conditional()) {
                Some("Cannot provide custom timestamp for conditional BATCH")
            } else if kind == BatchKind::Counter {
                Some("Cannot provide custom timestamp for counter BATCH")
            } else if statements.iter().any(|statement| statement.timestamp.is_some()) {
                Some("Timestamp must be set either on BATCH or individual statements")
            } else {
                (counters > 0).then_some("Cannot provide custom timestamp for a BATCH containing counters")
            };
            if let Some(mistake) = mistake {
                return Err(CqlError::invalid(mistake));
            }
        }
        kind.check(counters, statements.len())?;
        Ok(Batch { kind, timestamp, statements })
    }

    /// The keyspace whose user types are meant: that of the statement's table.
    pub(super) fn type_keyspace(&self) -> Option<&str> {
        self.function_keyspace.as_deref().or(self.keyspace)
    }

    /// The table a statement names.
    pub(super) fn table(&mut self, name: &ast::QualifiedName) -> Result<Arc<Table>, CqlError> {
        let keyspace =
            name.keyspace.as_ref().map(ast::Identifier::as_str).or(self.keyspace).ok_or_else(|| {
                CqlError::invalid("No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename")
            })?;
        self.function_keyspace = Some(keyspace.to_owned());
        if let Some(table) = system_table(keyspace, name.name.as_str()) {
            self.marker_table = Some(Arc::clone(&table));
            return Ok(table);
        }
        if !self.schema.keyspaces.contains_key(keyspace) && !is_system_keyspace(keyspace) {
            return Err(CqlError::Invalid(format!("keyspace {keyspace} does not exist")));
        }
        let table = self.schema.table(keyspace, name.name.as_str()).cloned();
        let table = table.ok_or_else(|| CqlError::Invalid(format!("table {} does not exist", name.name.as_str())))?;
        // The tokens of record sets are those of their clients.
        let arguments = if table.records.is_none() { table.partition_key() } else { &[] };
        self.marker_table = Some(Arc::clone(&table));
        self.token_arguments = arguments.iter().map(|column| column.data_type.clone()).collect();
        Ok(table)
    }

    /// Notes what marker `index` must be bound with.
    pub(super) fn mark(&mut self, index: u16, name: &str, data_type: &DataType) -> super::Term {
        self.mark_with(index, name, data_type, false)
    }

    /// As [`Self::mark`]; `has_nulls` says whether a list may have nulls in it.
    pub(super) fn mark_with(&mut self, index: u16, name: &str, data_type: &DataType, has_nulls: bool) -> super::Term {
        let slot = usize::from(index);
        let name = self.names.get(slot).and_then(Option::as_ref).map_or(name, |given| given.as_str()).to_owned();
        if let Some(marker) = self.markers.get_mut(slot) {
            *marker = Some(Marker { name, table: self.marker_table.clone(), data_type: data_type.clone(), has_nulls });
        }
        super::Term::Bind(index)
    }
}

/// Refuses to write what only clients of another protocol may.
pub(super) fn check_writable(table: &Table) -> Result<(), CqlError> {
    if table.view.is_some() {
        return Err(CqlError::invalid("Cannot directly modify a materialized view"));
    }
    if table.is_container() {
        return Err(CqlError::Invalid(format!("{}.{} is a container: CQL reads it, GridDB clients write it", table.keyspace, table.name)));
    }
    if table.records.is_none() {
        return Ok(());
    }
    Err(CqlError::Invalid(format!("{}.{} is a record set: CQL reads it, Aerospike clients write it", table.keyspace, table.name)))
}

impl Prepared {
    /// The columns of the result; none for a statement whose result describes itself or that has none.
    #[must_use]
    pub fn result_metadata(&self, version: ProtocolVersion) -> ResultMetadata {
        match &self.statement {
            Statement::Select(plan) => plan.metadata(version).clone(),
            _ => ResultMetadata::none(),
        }
    }

    /// The tables that the statement is about.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let (one, many) = match &self.statement {
            Statement::Select(plan) => (Some(&plan.table), &[][..]),
            Statement::Modify(plan) => (Some(&plan.table), &[][..]),
            Statement::Truncate(table) => (Some(table), &[][..]),
            Statement::Batch(batch) => (None, batch.statements.as_slice()),
            _ => (None, &[][..]),
        };
        one.into_iter().chain(many.iter().map(|plan| &plan.table))
    }
}
