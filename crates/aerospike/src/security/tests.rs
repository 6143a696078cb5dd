#![allow(clippy::unwrap_used)]

use super::*;
use crate::ResultCode;
use crate::wire::{HEADER_BYTES, Header, Kind};
use base::Rng;
use model::Role;

fn command(code: u8, fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = vec![0; 16];
    (body[2], body[3]) = (code, fields.len() as u8);
    for (number, data) in fields {
        body.extend_from_slice(&(data.len() as u32 + 1).to_be_bytes());
        body.push(*number);
        body.extend_from_slice(data);
    }
    body
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn commands_are_read_as_clients_write_them() {
    let login = Login { user: text("jo"), credential: text("hash"), clear_password: None };
    let decoded = |code, fields: &[(u8, &[u8])]| Command::decode(&command(code, fields)).unwrap();
    assert_eq!(decoded(20, &[(0, b"jo"), (3, b"hash")]), Command::Login(login.clone()));
    assert_eq!(decoded(20, &[]), Command::Login(Login::default()), "the certificate says who");
    let authenticate = decoded(0, &[(0, b"jo"), (5, &[1, 2])]);
    assert_eq!(authenticate, Command::Authenticate { login: Login { credential: None, ..login }, token: Some(vec![1, 2]) });
    let create = decoded(1, &[(0, b"jo"), (1, b"hash"), (10, b"\x02\x04read\x05admin")]);
    assert_eq!(
        create,
        Command::CreateUser { user: "jo".to_owned(), password: "hash".to_owned(), roles: vec!["read".to_owned(), "admin".to_owned()] }
    );
    let privileges = b"\x03\x00\x0A\x04test\x00\x0B\x04test\x03set";
    let role = decoded(10, &[(11, b"app"), (12, privileges), (13, b"10.0.0.0/8, ::1"), (14, &[0, 0, 0, 9])]);
    let privileges = [
        (PrivilegeKind::UserAdmin, Scope::Everything),
        (PrivilegeKind::Read, Scope::Namespace("test".to_owned())),
        (PrivilegeKind::ReadWrite, Scope::Set("test".to_owned(), "set".to_owned())),
    ];
    let expected = Command::CreateRole {
        role: "app".to_owned(),
        privileges: privileges.into_iter().map(|(kind, scope)| Privilege { kind, scope }).collect(),
        whitelist: vec!["10.0.0.0/8".to_owned(), "::1".to_owned()],
        quotas: Quotas { read: 9, write: 0 },
    };
    assert_eq!(role, expected);
    assert_eq!((role.name(), role.subject()), ("CREATE_ROLE", Some("app")));
}

#[test]
fn what_is_no_command_is_refused_by_its_own_code() {
    let refused = |code, fields: &[(u8, &[u8])]| Command::decode(&command(code, fields)).unwrap_err();
    assert_eq!(refused(99, &[]), ResultCode::INVALID_COMMAND);
    assert_eq!(refused(1, &[(1, b"hash")]), ResultCode::INVALID_USER);
    assert_eq!(refused(1, &[(0, b"jo")]), ResultCode::INVALID_PASSWORD);
    assert_eq!(refused(5, &[(0, b"jo"), (10, &[0])]), ResultCode::INVALID_ROLE);
    assert_eq!(refused(5, &[(0, b"jo"), (10, b"\x02\x04read")]), ResultCode::INVALID_ROLE);
    assert_eq!(refused(12, &[(11, b"app"), (12, &[1, 9])]), ResultCode::INVALID_PRIVILEGE);
    assert_eq!(refused(12, &[(11, b"app"), (12, b"\x01\x0A\x00\x03set")]), ResultCode::INVALID_PRIVILEGE, "a set of no namespace");
    assert_eq!(refused(15, &[(11, b"app"), (14, &[1])]), ResultCode::INVALID_QUOTA);
    assert_eq!(refused(2, &[(0, &[0xFF])]), ResultCode::INVALID_USER);
    assert_eq!(Command::decode(&[0; 15]), Err(ResultCode::INVALID_COMMAND));
    assert_eq!(Command::decode(&[command(16, &[]), vec![0]].concat()), Err(ResultCode::INVALID_FIELD));
}

#[test]
fn any_bytes_are_a_command_or_not() {
    let mut rng = Rng::new(11);
    for _ in 0..20_000 {
        let mut bytes = command(rng.below(21) as u8, &[(rng.below(18) as u8, b"\x01\x0A\x04test\x00"), (0, b"jo"), (11, b"app")]);
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(rng.below(bytes.len() as u64 + 1) as usize);
        let _ = Command::decode(&bytes);
    }
}

fn role_with(privileges: &[Privilege]) -> Role {
    let mut role = Role::default();
    for (resource, permissions) in privileges.iter().flat_map(|privilege| privilege.permissions().unwrap()) {
        let all = role.permissions.entry(resource).or_default();
        *all = all.or(permissions);
    }
    role
}

#[test]
fn privileges_are_permissions_and_back() {
    for (name, kinds) in PREDEFINED_ROLES {
        let privileges = predefined(name).unwrap();
        assert_eq!(privileges_of(&role_with(&privileges)), privileges, "{name}: {kinds:?}");
    }
    assert_eq!(predefined("nobody"), None);
    let scopes = [Scope::Namespace("test".to_owned()), Scope::Set("test".to_owned(), "set".to_owned())];
    for code in 0..=u8::MAX {
        let Some(kind) = PrivilegeKind::from_code(code).filter(|kind| kind.has_scope()) else { continue };
        for scope in &scopes {
            let privilege = Privilege { kind, scope: scope.clone() };
            assert_eq!(privileges_of(&role_with(std::slice::from_ref(&privilege))), [privilege]);
        }
    }
    let two = [PrivilegeKind::Read, PrivilegeKind::Write].map(|kind| Privilege { kind, scope: Scope::Everything });
    assert_eq!(privileges_of(&role_with(&two)), predefined("read-write").unwrap());
}

/// Fields with their numbers.
type Fields = Vec<(u8, Vec<u8>)>;

/// The parts of messages: result, fields.
fn parts(mut bytes: &[u8]) -> Vec<(u8, Fields)> {
    let mut parts = Vec::new();
    while let Some(header) = Header::read(bytes, 1 << 20).unwrap() {
        assert_eq!(header.kind, Kind::Security);
        let (mut body, after) = bytes[HEADER_BYTES..].split_at(header.body_bytes);
        while !body.is_empty() {
            let (result, count) = (body[1], body[3]);
            body = &body[16..];
            let mut fields = Vec::new();
            for _ in 0..count {
                let length = u32::from_be_bytes(body[..4].try_into().unwrap()) as usize;
                fields.push((body[4], body[5..4 + length].to_vec()));
                body = &body[4 + length..];
            }
            parts.push((result, fields));
        }
        bytes = after;
    }
    parts
}

#[test]
fn replies_are_what_clients_read() {
    let mut out = Vec::new();
    write_session(&mut out, &[7; 40], 86_400);
    assert_eq!(parts(&out), [(0, vec![(5, vec![7; 40]), (6, vec![0, 1, 0x51, 0x80])])]);
    out.clear();
    write_users(&mut out, [UserShown { name: "jo", roles: vec!["read", "app"] }].into_iter());
    assert_eq!(parts(&out), [(0, vec![(0, b"jo".to_vec()), (10, b"\x02\x04read\x03app".to_vec())]), (50, vec![])]);
    out.clear();
    let privileges = vec![
        Privilege { kind: PrivilegeKind::UserAdmin, scope: Scope::Everything },
        Privilege { kind: PrivilegeKind::Read, scope: Scope::Set("test".to_owned(), "set".to_owned()) },
    ];
    let quotas = Quotas { read: 5, write: 258 };
    write_roles(&mut out, [RoleShown { name: "app", privileges, whitelist: vec!["::1", "10.0.0.0/8"], quotas }].into_iter());
    let fields = vec![
        (11, b"app".to_vec()),
        (12, b"\x02\x00\x0A\x04test\x03set".to_vec()),
        (13, b"::1,10.0.0.0/8".to_vec()),
        (14, vec![0, 0, 0, 5]),
        (15, vec![0, 0, 1, 2]),
    ];
    assert_eq!(parts(&out), [(0, fields), (50, vec![])]);
    out.clear();
    let many: Vec<String> = (0..20_000).map(|number| format!("user {number}")).collect();
    write_users(&mut out, many.iter().map(|name| UserShown { name, roles: Vec::new() }));
    assert_eq!(parts(&out).len(), many.len() + 1, "a long list comes in messages");
}

#[test]
fn a_log_in_is_read_as_it_was_written() {
    let mut out = Vec::new();
    write_login(&mut out, "jo", "$2a$…");
    let login = Login { user: Some("jo".to_owned()), credential: Some("$2a$…".to_owned()), clear_password: None };
    assert_eq!(Command::decode(&out[8..]), Ok(Command::Login(login)));
    out.clear();
    write_result(&mut out, ResultCode::INVALID_CREDENTIAL);
    assert_eq!(read_result(&out[8..]), Ok(ResultCode::INVALID_CREDENTIAL));
    assert!(read_result(&[0]).is_err(), "it ends too early");
}
