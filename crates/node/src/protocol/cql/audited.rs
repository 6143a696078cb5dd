//! What the audit log tells of CQL: the kind of each statement, what it is about, its words without passwords, and how it ended.

use crate::audit::{Category, Event, Failure, Operation, RequestTag};
use cql::language::ast::{Modification, QualifiedName, Resource, Statement};
use cql::language::parse;
use cql::plan::{self, ModifyKind, Prepared};
use cql::wire::{FRAME_HEADER_BYTES, Frame, FrameHeader, Opcode, ResponseEnvelope, StreamId};
use std::sync::Arc;

/// As lines name it.
pub(super) const PROTOCOL: &str = "cql";

/// The code of [`cql::CqlError::Unauthorized`].
const UNAUTHORIZED: i32 = 0x2100;

/// A request's number on its connection.
pub(super) fn tag(stream: StreamId) -> RequestTag {
    RequestTag(u64::from(stream.0 as u16))
}

/// Which request a whole plain frame answers.
pub(super) fn tag_of(frame: &[u8]) -> Option<RequestTag> {
    let stream = frame.get(2..4)?;
    Some(tag(StreamId(i16::from_be_bytes([stream[0], stream[1]]))))
}

/// Code and message of the error that a reply tells of, if it is one.
fn read_error(frame: &[u8]) -> Option<(i32, &str)> {
    if frame.get(4) != Some(&(Opcode::Error as u8)) {
        return None;
    }
    let header = FrameHeader::parse(frame).ok()??;
    let (_, mut body) = ResponseEnvelope::read(&Frame { header, body: frame.get(FRAME_HEADER_BYTES..)? }).ok()?;
    Some((body.int().ok()?, body.string().ok()?))
}

/// The number of the error that a reply tells of, if it is one.
pub(super) fn error_of(frame: &[u8]) -> Option<i32> {
    read_error(frame).map(|(code, _)| code)
}

/// Why a request failed, if its reply says so.
pub(super) fn failure_of(frame: &[u8]) -> Option<Failure> {
    let (code, message) = read_error(frame)?;
    let message = message.to_owned();
    Some(if code == UNAUTHORIZED { Failure::Unauthorized(message) } else { Failure::Other(message) })
}

pub(super) fn of_plan(prepared: &Arc<Prepared>) -> Event {
    let (category, kind, table) = match &prepared.statement {
        plan::Statement::Select(plan) => (Category::Query, "SELECT", &plan.table),
        plan::Statement::Modify(plan) => (Category::Dml, kind_of(plan.kind), &plan.table),
        _ => return of_text(&prepared.text, prepared.keyspace.as_deref()),
    };
    Event {
        category,
        kind,
        keyspace: Some(table.keyspace.as_str().into()),
        object: Some(table.name.as_str().into()),
        operation: Operation::Prepared(Arc::clone(prepared)),
    }
}

fn kind_of(kind: ModifyKind) -> &'static str {
    match kind {
        ModifyKind::Insert => "INSERT",
        ModifyKind::Update => "UPDATE",
        ModifyKind::Delete => "DELETE",
    }
}

/// What a text is, also when it cannot be planned. What does not parse may be a statement with a password that has a mistake.
pub(super) fn of_text(text: &str, keyspace: Option<&str>) -> Event {
    let Ok(parsed) = parse(text) else {
        let operation = Operation::Masked(mask(text).into());
        return Event { category: Category::Error, kind: "UNKNOWN", keyspace: None, object: None, operation };
    };
    let (category, kind, object) = classify(&parsed.statement);
    let (keyspace, object) = match object {
        Object::None => (None, None),
        Object::Keyspace(name) => (Some(name), None),
        Object::Of(own, name) => (own.or(keyspace), Some(name)),
        Object::Plain(name) => (None, Some(name)),
    };
    let operation = if category == Category::Dcl { Operation::Masked(mask(text).into()) } else { Operation::Text(text.into()) };
    Event { category, kind, keyspace: keyspace.map(Into::into), object: object.map(Into::into), operation }
}

/// What a statement is about.
enum Object<'a> {
    None,
    Keyspace(&'a str),
    /// Something in a keyspace: that of the client if none is named.
    Of(Option<&'a str>, &'a str),
    /// Something in none, as a role.
    Plain(&'a str),
}

fn of(name: &QualifiedName) -> Object<'_> {
    Object::Of(name.keyspace.as_ref().map(|keyspace| keyspace.as_str()), name.name.as_str())
}

