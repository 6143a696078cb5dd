//! GridDB's clients log in, as the roles that CQL's have; frame by frame, where the Java client would hide what it is answered.

use crate::client::Client as Cql;
use crate::griddb::{Client, container_name, head, head_in, row, session, text};
use crate::harness::{Folder, Server, end, kill, start};

const NO_MEMORY: i32 = 1_001;
const AUTH_FAILED: i32 = 10_005;
const AUTH_REQUIRED: i32 = 10_006;
const NOT_ALLOWED: i32 = 10_079;

/// What clients make of a password.
fn digest(password: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, password.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A server whose superuser has the password `b0ss`.
fn with_logins(folder: &Folder, more: &[&str]) -> Server {
    let secret = folder.0.join("secret");
    std::fs::write(&secret, "b0ss").unwrap();
    let flags = ["--authentication", "password", "--superuser-password-file", secret.to_str().unwrap(), "--cores", "2"];
    Server::start(start(folder, &[&flags[..], more].concat()))
}

fn logged_in(server: &Server, user: &str, password: &str) -> Client {
    let mut client = Client::unknown(server);
    client.log_in(user, &digest(password)).unwrap();
    client
}

fn cql(server: &Server) -> Cql {
    let mut cql = Cql::connect(server.field("cql"));
    cql.log_in("cassandra", "b0ss").unwrap();
    cql
}

fn put(client: &mut Client, container: i64, id: i64) -> Result<Vec<u8>, i32> {
    client.ask(124, &[head(container), row(id, "one")].concat())
}

fn get(client: &mut Client, container: i64) -> Result<Vec<u8>, i32> {
    client.ask(120, &[head(container), 1_i64.to_le_bytes().to_vec()].concat())
}

/// How many containers a client sees.
fn listed(client: &mut Client) -> i64 {
    let reply = client.ask(143, &[&0_i32.to_le_bytes()[..], &0_i64.to_le_bytes(), &100_i64.to_le_bytes()].concat()).unwrap();
    i64::from_le_bytes(reply[..8].try_into().unwrap())
}

fn drop_container(client: &mut Client, name: &str) -> Result<Vec<u8>, i32> {
    client.ask(144, &[&0_i32.to_le_bytes()[..], &container_name(name), &[0xFF]].concat())
}

#[test]
fn who_has_not_logged_in_is_served_nothing() {
    let folder = Folder::new("griddb-nobody");
    let server = with_logins(&folder, &["--griddb-port", "0"]);
    let mut nobody = Client::unknown(&server);
    assert_eq!(nobody.try_put_container("t"), Err(AUTH_REQUIRED));
    assert_eq!(nobody.log_in("cassandra", &digest("cassandra")), Err(AUTH_FAILED));
    assert!(nobody.message.contains("has to be set again"), "{}", nobody.message);
    let refused = nobody.message.replace("cassandra", "nobody");
    assert_eq!(nobody.log_in("nobody", &digest("b0ss")), Err(AUTH_FAILED));
    assert_eq!(nobody.message, refused, "the same as another password");
    assert_eq!(nobody.log_in("cassandra", "b0ss"), Err(AUTH_FAILED), "it is no digest");
    assert_eq!(nobody.log_in_by("cassandra", &digest("b0ss"), 2), Err(AUTH_FAILED), "no challenge was given");
    assert_eq!(nobody.try_put_container("t"), Err(AUTH_REQUIRED));
    nobody.log_in("cassandra", &digest("b0ss")).unwrap();
    let container = nobody.put_container();
    assert_eq!(put(&mut nobody, container, 1), Ok(vec![0]));
    // Who has been somebody, and is refused as somebody else.
    assert_eq!(nobody.log_in("cassandra", &digest("wrong")), Err(AUTH_FAILED));
    assert_eq!(put(&mut nobody, container, 1), Err(AUTH_REQUIRED));
    nobody.log_in("cassandra", &digest("b0ss")).unwrap();
    assert_eq!(nobody.ask(103, &0_i32.to_le_bytes()), Ok(Vec::new()), "it logs out");
    assert_eq!(put(&mut nobody, container, 1), Err(AUTH_REQUIRED));
    end(server);
}

#[test]
fn a_role_may_do_what_it_was_granted_and_changes_act_on_open_connections() {
    let folder = Folder::new("griddb-roles");
    let server = with_logins(&folder, &["--griddb-port", "0"]);
    let (mut boss, mut cql) = (logged_in(&server, "cassandra", "b0ss"), cql(&server));
    let t = boss.put_container();
    boss.ask(124, &[head(t), row(1, "one")].concat()).unwrap();
    cql.must("CREATE ROLE ann WITH PASSWORD = 'pass' AND LOGIN = true");
    let mut ann = logged_in(&server, "ann", "pass");
    assert_eq!((get(&mut ann, t), put(&mut ann, t, 1), listed(&mut ann)), (Err(NOT_ALLOWED), Err(NOT_ALLOWED), 0));
    assert_eq!((ann.try_put_container("t"), ann.try_put_container("u")), (Err(NOT_ALLOWED), Err(NOT_ALLOWED)));
    cql.must("GRANT SELECT ON public.t TO ann");
    assert!(get(&mut ann, t).unwrap().len() > 8);
    assert_eq!((put(&mut ann, t, 1), listed(&mut ann)), (Err(NOT_ALLOWED), 1));
    assert!(ann.message.contains("MODIFY"), "{}", ann.message);
    assert_eq!(ann.try_put_container("t"), Ok(t), "it is there, so nothing is made");
    assert_eq!(drop_container(&mut ann, "t"), Err(NOT_ALLOWED));
    let delete = [head(t), 1_i64.to_le_bytes().to_vec()].concat();
    assert_eq!(ann.ask(127, &delete), Err(NOT_ALLOWED));
    // To lock rows for an update keeps others from them.
    let for_update = [&t.to_le_bytes()[..], &7_i64.to_le_bytes(), &[9; 16], &[0; 4], &[1, 1], &3_i32.to_le_bytes(), &[2, 0, 1]].concat();
    assert_eq!(ann.ask(120, &[for_update, 1_i64.to_le_bytes().to_vec()].concat()), Err(NOT_ALLOWED));
    cql.must("GRANT MODIFY ON public.t TO ann");
    cql.must("REVOKE SELECT ON public.t FROM ann");
    assert_eq!((put(&mut ann, t, 1), get(&mut ann, t)), (Ok(vec![1]), Err(NOT_ALLOWED)));
    // A transaction of which every right is taken away cannot be committed, and can be aborted.
    ann.ask(124, &[head_in(t, 1), row(2, "two")].concat()).unwrap();
    cql.must("REVOKE MODIFY ON public.t FROM ann");
    assert_eq!(ann.ask(118, &session(t)), Err(NOT_ALLOWED));
    assert_eq!(ann.ask(119, &session(t)), Ok(Vec::new()));
    // What one has made is one's own, and who makes its like later has nothing of that.
    cql.must("GRANT CREATE ON KEYSPACE public TO ann");
    let u = ann.try_put_container("u").unwrap();
    assert_eq!((put(&mut ann, u, 1), put(&mut ann, t, 1)), (Ok(vec![0]), Err(NOT_ALLOWED)));
    assert_eq!(drop_container(&mut boss, "u"), Ok(Vec::new()));
    let u = boss.try_put_container("u").unwrap();
    assert_eq!(put(&mut ann, u, 1), Err(NOT_ALLOWED));
    cql.must("DROP ROLE ann");
    assert!(ann.is_cut_off(), "who is no more is cut off");
    end(server);
}

#[test]
fn limits_of_a_role_hold_and_change_on_open_connections() {
    let folder = Folder::new("griddb-limits");
    let server = with_logins(&folder, &["--griddb-port", "0"]);
    let (mut boss, mut cql) = (logged_in(&server, "cassandra", "b0ss"), cql(&server));
    let t = boss.put_container();
    cql.must("CREATE ROLE ann WITH PASSWORD = 'pass' AND LOGIN = true AND OPTIONS = {'max_connections': 1, 'writes_per_second': 5}");
    cql.must("GRANT MODIFY ON public.t TO ann");
    cql.must("GRANT SELECT ON public.t TO ann");
    let mut ann = logged_in(&server, "ann", "pass");
    let mut second = Client::unknown(&server);
    assert_eq!(second.log_in("ann", &digest("pass")), Err(NO_MEMORY));
    assert!(second.message.contains("has reached its limit"), "{}", second.message);
    // However slow this machine is, these are more than five a second for many seconds, and reads have no limit.
    let written: Vec<_> = (0..500).map(|id| put(&mut ann, t, id)).collect();
    assert!(written.contains(&Err(NO_MEMORY)) && ann.message.contains("has reached its limit"), "{}", ann.message);
    assert!(written.iter().all(|outcome| matches!(outcome, Ok(_) | Err(NO_MEMORY))));
    let is_there = |id: i64| -> bool { boss.get(t, id)[0] == 1 };
    assert!((0..500).map(is_there).eq(written.iter().map(Result::is_ok)), "what was refused is not there, and all else is");
    assert!((0..500).all(|_| get(&mut ann, t).is_ok()));
    cql.must("ALTER ROLE ann WITH OPTIONS = {}");
    assert!((0..100).all(|id| put(&mut ann, t, id).is_ok()));
    second.log_in("ann", &digest("pass")).unwrap();
    end(server);
}

#[test]
fn a_password_of_before_has_to_be_set_again() {
    let folder = Folder::new("griddb-passwords");
    let server = with_logins(&folder, &[]);
    cql(&server).must("CREATE ROLE ann WITH PASSWORD = 'pass' AND LOGIN = true AND SUPERUSER = true");
    kill(server);
    let server = with_logins(&folder, &["--griddb-port", "0"]);
    let mut ann = Client::unknown(&server);
    assert_eq!(ann.log_in("ann", &digest("pass")), Err(AUTH_FAILED));
    assert!(ann.message.contains("has to be set again"), "{}", ann.message);
    let mut cql = cql(&server);
    let given = bcrypt::hash_with_salt("pass", 4, [1; 16]).unwrap().format_for_version(bcrypt::Version::TwoB);
    cql.must(&format!("ALTER ROLE ann WITH HASHED PASSWORD = '{given}'"));
    assert_eq!(ann.log_in("ann", &digest("pass")), Err(AUTH_FAILED), "nobody here knows the password");
    cql.must("ALTER ROLE ann WITH PASSWORD = 'pass'");
    ann.log_in("ann", &digest("pass")).unwrap();
    ann.put_container();
    let mut by_digest = Cql::connect(server.field("cql"));
    assert!(by_digest.log_in("ann", &digest("pass")).is_err(), "what clients send is no password");
    kill(server);
    let server = with_logins(&folder, &["--griddb-port", "0"]);
    logged_in(&server, "ann", "pass").put_container();
    end(server);
}

#[test]
fn the_audit_log_tells_of_log_ins_and_statements_and_no_data() {
    let folder = Folder::new("griddb-audit");
    let path = folder.0.join("audit.log");
    let server =
        with_logins(&folder, &["--griddb-port", "0", "--audit-log", path.to_str().unwrap(), "--audit-excluded-roles", "cassandra"]);
    let mut boss = logged_in(&server, "cassandra", "b0ss");
    let t = boss.put_container();
    let mut cql = cql(&server);
    cql.must("CREATE ROLE ann WITH PASSWORD = 's3cret' AND LOGIN = true");
    cql.must("GRANT SELECT ON public.t TO ann");
    let mut ann = Client::unknown(&server);
    assert_eq!(ann.log_in("ann", &digest("wr0ng")), Err(AUTH_FAILED));
    ann.log_in("ann", &digest("s3cret")).unwrap();
    assert_eq!(get(&mut ann, t), Ok(vec![0]));
    assert_eq!(ann.ask(124, &[head(t), row(1, "txt")].concat()), Err(NOT_ALLOWED));
    assert_eq!(ann.try_put_container("u"), Err(NOT_ALLOWED));
    assert_eq!(listed(&mut ann), 1);
    end(server);
    let text = std::fs::read_to_string(&path).unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        ["category", "type", "role", "keyspace", "object", "result"].map(|name| line[name].as_str().unwrap_or("-").to_owned()).join(" ")
    };
    let expected = [
        "AUTH LOGIN_ERROR ann - - error",
        "AUTH LOGIN_SUCCESS ann - - ok",
        "QUERY GET_ROW ann public t ok",
        "AUTH PUT_ROW ann public t error",
        "AUTH PUT_CONTAINER ann public u error",
        "QUERY GET_PARTITION_CONTAINER_NAMES ann public - ok",
    ];
    assert_eq!(text.lines().map(line).collect::<Vec<_>>(), expected, "{text}");
    assert!(!text.contains("s3cret") && !text.contains(&digest("s3cret")) && !text.contains("txt"), "{text}");
}

