//! Aerospike's clients log in, as the roles that CQL's have; as messages on a socket, where drivers would hide what they are answered.

use crate::client::Client;
use crate::harness::{Folder, Server, end, kill, start};
use aerospike::operate::code;
use aerospike::wire::{HEADER_BYTES, Header, Kind, Message, MessageWriter, Operation, field, info1, info2, info3};
use std::io::{Read, Write};
use std::net::TcpStream;

/// Of commands about users.
const AUTHENTICATE: u8 = 0;
const CREATE_USER: u8 = 1;
const DROP_USER: u8 = 2;
const CHANGE_PASSWORD: u8 = 4;
const GRANT_ROLES: u8 = 5;
const REVOKE_ROLES: u8 = 6;
const QUERY_USERS: u8 = 9;
const CREATE_ROLE: u8 = 10;
const REVOKE_PRIVILEGES: u8 = 13;
const SET_WHITELIST: u8 = 14;
const SET_QUOTAS: u8 = 15;
const LOGIN: u8 = 20;

/// Their fields.
const USER: u8 = 0;
const PASSWORD: u8 = 1;
const OLD_PASSWORD: u8 = 2;
const CREDENTIAL: u8 = 3;
const CLEAR_PASSWORD: u8 = 4;
const TOKEN: u8 = 5;
const ROLES: u8 = 10;
const ROLE: u8 = 11;
const PRIVILEGES: u8 = 12;
const WHITELIST: u8 = 13;
const READ_QUOTA: u8 = 14;

/// What clients make of a password.
fn hash(password: &str) -> String {
    let salt = [0xF4, 0x6B, 0x0B, 0xBE, 0xCF, 0xFE, 0x8D, 0x1B, 0x06, 0x67, 0xD8, 0x4F, 0x6D, 0xC1, 0xD8, 0xA9];
    bcrypt::hash_with_salt(password, 10, salt).unwrap().format_for_version(bcrypt::Version::TwoA)
}

/// One connection.
struct Connection(TcpStream);

impl Connection {
    fn to(server: &Server) -> Self {
        Self(TcpStream::connect(server.field("aerospike")).unwrap())
    }

    /// Sends a message; the body of what is answered, or none if the server has ended the connection.
    fn ask(&mut self, kind: Kind, body: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Header { kind, body_bytes: body.len() }.to_bytes().to_vec();
        bytes.extend_from_slice(body);
        self.0.write_all(&bytes).ok()?;
        self.next(kind)
    }

    /// The body of the next message.
    fn next(&mut self, kind: Kind) -> Option<Vec<u8>> {
        let mut header = [0; HEADER_BYTES];
        self.0.read_exact(&mut header).ok()?;
        let header = Header::read(&header, 1 << 20).unwrap().unwrap();
        assert_eq!(header.kind, kind);
        let mut body = vec![0; header.body_bytes];
        self.0.read_exact(&mut body).unwrap();
        Some(body)
    }

    fn reply(&mut self, command: u8, fields: &[(u8, &[u8])]) -> Vec<u8> {
        let mut body = vec![0; 16];
        (body[2], body[3]) = (command, fields.len() as u8);
        for (number, data) in fields {
            body.extend_from_slice(&(data.len() as u32 + 1).to_be_bytes());
            body.push(*number);
            body.extend_from_slice(data);
        }
        self.ask(Kind::Security, &body).unwrap()
    }

    /// The result of a command.
    fn command(&mut self, command: u8, fields: &[(u8, &[u8])]) -> u8 {
        self.reply(command, fields)[1]
    }

    /// The token of a session, or the result.
    fn log_in(&mut self, user: &str, password: &str) -> Result<Vec<u8>, u8> {
        let reply = self.reply(LOGIN, &[(USER, user.as_bytes()), (CREDENTIAL, hash(password).as_bytes())]);
        match reply[1] {
            0 => {
                assert_eq!((reply[3], reply[20]), (2, TOKEN));
                let length = u32::from_be_bytes(reply[16..20].try_into().unwrap()) as usize;
                Ok(reply[21..20 + length].to_vec())
            }
            code => Err(code),
        }
    }

    fn logged_in(server: &Server, user: &str, password: &str) -> Self {
        let mut connection = Self::to(server);
        connection.log_in(user, password).unwrap();
        connection
    }