fn classify(statement: &Statement) -> (Category, &'static str, Object<'_>) {
    use Category::{Dcl, Ddl, Dml, Other, Query};
    match statement {
        Statement::Select(select) => (Query, "SELECT", of(&select.from)),
        Statement::Insert(insert) => (Dml, "INSERT", of(&insert.table)),
        Statement::Update(update) => (Dml, "UPDATE", of(&update.table)),
        Statement::Delete(delete) => (Dml, "DELETE", of(&delete.table)),
        Statement::Batch(batch) => (Dml, "BATCH", batch.statements.first().map_or(Object::None, of_modification)),
        Statement::Truncate(truncate) => (Ddl, "TRUNCATE", of(&truncate.table)),
        Statement::PruneView(prune) => (Dml, "PRUNE_MATERIALIZED_VIEW", of(&prune.view)),
        Statement::Use(name) => (Other, "USE_KEYSPACE", Object::Keyspace(name.as_str())),
        Statement::Describe(_) => (Other, "DESCRIBE", Object::None),
        Statement::Unsupported(_) => (Other, "UNSUPPORTED", Object::None),
        other => classify_access(other).map_or_else(|| classify_definition(other), |(kind, object)| (Dcl, kind, object)),
    }
}

fn of_modification(modification: &Modification) -> Object<'_> {
    match modification {
        Modification::Insert(insert) => of(&insert.table),
        Modification::Update(update) => of(&update.table),
        Modification::Delete(delete) => of(&delete.table),
    }
}

/// Statements about roles and permissions.
fn classify_access(statement: &Statement) -> Option<(&'static str, Object<'_>)> {
    Some(match statement {
        Statement::CreateRole(create) => ("CREATE_ROLE", Object::Plain(create.name.as_str())),
        Statement::AlterRole(alter) => ("ALTER_ROLE", Object::Plain(alter.name.as_str())),
        Statement::DropRole(drop) => ("DROP_ROLE", Object::Plain(drop.name.as_str())),
        Statement::GrantRole(grant) => ("GRANT", Object::Plain(grant.role.as_str())),
        Statement::RevokeRole(revoke) => ("REVOKE", Object::Plain(revoke.role.as_str())),
        Statement::GrantPermissions(grant) => ("GRANT", of_resource(&grant.resource)),
        Statement::RevokePermissions(revoke) => ("REVOKE", of_resource(&revoke.resource)),
        Statement::ListPermissions(_) => ("LIST_PERMISSIONS", Object::None),
        Statement::ListRoles(_) => ("LIST_ROLES", Object::None),
        Statement::ListUsers => ("LIST_USERS", Object::None),
        Statement::ListSuperusers => ("LIST_SUPERUSERS", Object::None),
        Statement::AddIdentity(add) => ("CREATE_IDENTITY", Object::Plain(&add.role)),
        Statement::DropIdentity(_) => ("DROP_IDENTITY", Object::None),
        _ => return None,
    })
}

fn of_resource(resource: &Resource) -> Object<'_> {
    match resource {
        Resource::Keyspace(name) | Resource::AllTablesIn(name) => Object::Keyspace(name.as_str()),
        Resource::Table(name) => of(name),
        Resource::Role(name) => Object::Plain(name.as_str()),
        _ => Object::None,
    }
}

/// Statements that change the schema.
fn classify_definition(statement: &Statement) -> (Category, &'static str, Object<'_>) {
    let (kind, object) = match statement {
        Statement::CreateKeyspace(create) => ("CREATE_KEYSPACE", Object::Keyspace(create.name.as_str())),
        Statement::AlterKeyspace(alter) => ("ALTER_KEYSPACE", Object::Keyspace(alter.name.as_str())),
        Statement::DropKeyspace(drop) => ("DROP_KEYSPACE", Object::Keyspace(drop.name.as_str())),
        Statement::CreateTable(create) => ("CREATE_TABLE", of(&create.name)),
        Statement::CopyTable(copy) => ("CREATE_TABLE_LIKE", of(&copy.name)),
        Statement::AlterTable(alter) => ("ALTER_TABLE", of(&alter.name)),
        Statement::DropTable(drop) => ("DROP_TABLE", of(&drop.name)),
        Statement::CreateIndex(create) => ("CREATE_INDEX", of(&create.table)),
        Statement::DropIndex(drop) => ("DROP_INDEX", of(&drop.name)),
        Statement::CreateType(create) => ("CREATE_TYPE", of(&create.name)),
        Statement::AlterType(alter) => ("ALTER_TYPE", of(&alter.name)),
        Statement::DropType(drop) => ("DROP_TYPE", of(&drop.name)),
        Statement::CreateView(create) => ("CREATE_VIEW", of(&create.name)),
        Statement::AlterView(alter) => ("ALTER_VIEW", of(&alter.name)),
        Statement::DropView(drop) => ("DROP_VIEW", of(&drop.name)),
        Statement::CreateFunction(_) => ("CREATE_FUNCTION", Object::None),
        Statement::DropFunction(_) => ("DROP_FUNCTION", Object::None),
        Statement::CreateAggregate(_) => ("CREATE_AGGREGATE", Object::None),
        Statement::DropAggregate(_) => ("DROP_AGGREGATE", Object::None),
        Statement::CreateTrigger(create) => ("CREATE_TRIGGER", of(&create.table)),
        Statement::DropTrigger(drop) => ("DROP_TRIGGER", of(&drop.table)),
        _ => ("OTHER", Object::None),
    };
    (Category::Ddl, kind, object)
}

