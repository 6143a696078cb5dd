//! What the threads of the HTTP port share.

use super::audit::HttpAudit;
use super::connections::Connections;
use super::lasting::Places;
use crate::backup::streams::Streams;
use crate::console::Console;
use crate::live_settings::SettingsControl;
use crate::metrics;
use crate::operator_logins::OperatorLogins;
use ::node::{Board, ClientTlsConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use tls::IdentityKind;

/// What requests are answered from, and who is let in.
pub(super) struct Served {
    pub(super) ready: AtomicBool,
    pub(super) connections: Connections,
    pub(super) orders: AtomicUsize,
    pub(super) feeds: Places,
    pub(super) statements: Places,
    pub(super) board: Arc<Board>,
    /// None where nobody has to log in.
    pub(super) logins: Option<OperatorLogins>,
    pub(super) tls: Option<ClientTlsConfig>,
    pub(super) certificate_identity: Option<IdentityKind>,
    pub(super) node_certificate_end: Option<u64>,
    pub(super) console: Console,
    pub(super) streams: Streams,
    pub(super) settings: Option<SettingsControl>,
    pub(super) audit: HttpAudit,
}

impl Served {
    /// Until when this node's certificates are valid.
    pub(super) fn certificates(&self) -> Vec<metrics::CertificateEnd> {
        let client = self.tls.as_ref().and_then(|tls| tls.tls.not_after_s()).map(|end| ("tls_certificate", end));
        client.into_iter().chain(self.node_certificate_end.map(|end| ("node_certificate", end))).collect()
    }

    pub(super) fn new(board: Arc<Board>, connections_max: usize, requires_login: bool) -> Self {
        let connections = Connections::new(connections_max);
        let (feeds, statements) = (Places::new(connections.feeds_max()), Places::new(connections.feeds_max()));
        let logins = requires_login.then(|| OperatorLogins::new(Arc::clone(&board)));
        Self {
            ready: AtomicBool::new(false),
            connections,
            orders: AtomicUsize::new(0),
            feeds,
            statements,
            board,
            logins,
            tls: None,
            certificate_identity: None,
            node_certificate_end: None,
            console: Console::default(),
            streams: Streams::default(),
            settings: None,
            audit: HttpAudit::new(None),
        }
    }
}