/// No options, and the arguments of a statement about users.
fn plain(parts: &[&[u8]]) -> Vec<u8> {
    [&0_i32.to_le_bytes()[..], &parts.concat()].concat()
}

fn put_user(client: &mut Client, user: &str, digest: Option<&str>, is_modifiable: bool) -> Result<Vec<u8>, i32> {
    let digest = digest.map_or(vec![0], |digest| [&[1][..], &text(digest)].concat());
    client.ask(155, &plain(&[&text(user), &[0], &digest, &[u8::from(is_modifiable)]]))
}

fn drop_user(client: &mut Client, user: &str) -> Result<Vec<u8>, i32> {
    client.ask(156, &plain(&[&text(user)]))
}

/// PUT_PRIVILEGE or DROP_PRIVILEGE.
fn privilege(client: &mut Client, number: i32, database: &str, user: &str, privilege: &str) -> Result<Vec<u8>, i32> {
    client.ask(number, &plain(&[&text(database), &[0], &1_i32.to_le_bytes(), &text(user), &text(privilege)]))
}

fn put_database(client: &mut Client, database: &str) -> Result<Vec<u8>, i32> {
    client.ask(158, &plain(&[&text(database), &[0; 6]]))
}

fn drop_database(client: &mut Client, database: &str) -> Result<Vec<u8>, i32> {
    client.ask(159, &plain(&[&text(database)]))
}