/// A text as a trace may tell it: without what may be a password.
pub(crate) fn without_passwords(text: &str) -> String {
    const WORD: &[u8] = b"passwor";
    let tells = text.as_bytes().windows(WORD.len()).any(|word| word.eq_ignore_ascii_case(WORD));
    if tells { mask(text) } else { text.to_owned() }
}

/// The words up to `password` where there is one, and before that without what is quoted.
fn mask(text: &str) -> String {
    const WORD: &str = "password";
    let end = text.as_bytes().windows(WORD.len()).position(|word| word.eq_ignore_ascii_case(WORD.as_bytes()));
    let shown = end.map_or(text, |end| &text[..end + WORD.len()]);
    let mut masked = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some(at) = rest.find(['\'', '"', '$']) {
        let quote = if rest[at..].starts_with("$$") { "$$" } else { &rest[at..=at] };
        masked.push_str(&rest[..at]);
        let quoted = &rest[at + quote.len()..];
        masked.push_str("***");
        rest = quoted.find(quote).map_or("", |end| &quoted[end + quote.len()..]);
    }
    masked.push_str(rest);
    if end.is_some() {
        masked.push_str(" ***");
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::super::reply_header::ReplyHeader;
    use super::*;
    use cql::CqlError;
    use cql::wire::{ProtocolVersion, add_tracing_id};

    #[test]
    fn an_error_is_told_also_with_the_id_of_a_trace() {
        let mut frame = Vec::new();
        ReplyHeader::new(ProtocolVersion::V4, StreamId(7)).write_error(&CqlError::Unauthorized("no".to_owned()), &mut frame);
        for _ in 0..2 {
            assert_eq!(error_of(&frame), Some(UNAUTHORIZED));
            assert!(matches!(failure_of(&frame), Some(Failure::Unauthorized(message)) if message == "no"));
            assert_eq!(error_of(&frame[..frame.len() - 1]), None, "cut off");
            add_tracing_id(&mut frame, 0, &[9; 16]);
        }
    }

    #[test]
    fn a_text_is_classified_by_what_it_is_and_is_about() {
        for (text, category, kind, keyspace, object) in [
            ("SELECT * FROM t", Category::Query, "SELECT", Some("own"), Some("t")),
            ("INSERT INTO ks.t (a) VALUES (1)", Category::Dml, "INSERT", Some("ks"), Some("t")),
            ("BEGIN BATCH INSERT INTO ks.t (a) VALUES (1) APPLY BATCH", Category::Dml, "BATCH", Some("ks"), Some("t")),
            ("DROP KEYSPACE ks", Category::Ddl, "DROP_KEYSPACE", Some("ks"), None),
            ("TRUNCATE ks.t", Category::Ddl, "TRUNCATE", Some("ks"), Some("t")),
            ("GRANT SELECT ON TABLE ks.t TO ann", Category::Dcl, "GRANT", Some("ks"), Some("t")),
            ("CREATE ROLE ann", Category::Dcl, "CREATE_ROLE", None, Some("ann")),
            ("USE ks", Category::Other, "USE_KEYSPACE", Some("ks"), None),
            ("SELEC", Category::Error, "UNKNOWN", None, None),
        ] {
            let event = of_text(text, Some("own"));
            assert_eq!((event.category, event.kind), (category, kind), "{text}");
            assert_eq!((event.keyspace.as_deref(), event.object.as_deref()), (keyspace, object), "{text}");
        }
    }

    #[test]
    fn no_form_of_a_password_is_told() {
        for text in [
            "CREATE ROLE ann WITH PASSWORD = 's3cret' AND LOGIN = true",
            "CREATE ROLE ann WITH LOGIN = true AND HASHED PASSWORD = '$2a$s3cret'",
            "alter role ann with password = 's3''s3cret'",
            "CREATE USER ann WITH PASSWORD 's3cret' NOSUPERUSER",
            "ALTER ROLE ann WITH PASSWORD = s3cret",
            "ALTER ROLE ann WITH PASSWORD = \"s3cret\"",
            "ALTER ROLE ann WITH PASSWORT = 's3cret'",
            "ALTER ROLE ann WITH PASSWORT = $$s3cret$$",
            "ALTER ROLE ann WITH PASSWORT = 's3cret",
        ] {
            let event = of_text(text, None);
            let Operation::Masked(told) = &event.operation else { panic!("{text}") };
            assert!(!told.contains("s3cret") && told.to_lowercase().contains("ann with"), "{told}");
        }
    }
}
