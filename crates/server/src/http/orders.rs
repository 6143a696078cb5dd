//! Orders of operators: settings, and members that are drained or removed.

use super::reply::{BAD_REQUEST, CONFLICT, NOT_FOUND, OK, Reply, UNAVAILABLE};
use crate::live_settings::SettingsControl;
use ::node::{Answer, Board, Order};
use std::time::Duration;

/// Longer than the cluster may take to decide.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(13);

pub(super) fn set(settings: Option<&SettingsControl>, name: &str, value: &str) -> Reply {
    match settings.map(|settings| settings.set(name, value)) {
        Some(Ok(said)) => Reply::text(OK, said),
        Some(Err(refusal)) => Reply::text(BAD_REQUEST, refusal.to_string()),
        None => Reply::text(NOT_FOUND, "this node has no settings"),
    }
}

pub(super) fn order(path: &str, query: &str) -> Option<Order> {
    let (what, node) = path.strip_prefix("/cluster/")?.split_once('/')?;
    let node = node.parse().ok()?;
    match (what, query) {
        ("drain", "") => Some(Order::Drain { node }),
        ("remove", "" | "force=0") => Some(Order::Remove { node, force: false }),
        ("remove", "force=1") => Some(Order::Remove { node, force: true }),
        _ => None,
    }
}

pub(super) fn carry_out(board: &Board, order: Order) -> Reply {
    if !board.report().clustered {
        return Reply::text(CONFLICT, "this node is by itself: clustering is on with --node-port or --join");
    }
    let Some(answers) = board.order(order) else {
        return Reply::text(UNAVAILABLE, "too many orders wait already");
    };
    match answers.recv_timeout(ANSWER_TIMEOUT) {
        Ok(Answer::Done(text)) => Reply::text(OK, text),
        Ok(Answer::Refused(text)) => Reply::text(CONFLICT, text),
        Ok(Answer::Unknown) | Err(_) => Reply::text(
            "504 Gateway Timeout",
            "the cluster has not decided in time; it may still: look at the status, then ask again, which does no harm",
        ),
    }
}
