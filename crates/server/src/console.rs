//! The console: one page at `/`, and the JSON under `/api/v1/` that it and `tarndb top` read. `docs/reference/console.md` lists it.
//!
//! | request | answers |
//! |---|---|
//! | `GET /`, `/console.css`, `/console.js` and other scripts | the page, for everybody: it has nothing of the node in it |
//! | `GET /api/v1/overview` | figures of the node and what it knows of its cluster |
//! | `GET /api/v1/schema[?keyspace=K&table=T]` | names, or all of a table |
//! | `GET /api/v1/clients` | who may read `system_views.clients` sees CQL's clients |
//! | `GET /api/v1/load` | slow requests and hot partitions, for who may read `system_views.slow_queries` and `hot_partitions` |
//! | `POST /api/v1/query` | `{"query": "SELECT …"}`: rows, as the role that has logged in may see them; with `"language": "sql"` of SQL |
//!
//! Everything comes from what cores have left on the board, or, rows, from the node's own port as any client gets them: no core does anything for a
//! console that it would not do for a client.
//!
//! Invariant: without a login no name of another machine leads here. Else a web page whose name is made to point at this node could read rows
//! through its reader's browser.

mod clients;
mod limits;
mod load;
mod login;
mod overview;
mod query;
mod schema;
mod sql_query;

pub(crate) use login::{Asker, Login, Proof};

use crate::config::Config;
use crate::http::{FORBIDDEN, NOT_ALLOWED, NOT_FOUND, OK, Reply, Request};
use crate::node::certificate_logins;
use crate::settings::Authorization;
use ::node::{Board, ClientTlsConfig};
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;

/// What all paths of the API begin with.
pub(crate) const API: &str = "/api/v1/";

/// Of every reply: what the page may load and who may show it, and that nothing is kept.
pub(crate) const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nX-Content-Type-Options: nosniff\r\n\
    Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n";

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The page and what it loads.
const PAGES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("console/console.html")),
    ("/console.css", "text/css; charset=utf-8", include_str!("console/console.css")),
    ("/console.js", SCRIPT, include_str!("console/console.js")),
    ("/charts.js", SCRIPT, include_str!("console/charts.js")),
    ("/dom.js", SCRIPT, include_str!("console/dom.js")),
    ("/load.js", SCRIPT, include_str!("console/load.js")),
    ("/history.js", SCRIPT, include_str!("console/history.js")),
    ("/node.js", SCRIPT, include_str!("console/node.js")),
    ("/overview.js", SCRIPT, include_str!("console/overview.js")),
    ("/query.js", SCRIPT, include_str!("console/query.js")),
    ("/schema.js", SCRIPT, include_str!("console/schema.js")),
];

/// What the console knows of its node.
#[derive(Default)]
pub(crate) struct Console {
    cql: OnceLock<SocketAddr>,
    memory_limit_bytes: u64,
    checks_permissions: bool,
    /// None where clients need not speak it.
    tls: Option<ClientTlsConfig>,
    queries: AtomicUsize,
}

/// A part of the page; it is asked for without a login.
pub(crate) fn page(path: &str) -> Option<Reply> {
    let (_, kind, body) = PAGES.iter().find(|(name, _, _)| *name == path)?;
    Some(Reply { status: OK, kind, body: (*body).to_owned() })
}

impl Console {
    pub(crate) fn new(config: &Config, tls: Option<ClientTlsConfig>) -> Self {
        Self {
            memory_limit_bytes: config.memory_limit.0,
            checks_permissions: config.authorization == Authorization::Permissions,
            // Own connections carry a certificate by TLS alone.
            tls: tls.filter(|tls| tls.is_required || certificate_logins(config).is_some()),
            ..Self::default()
        }
    }

    /// Clients of CQL are served there.
    pub(crate) fn set_cql(&self, address: Option<SocketAddr>) {
        if let Some(address) = address {
            let _ = self.cql.set(address);
        }
    }

    /// Where clients of CQL are served, once they are.
    pub(crate) fn cql(&self) -> Option<SocketAddr> {
        self.cql.get().copied()
    }

    /// Whether roles need permissions.
    pub(crate) fn checks_permissions(&self) -> bool {
        self.checks_permissions
    }

    /// How they are to be spoken to, where that is by TLS.
    pub(crate) fn tls(&self) -> Option<&ClientTlsConfig> {
        self.tls.as_ref()
    }

    /// Answers a request for something under [`API`].
    pub(crate) fn answer(&self, board: &Board, ready: bool, asker: Asker<'_>, request: &Request) -> Reply {
        let login = asker.login;
        if let Some(refusal) = refuse_domain(login, request) {
            return refusal;
        }
        match (request.method(), &request.target().0[API.len()..]) {
            ("GET", "overview") => Reply::json(&overview::overview(board, ready, self.memory_limit_bytes)),
            ("GET", "schema") => schema::answer(&board.schema(), request),
            ("GET", "clients") => clients::answer(board, login.filter(|_| self.checks_permissions)),
            ("GET", "load") => load::answer(board, login.filter(|_| self.checks_permissions)),
            ("POST", "query") => self.query(board, asker, request),
            (_, "overview" | "schema" | "clients" | "load") => Reply::text(NOT_ALLOWED, "this is to be read with GET"),
            (_, "query") => Reply::text(NOT_ALLOWED, "a statement comes with POST"),
            _ => Reply::text(NOT_FOUND, "there are /api/v1/overview, schema, clients, load and query"),
        }
    }
}

/// Without a login rows are not for whoever has made a name of another machine lead here.
pub(crate) fn refuse_domain(login: Option<&Login>, request: &Request) -> Option<Reply> {
    let is_refused = login.is_none() && !request.header("host").is_none_or(is_own_name);
    let text = "without log-ins (setting `authentication`) this is for whoever names the node by its address, or by a name without dots";
    is_refused.then(|| Reply::text(FORBIDDEN, text))
}

/// Whether a name leads here without anybody else's doing: an address, or a name that is no domain of the internet.
fn is_own_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.parse::<IpAddr>().is_ok() || !name.trim_end_matches('.').contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_internet_are_not_ones_own() {
        for own in ["127.0.0.1:8080", "[::1]:8080", "[::1]", "localhost:8080", "node1", "10.0.0.1"] {
            assert!(is_own_name(own), "{own}");
        }
        for other in ["evil.example", "evil.example:8080", "127.0.0.1.evil.example:1", "a.b"] {
            assert!(!is_own_name(other), "{other}");
        }
    }

    #[test]
    fn pages_have_nothing_inline_and_load_nothing_from_elsewhere() {
        for (name, _, body) in PAGES {
            assert!(!body.contains("http://") && !body.contains("https://"), "{name}");
            for inline in ["style=\"", "<style", "onclick=", "onload=", "innerHTML", "eval("] {
                assert!(!body.contains(inline), "{name} has {inline}");
            }
        }
    }
}