/// The list of databases, or of users, as text.
fn list(client: &mut Client, number: i32) -> Result<String, i32> {
    Ok(String::from_utf8_lossy(&client.ask(number, &plain(&[&[0, 0]]))?).into_owned())
}

#[test]
fn users_databases_and_privileges_are_roles_keyspaces_and_permissions() {
    let folder = Folder::new("griddb-users");
    let path = folder.0.join("audit.log");
    let audited = ["--audit-log", path.to_str().unwrap(), "--audit-included-categories", "dcl,ddl"];
    let server = with_logins(&folder, &[&["--griddb-port", "0"][..], &audited].concat());
    let mut boss = logged_in(&server, "cassandra", "b0ss");
    let t = boss.put_container();
    assert_eq!(put_user(&mut boss, "ann", Some(&digest("s3cret")), false), Ok(Vec::new()));
    assert_eq!(put_user(&mut boss, "ann", Some(&digest("other")), false), Err(NOT_ALLOWED), "she is there");
    assert_eq!(put_user(&mut boss, "bob", Some("s3cret"), false), Err(NOT_ALLOWED), "it is no digest");
    assert_eq!(put_user(&mut boss, "readers", None, false), Ok(Vec::new()));
    Cql::connect(server.field("cql")).log_in("ann", "s3cret").unwrap();
    let mut ann = logged_in(&server, "ann", "s3cret");
    let listed = list(&mut boss, 154).unwrap();
    assert!(["cassandra", "ann", "readers"].iter().all(|name| listed.contains(name)) && !listed.contains("$2"), "{listed}");
    assert_eq!((list(&mut ann, 154), drop_user(&mut ann, "readers")), (Err(NOT_ALLOWED), Err(NOT_ALLOWED)));
    assert_eq!(put_user(&mut ann, "cassandra", Some(&digest("mine")), true), Err(NOT_ALLOWED));
    assert_eq!(privilege(&mut ann, 160, "public", "ann", "ALL"), Err(NOT_ALLOWED));
    assert_eq!(privilege(&mut boss, 160, "public", "ann", "ALL"), Ok(Vec::new()));
    assert_eq!((put(&mut ann, t, 1), ann.try_put_container("u").is_ok()), (Ok(vec![0]), true));
    assert_eq!(privilege(&mut boss, 160, "public", "ann", "READ"), Ok(Vec::new()), "it takes the place of the other one");
    assert_eq!((put(&mut ann, t, 1), get(&mut ann, t).is_ok()), (Err(NOT_ALLOWED), true));
    // Nor does one go that CQL has given.
    cql(&server).must("GRANT MODIFY ON KEYSPACE public TO ann");
    assert_eq!(privilege(&mut boss, 161, "public", "ann", "ALL"), Ok(Vec::new()));
    assert_eq!((put(&mut ann, t, 1), get(&mut ann, t)), (Err(NOT_ALLOWED), Err(NOT_ALLOWED)));
    assert_eq!(privilege(&mut boss, 160, "public", "nobody", "READ"), Err(NOT_ALLOWED));
    assert_eq!(privilege(&mut boss, 160, "nowhere", "ann", "READ"), Err(10_087));
    assert_eq!((put_database(&mut boss, "plant"), put_database(&mut boss, "plant")), (Ok(Vec::new()), Err(NOT_ALLOWED)));
    assert_eq!((put_database(&mut boss, "a-b"), put_database(&mut ann, "other")), (Err(NOT_ALLOWED), Err(NOT_ALLOWED)));
    assert!(list(&mut boss, 157).unwrap().contains("plant") && !list(&mut ann, 157).unwrap().contains("plant"));
    assert_eq!((drop_database(&mut ann, "plant"), drop_database(&mut boss, "public")), (Err(NOT_ALLOWED), Err(NOT_ALLOWED)));
    assert_eq!((drop_database(&mut boss, "plant"), drop_database(&mut boss, "plant")), (Ok(Vec::new()), Err(10_087)));
    assert_eq!((drop_user(&mut boss, "ann"), drop_user(&mut boss, "ann")), (Ok(Vec::new()), Err(NOT_ALLOWED)));
    assert!(ann.is_cut_off());
    end(server);
    let audited = std::fs::read_to_string(&path).unwrap();
    for kind in ["PUT_USER", "DROP_USER", "GET_USERS", "PUT_DATABASE", "DROP_DATABASE", "PUT_PRIVILEGE", "DROP_PRIVILEGE"] {
        assert!(audited.contains(kind), "{kind} is missing in {audited}");
    }
    assert!(!audited.contains(&digest("s3cret")), "{audited}");
}

#[test]
fn without_authentication_there_are_databases_and_no_users() {
    let folder = Folder::new("griddb-open");
    let server = Server::start(start(&folder, &["--griddb-port", "0", "--cores", "2"]));
    let mut anybody = Client::connect(&server);
    assert_eq!(
        (put_user(&mut anybody, "ann", Some(&digest("pass")), false), drop_user(&mut anybody, "ann")),
        (Err(NOT_ALLOWED), Err(NOT_ALLOWED))
    );
    assert_eq!(list(&mut anybody, 154), Err(NOT_ALLOWED));
    assert_eq!(list(&mut anybody, 157).unwrap(), list(&mut anybody, 157).unwrap());
    assert_eq!(
        (put_database(&mut anybody, "plant"), privilege(&mut anybody, 160, "plant", "ann", "READ")),
        (Ok(Vec::new()), Err(NOT_ALLOWED))
    );
    assert!(list(&mut anybody, 157).unwrap().contains("plant"));
    assert_eq!(drop_database(&mut anybody, "plant"), Ok(Vec::new()));
    end(server);
}
