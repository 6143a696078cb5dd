//! Requests before READY: what STARTUP agrees on, and the log-in of a client that has no certificate.
//!
//! On the path: [`super::Session::receive`] comes here until the connection is ready, and never again.

use super::client::{BACKGROUND, Client, WORKLOAD};
use super::credentials::Credentials;
use super::server::Server;
use crate::clients::ConnectedClient;
use crate::wire::{
    Compression, Frame, Opcode, ProtocolVersion, Request, StreamId, StringMap, TABLETS_ROUTING, write_authenticate, write_supported,
};
use crate::{CqlError, reply};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    New,
    /// The client has been asked who it is.
    Asked,
    /// What it has said is being checked.
    Checking,
    Ready,
}

/// What a request before READY leads to.
pub(super) enum Handshake {
    Answered,
    Start(Started),
}

/// A STARTUP that is taken.
pub(super) struct Started {
    pub(super) compression: Option<Compression>,
    wants_tablets: bool,
    is_background: bool,
    connected: Arc<ConnectedClient>,
    role: Option<Arc<str>>,
}

pub(super) fn new_request(frame: &Frame<'_>, client: &Client, server: &mut impl Server, out: &mut Vec<u8>) -> Handshake {
    let (version, stream) = (frame.header.version, frame.header.stream);
    let outcome = match Request::decode(frame) {
        Ok((_, Request::Options)) => {
            write_options(version, stream, server, out);
            return Handshake::Answered;
        }
        Ok((_, Request::Startup(options))) => server.admit().and_then(|()| startup(&options, client, server)),
        Ok((_, other)) => Err(CqlError::Protocol(format!("Unexpected message {}, expecting STARTUP or OPTIONS", other.opcode().name()))),
        Err(error) => Err(CqlError::Protocol(error.to_string())),
    };
    match outcome {
        Ok(handshake) => handshake,
        Err(error) => {
            reply::write_error(out, version, stream, &error);
            Handshake::Answered
        }
    }
}

fn startup(options: &StringMap<'_>, client: &Client, server: &mut impl Server) -> Result<Handshake, CqlError> {
    let Some(cql_version) = options.get("CQL_VERSION") else {
        return Err(CqlError::Protocol("Missing value CQL_VERSION in STARTUP message".to_owned()));
    };
    let major = cql_version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major < 3) {
        return Err(CqlError::Protocol(format!(
            "CQL version {cql_version} is not supported by the binary protocol (supported version are >= 3.0.0)"
        )));
    }
    let compression = match options.get("COMPRESSION") {
        None | Some("") => None,
        Some(name) => {
            let known = Compression::from_name(name);
            Some(known.ok_or_else(|| CqlError::Protocol(format!("Unknown compression algorithm: {name}")))?)
        }
    };
    let role = server.certified(client)?;
    let connected = Arc::new(ConnectedClient::new(client.address, client.version, client.encryption, options.iter()));
    let wants_tablets = options.get(TABLETS_ROUTING).is_some();
    let is_background = options.get(WORKLOAD) == Some(BACKGROUND);
    Ok(Handshake::Start(Started { compression, wants_tablets, is_background, connected, role }))
}

/// Answers a STARTUP: the client is ready, or has to say first who it is.
pub(super) fn answer_startup(
    started: Started,
    client: &mut Client,
    stream: StreamId,
    server: &mut impl Server,
    out: &mut Vec<u8>,
) -> Phase {
    let Started { wants_tablets, is_background, connected, role, .. } = started;
    let version = client.version;
    client.wants_tablets = wants_tablets;
    client.is_background = is_background;
    server.connected(&connected);
    client.connected = Some(connected);
    let class = if role.is_some() { None } else { server.authenticator() };
    match class {
        None => {
            client.show(|state| (state.is_ready, state.role) = (true, role.clone()));
            client.role = role;
            reply::write_frame(out, version, stream, Opcode::Ready, |_| {});
            Phase::Ready
        }
        Some(class) => {
            reply::write_frame(out, version, stream, Opcode::Authenticate, |body| write_authenticate(body, class));
            Phase::Asked
        }
    }
}

pub(super) fn write_options(version: ProtocolVersion, stream: StreamId, server: &impl Server, out: &mut Vec<u8>) {
    let supported = server.supported();
    reply::write_frame(out, version, stream, Opcode::Supported, |body| {
        write_supported(
            body,
            supported.iter().map(|(name, values)| (name.as_str(), values.iter().map(String::as_str).collect::<Vec<_>>())),
        );
    });
}

/// A request of a client that has to log in first.
pub(super) fn unknown_request(frame: &Frame<'_>, client: &mut Client, phase: &mut Phase, server: &mut impl Server, out: &mut Vec<u8>) {
    let (version, stream) = (frame.header.version, frame.header.stream);
    let outcome = match (Request::decode(frame), &*phase) {
        (Ok((_, Request::Options)), _) => return write_options(version, stream, server, out),
        (Ok((_, Request::AuthResponse(token))), Phase::Asked) => {
            Credentials::decode(token).and_then(|credentials| server.authenticate(stream, client.address, credentials)).map(|()| {
                client.in_flight += 1;
                *phase = Phase::Checking;
            })
        }
        (Ok((_, other)), Phase::Asked) => {
            Err(CqlError::Protocol(format!("Unexpected message {}, expecting AUTH_RESPONSE", other.opcode().name())))
        }
        (Ok((_, other)), _) => {
            Err(CqlError::Protocol(format!("Unexpected message {} before AUTH_RESPONSE has been answered", other.opcode().name())))
        }
        (Err(error), _) => Err(CqlError::Protocol(error.to_string())),
    };
    if let Err(error) = outcome {
        reply::write_error(out, version, stream, &error);
    }
}