    /// The result of a request about a record.
    fn record(&mut self, set: &str, info1: u8, info2: u8, operations: &[Operation<'_>]) -> Option<u8> {
        let mut body = Vec::new();
        let mut message = MessageWriter::begin(&mut body);
        (message.attributes.info1, message.attributes.info2) = (info1, info2);
        for (kind, data) in [(field::NAMESPACE, &b"test"[..]), (field::SET, set.as_bytes()), (field::DIGEST, &[7; 20])] {
            message.field(&mut body, kind, data, &[]);
        }
        operations.iter().for_each(|operation| message.operation(&mut body, operation));
        message.end(&mut body, aerospike::ResultCode::OK);
        Some(self.ask(Kind::Message, &body)?[5])
    }

    fn put(&mut self, set: &str) -> Option<u8> {
        self.record(set, 0, info2::WRITE, &[Operation { code: code::WRITE, particle: 3, name: b"b", value: b"x" }])
    }

    fn get(&mut self, set: &str) -> Option<u8> {
        self.record(set, info1::READ | info1::GET_ALL, 0, &[])
    }

    /// Writes, and says nothing of reading in its flags, but reads.
    fn put_and_get(&mut self, set: &str) -> Option<u8> {
        let read = Operation { code: code::READ, particle: 0, name: b"b", value: b"" };
        self.record(set, 0, info2::WRITE, &[Operation { code: code::WRITE, particle: 3, name: b"b", value: b"y" }, read])
    }

    fn info(&mut self, name: &str) -> String {
        String::from_utf8(self.ask(Kind::Info, format!("{name}\n").as_bytes()).unwrap()).unwrap()
    }

    /// The worst result of a batch that reads a record of each set.
    fn batch(&mut self, sets: &[&str]) -> u8 {
        let mut entries = (sets.len() as u32).to_be_bytes().to_vec();
        entries.push(4);
        for (index, set) in (0_u32..).zip(sets) {
            entries.extend_from_slice(&index.to_be_bytes());
            entries.extend_from_slice(&[7; 20]);
            entries.extend_from_slice(&[0, info1::READ | info1::GET_ALL, 0, 2, 0, 0]);
            for (kind, data) in [(field::NAMESPACE, &b"test"[..]), (field::SET, set.as_bytes())] {
                entries.extend_from_slice(&(data.len() as u32 + 1).to_be_bytes());
                entries.push(kind);
                entries.extend_from_slice(data);
            }
        }
        let mut body = Vec::new();
        let mut message = MessageWriter::begin(&mut body);
        message.attributes.info1 = info1::READ | info1::BATCH;
        message.field(&mut body, field::BATCH_WITH_SET, &entries, &[]);
        message.end(&mut body, aerospike::ResultCode::OK);
        let mut body = self.ask(Kind::Message, &body).unwrap();
        let mut result = 0;
        loop {
            let mut rest = &body[..];
            while !rest.is_empty() {
                let (message, after) = Message::read(rest).unwrap();
                result = result.max(message.result.0);
                if message.attributes.info3 & info3::LAST != 0 {
                    return result;
                }
                rest = after;
            }
            body = self.next(Kind::Message).unwrap();
        }
    }
}

/// Names with their number and lengths before them.
fn names(names: &[&str]) -> Vec<u8> {
    let mut data = vec![names.len() as u8];
    for name in names {
        data.push(name.len() as u8);
        data.extend_from_slice(name.as_bytes());
    }
    data
}

/// A privilege on a set.
fn on_set(code: u8, set: &str) -> Vec<u8> {
    [&[1, code, 4][..], b"test", &[set.len() as u8], set.as_bytes()].concat()
}

/// Flags of a server with namespace `test` whose superuser has the password `b0ss`.
fn flags(folder: &Folder) -> Vec<String> {
    let secret = folder.0.join("secret");
    std::fs::write(&secret, "b0ss").unwrap();
    let file = secret.to_str().unwrap();
    ["--authentication", "password", "--superuser-password-file", file, "--aerospike-namespaces", "test", "--cores", "2"]
        .map(str::to_owned)
        .to_vec()
}

fn with_logins(folder: &Folder, more: &[&str]) -> Server {
    let flags = flags(folder);
    Server::start(start(folder, &flags.iter().map(String::as_str).chain(more.iter().copied()).collect::<Vec<_>>()))
}

fn create_user(boss: &mut Connection, user: &str, password: &str, roles: &[&str]) -> u8 {
    boss.command(CREATE_USER, &[(USER, user.as_bytes()), (PASSWORD, hash(password).as_bytes()), (ROLES, &names(roles))])
}

#[test]
fn who_has_not_logged_in_is_served_nothing() {
    let folder = Folder::new("aerospike-nobody");
    let server = with_logins(&folder, &[]);
    let mut nobody = Connection::to(&server);
    assert_eq!(nobody.info("namespaces"), "namespaces\tERROR:80:not authenticated\n");
    assert_eq!((nobody.put("s"), nobody.get("s"), nobody.batch(&["s"])), (Some(80), Some(80), 80));
    assert!(nobody.info("truncate:namespace=test;set=s").contains("ERROR:80"));
    assert_eq!((nobody.command(QUERY_USERS, &[]), create_user(&mut nobody, "ann", "pass", &[])), (80, 80));
    assert_eq!(nobody.log_in("cassandra", "cassandra"), Err(65));
    assert_eq!(nobody.log_in("nobody", "b0ss"), Err(65), "the same as another password");
    assert_eq!(nobody.command(LOGIN, &[]), 60);
    assert_eq!(nobody.command(LOGIN, &[(USER, b"cassandra"), (CREDENTIAL, b"b0ss")]), 65, "it is no hash");
    assert_eq!(nobody.command(AUTHENTICATE, &[(USER, b"cassandra"), (TOKEN, &[1; 50])]), 66);
    let token = nobody.log_in("cassandra", "b0ss").unwrap();
    assert_eq!((nobody.put("s"), nobody.get("s")), (Some(0), Some(0)));
    let mut other = Connection::to(&server);
    assert_eq!(other.command(AUTHENTICATE, &[(USER, b"ann"), (TOKEN, &token)]), 66, "somebody else's");
    assert_eq!(other.put("s"), Some(80));
    assert_eq!(other.command(AUTHENTICATE, &[(USER, b"cassandra"), (TOKEN, &token)]), 0);
    assert_eq!((other.put("s"), other.info("namespaces").as_str()), (Some(0), "namespaces\ttest\n"));
    let mut old = Connection::to(&server);
    assert_eq!(
        old.command(AUTHENTICATE, &[(USER, b"cassandra"), (CREDENTIAL, hash("b0ss").as_bytes())]),
        0,
        "of before there were sessions"
    );
    assert_eq!(old.get("s"), Some(0));
    end(server);
}

#[test]
fn a_role_may_do_what_it_was_granted_and_changes_act_on_open_connections() {
    let folder = Folder::new("aerospike-roles");
    let server = with_logins(&folder, &[]);
    let mut boss = Connection::logged_in(&server, "cassandra", "b0ss");
    assert_eq!((boss.put("one"), boss.put("two")), (Some(0), Some(0)));
    assert_eq!(create_user(&mut boss, "ann", "pass", &["read"]), 0);
    assert_eq!(create_user(&mut boss, "ann", "pass", &["read"]), 61);
    assert_eq!(create_user(&mut boss, "bob", "", &[]), 64);
    assert_eq!(create_user(&mut boss, "bob", "pass", &["nothing"]), 70);
    let mut ann = Connection::logged_in(&server, "ann", "pass");
    assert_eq!((ann.get("one"), ann.put("one"), ann.batch(&["one", "two"])), (Some(0), Some(81), 0));
    assert!(ann.info("truncate:namespace=test;set=one").contains("ERROR:81:role violation"));
    assert_eq!((create_user(&mut ann, "eve", "pass", &["superuser"]), ann.command(QUERY_USERS, &[])), (81, 81));
    assert_eq!(ann.command(GRANT_ROLES, &[(USER, b"ann"), (ROLES, &names(&["superuser"]))]), 81);
    assert_eq!(ann.command(QUERY_USERS, &[(USER, b"ann")]), 0, "oneself");
    // One role for a set, the other for everything.
    let grant = |boss: &mut Connection, role: &str| boss.command(GRANT_ROLES, &[(USER, b"ann"), (ROLES, &names(&[role]))]);
    let revoke = |boss: &mut Connection, role: &str| boss.command(REVOKE_ROLES, &[(USER, b"ann"), (ROLES, &names(&[role]))]);
    assert_eq!(boss.command(CREATE_ROLE, &[(ROLE, b"app"), (PRIVILEGES, &on_set(11, "one"))]), 0);
    assert_eq!(boss.command(CREATE_ROLE, &[(ROLE, b"app"), (PRIVILEGES, &on_set(11, "one"))]), 71);
    assert_eq!(boss.command(CREATE_ROLE, &[(ROLE, b"read"), (PRIVILEGES, &on_set(11, "one"))]), 71, "it is predefined");
    assert_eq!((grant(&mut boss, "app"), revoke(&mut boss, "read")), (0, 0));
    assert_eq!((ann.get("one"), ann.put("one"), ann.get("two"), ann.put("new")), (Some(0), Some(0), Some(81), Some(81)));
    assert_eq!((ann.batch(&["one"]), ann.batch(&["one", "two"])), (0, 81));
    assert_eq!(boss.command(REVOKE_PRIVILEGES, &[(ROLE, b"app"), (PRIVILEGES, &on_set(10, "one"))]), 0);
    assert_eq!((ann.get("one"), ann.put("one"), ann.put_and_get("one")), (Some(81), Some(0), Some(81)), "it may write");
    assert_eq!((grant(&mut boss, "truncate"), revoke(&mut boss, "app")), (0, 0));
    assert!(ann.info("truncate:namespace=test;set=one").contains("ok") && ann.put("one") == Some(81));
    assert_eq!(boss.get("one"), Some(2));
    // By CQL it is the same role.
    let mut cql = Client::connect(server.field("cql"));
    cql.log_in("cassandra", "b0ss").unwrap();
    cql.must("GRANT MODIFY ON test.two TO ann");
    assert_eq!((ann.put("two"), ann.get("two")), (Some(0), Some(81)));
    assert_eq!(boss.command(SET_QUOTAS, &[(ROLE, b"app"), (READ_QUOTA, &[0, 0, 0, 9])]), 0);
    assert_eq!(boss.command(DROP_USER, &[(USER, b"app")]), 60, "it is a role");
    assert_eq!(boss.command(DROP_USER, &[(USER, b"cassandra")]), 22, "oneself");
    assert_eq!(boss.command(DROP_USER, &[(USER, b"ann")]), 0);
    assert_eq!(ann.put("two"), None, "who is no more is cut off");
    end(server);
}

#[test]
fn a_password_is_good_from_either_side_and_users_outlive_the_node() {
    let folder = Folder::new("aerospike-passwords");
    let server = with_logins(&folder, &[]);
    let mut boss = Connection::logged_in(&server, "cassandra", "b0ss");
    assert_eq!(create_user(&mut boss, "ann", "by aerospike", &["read-write"]), 0);
    let mut cql = Client::connect(server.field("cql"));
    cql.log_in("ann", "by aerospike").unwrap();
    assert!(Client::connect(server.field("cql")).log_in("ann", &hash("by aerospike")).is_err(), "what clients send is no password");
    let mut cql = Client::connect(server.field("cql"));
    cql.log_in("cassandra", "b0ss").unwrap();
    cql.must("CREATE ROLE bob WITH PASSWORD = 'by cql' AND LOGIN = true");
    let given = bcrypt::hash_with_salt("given", 4, [1; 16]).unwrap().format_for_version(bcrypt::Version::TwoB);
    cql.must(&format!("CREATE ROLE cid WITH HASHED PASSWORD = '{given}' AND LOGIN = true"));
    Connection::logged_in(&server, "bob", "by cql");
    let mut cid = Connection::to(&server);
    assert_eq!(cid.log_in("cid", "given"), Err(65), "nobody here knows its password");
    assert_eq!(cid.command(LOGIN, &[(USER, b"cid"), (CLEAR_PASSWORD, b"given")]), 0);
    let mut ann = Connection::to(&server);
    let token = ann.log_in("ann", "by aerospike").unwrap();
    let change = |ann: &mut Connection, user: &str, old: &str, new: &str| {
        let (old, new) = (hash(old), hash(new));
        ann.command(CHANGE_PASSWORD, &[(USER, user.as_bytes()), (OLD_PASSWORD, old.as_bytes()), (PASSWORD, new.as_bytes())])
    };
    assert_eq!((change(&mut ann, "ann", "wrong", "new"), change(&mut ann, "bob", "by cql", "new")), (65, 81));
    assert_eq!(change(&mut ann, "ann", "by aerospike", "new"), 0);
    assert_eq!(ann.put("s"), Some(0), "an open connection goes on");
    let mut other = Connection::to(&server);
    assert_eq!(other.command(AUTHENTICATE, &[(USER, b"ann"), (TOKEN, &token)]), 66, "a session ends with its password");
    let token = other.log_in("ann", "new").unwrap();
    kill(server);
    let server = with_logins(&folder, &[]);
    let mut other = Connection::to(&server);
    assert_eq!(other.command(AUTHENTICATE, &[(USER, b"ann"), (TOKEN, &token)]), 66, "a session ends with its node");
    assert_eq!(other.log_in("ann", "by aerospike"), Err(65));
    other.log_in("ann", "new").unwrap();
    assert_eq!(other.get("s"), Some(0));
    Connection::logged_in(&server, "bob", "by cql");
    end(server);
}

#[test]
fn a_whitelist_says_where_from_for_every_protocol() {
    let folder = Folder::new("aerospike-whitelist");
    let server = with_logins(&folder, &[]);
    let mut boss = Connection::logged_in(&server, "cassandra", "b0ss");
    assert_eq!(boss.command(CREATE_ROLE, &[(ROLE, b"near"), (WHITELIST, b"127.0.0.0/8,10.0.0.1")]), 0);
    assert_eq!(create_user(&mut boss, "ann", "pass", &["near", "read"]), 0);
    let mut ann = Connection::logged_in(&server, "ann", "pass");
    assert_eq!(ann.get("s"), Some(2));
    let set = |boss: &mut Connection, list: &[u8]| boss.command(SET_WHITELIST, &[(ROLE, b"near"), (WHITELIST, list)]);
    assert_eq!(set(&mut boss, b"10.0.0.0/40"), 73);
    assert_eq!(set(&mut boss, b"10.0.0.0/8"), 0);
    assert_eq!(ann.get("s"), None, "who may not be there any more is cut off");
    assert_eq!(Connection::to(&server).log_in("ann", "pass"), Err(82));
    assert!(Client::connect(server.field("cql")).log_in("ann", "pass").unwrap_err().contains("whitelist"));
    assert_eq!(boss.command(SET_WHITELIST, &[(ROLE, b"near")]), 0);
    Connection::logged_in(&server, "ann", "pass");
    end(server);
}

#[test]
fn the_audit_log_tells_of_log_ins_users_and_refusals_and_no_password() {
    let folder = Folder::new("aerospike-audit");
    let path = folder.0.join("audit.log");
    let server = with_logins(&folder, &["--audit-log", path.to_str().unwrap()]);
    let mut boss = Connection::to(&server);
    assert_eq!(boss.log_in("cassandra", "wr0ng"), Err(65));
    let token = boss.log_in("cassandra", "b0ss").unwrap();
    assert_eq!(Connection::to(&server).command(AUTHENTICATE, &[(USER, b"cassandra"), (TOKEN, &token)]), 0);
    assert_eq!(create_user(&mut boss, "ann", "s3cret", &["read"]), 0);
    let mut ann = Connection::logged_in(&server, "ann", "s3cret");
    assert_eq!((ann.get("s"), ann.put("s")), (Some(2), Some(81)));
    assert_eq!(ann.command(DROP_USER, &[(USER, b"cassandra")]), 81);
    end(server);
    let text = std::fs::read_to_string(&path).unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        ["category", "type", "role", "object", "result"].map(|name| line[name].as_str().unwrap_or("-").to_owned()).join(" ")
    };
    let expected = [
        "AUTH LOGIN_ERROR cassandra - error",
        "AUTH LOGIN_SUCCESS cassandra - ok",
        "AUTH LOGIN_SUCCESS cassandra - ok",
        "DCL CREATE_USER cassandra ann ok",
        "AUTH LOGIN_SUCCESS ann - ok",
        "QUERY READ ann s ok",
        "AUTH WRITE ann s error",
        "AUTH DROP_USER ann cassandra error",
    ];
    assert_eq!(text.lines().map(line).collect::<Vec<_>>(), expected);
    assert!(!text.contains("s3cret") && !text.contains("$2"), "{text}");
}

#[test]
fn without_authentication_there_is_no_security() {
    let folder = Folder::new("aerospike-open");
    let server = Server::start(start(&folder, &[]));
    let mut anybody = Connection::to(&server);
    assert_eq!((anybody.log_in("ann", "pass"), anybody.command(AUTHENTICATE, &[]), anybody.command(QUERY_USERS, &[])), (Err(52), 52, 52));
    assert_eq!((anybody.put("s"), anybody.get("s")), (Some(0), Some(0)));
    end(server);
}
