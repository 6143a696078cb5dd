//! What requests are answered.

use super::reply::CONFLICT;
use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

fn served(clustered: bool) -> Served {
    let served = Served::new(Arc::new(Board::new(clustered)), 4, false);
    served.ready.store(true, Ordering::Release);
    served
}

fn status(served: &Served, head: &str) -> &'static str {
    ask(served, head).status
}

fn ask(served: &Served, head: &str) -> Reply {
    answer(served, &Transport::Plain, [127, 0, 0, 1].into(), &Request::of(head))
}

#[test]
fn without_a_login_there_is_nothing_but_health() {
    let board = Arc::new(Board::new(true));
    let hash = bcrypt::hash_with_salt("pass:word", 4, [1; 16]).unwrap().to_string();
    let mut schema = cql::roles::with_first_superuser(&model::Schema::empty(), &hash).unwrap();
    let reader = model::Role { can_login: true, password_hash: Some(hash), ..model::Role::default() };
    schema.roles.insert("reader".to_owned(), Arc::new(reader));
    board.set_schema(&Arc::new(schema));
    let served = Served::new(board, 4, true);
    served.ready.store(true, Ordering::Release);
    let with = |request: &str, login: &str| format!("{request} HTTP/1.1\r\nAUTHORIZATION: basic {}\r\n\r\n", STANDARD.encode(login));
    for request in [
        "GET /status",
        "GET /metrics",
        "GET /none",
        "GET /api/v1/overview",
        "GET /api/v1/schema",
        "POST /api/v1/query",
        "POST /cluster/drain/1",
        "POST /cluster/remove/1?force=1",
    ] {
        assert_eq!(status(&served, &format!("{request} HTTP/1.1\r\n\r\n")), UNAUTHORIZED);
        assert_eq!(status(&served, &with(request, "cassandra:cassandra")), UNAUTHORIZED);
    }
    assert_eq!(status(&served, "GET /health HTTP/1.1\r\n\r\n"), OK);
    assert_eq!(status(&served, "GET / HTTP/1.1\r\n\r\n"), OK, "the page has nothing of the node");
    for role in ["reader", "cassandra"] {
        assert_eq!(status(&served, &with("GET /metrics", &format!("{role}:pass:word"))), OK);
    }
    assert_eq!(status(&served, &with("POST /cluster/drain/x", "reader:pass:word")), "403 Forbidden");
    assert_eq!(status(&served, &with("POST /cluster/drain/x", "cassandra:pass:word")), "404 Not Found");
    for header in ["Authorization: Basic", "Authorization: Basic %%%", "Authorization: Bearer x", "Authorization: Basic eA=="] {
        assert_eq!(status(&served, &format!("GET /status HTTP/1.1\r\n{header}\r\n\r\n")), UNAUTHORIZED, "{header}");
    }
}

#[test]
fn requests_get_what_they_ask_for() {
    let served = served(false);
    assert!(ask(&served, "GET / HTTP/1.1\r\n\r\n").body.starts_with("<!doctype html>"));
    let overview = ask(&served, "GET /api/v1/overview HTTP/1.1\r\nHost: localhost:8080\r\n\r\n");
    assert!(overview.status == OK && overview.body.contains("\"latency_bounds_us\":[25,"), "{}", overview.body);
    assert_eq!(status(&served, "GET /api/v1/overview HTTP/1.1\r\nHost: evil.example\r\n\r\n"), FORBIDDEN);
    assert_eq!(status(&served, "POST /api/v1/overview HTTP/1.1\r\n\r\n"), NOT_ALLOWED);
    assert_eq!(status(&served, "POST /api/v1/query HTTP/1.1\r\n\r\n"), BAD_REQUEST);
    assert_eq!(ask(&served, "GET /health HTTP/1.1\r\n\r\n"), Reply::text(OK, "ok"));
    served.ready.store(false, Ordering::Release);
    assert_eq!(status(&served, "GET /health HTTP/1.1\r\n\r\n"), "503 Service Unavailable");
    assert_eq!(status(&served, "GET /metrics HTTP/1.1\r\n\r\n"), OK);
    assert!(ask(&served, "GET /status HTTP/1.1\r\n\r\n").body.contains("\"clustered\": false"));
    for unknown in ["", "GET", "GET /healthy HTTP/1.1", "\u{fffd}\u{fffd}"] {
        assert_eq!(status(&served, unknown), "404 Not Found", "{unknown}");
    }
    assert_eq!(status(&served, "POST /status HTTP/1.1"), "405 Method Not Allowed");
    assert_eq!(status(&served, "GET /cluster/drain/1 HTTP/1.1"), "405 Method Not Allowed");
}

#[test]
fn a_node_by_itself_takes_no_orders() {
    let reply = ask(&served(false), "POST /cluster/drain/1 HTTP/1.1\r\n\r\n");
    assert_eq!(reply.status, CONFLICT);
    assert!(reply.body.contains("--node-port"), "{}", reply.body);
}

#[test]
fn web_pages_give_no_orders() {
    let reply = ask(&served(true), "POST /cluster/drain/1 HTTP/1.1\r\nHost: x\r\nORIGIN: http://evil\r\n\r\n");
    assert_eq!(reply.status, "403 Forbidden");
}

#[test]
fn orders_are_read_exactly() {
    assert_eq!(order("/cluster/drain/3", ""), Some(Order::Drain { node: 3 }));
    assert_eq!(order("/cluster/remove/3", ""), Some(Order::Remove { node: 3, force: false }));
    assert_eq!(order("/cluster/remove/3", "force=1"), Some(Order::Remove { node: 3, force: true }));
    for (path, query) in [
        ("/cluster/drain/x", ""),
        ("/cluster/drain/", ""),
        ("/cluster/drain/3/4", ""),
        ("/cluster/drain/-1", ""),
        ("/cluster/drain/99999999999", ""),
    ] {
        assert_eq!(order(path, query), None, "{path}");
    }
    assert_eq!(order("/cluster/remove/3", "force=yes"), None);
    assert_eq!(order("/cluster/drain/3", "force=1"), None);
    assert_eq!(order("/cluster/stop/3", ""), None);
}
