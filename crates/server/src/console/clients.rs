//! `GET /api/v1/clients`: `system_views.clients`, for who may read that.

use super::login::Login;
use crate::http::{FORBIDDEN, Reply};
use ::node::Board;
use cql::ConnectedClient;
use cql::permissions::Rights;
use model::{Permission, Resource};
use serde_json::{Value, json};

/// So many are shown.
const CLIENTS_MAX: usize = 500;

/// Answers somebody whose permissions are checked, or, without a login, everybody.
pub(super) fn answer(board: &Board, login: Option<&Login>) -> Reply {
    let table = Resource::table("system_views", "clients");
    if let Some(login) = login
        && !Rights::of(&board.schema(), &login.role).allow(Permission::Select, &table)
    {
        return Reply::text(FORBIDDEN, format!("the role {} has no SELECT permission on {table}", login.role));
    }
    let clients = board.clients();
    let shown = clients.iter().take(CLIENTS_MAX).map(|client| self::client(client));
    Reply::json(&json!({"count": clients.len(), "clients": shown.collect::<Vec<_>>()}))
}

fn client(client: &ConnectedClient) -> Value {
    let state = client.state();
    let option = |name| client.options.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    json!({
        "address": client.address.to_string(),
        "role": state.role.as_deref(),
        "keyspace": state.keyspace,
        "driver": option("DRIVER_NAME"),
        "driver_version": option("DRIVER_VERSION"),
        "application": option("APPLICATION_NAME"),
        "protocol_version": client.version.number(),
        "is_encrypted": client.encryption.is_some(),
        "requests": client.requests(),
    })
}
