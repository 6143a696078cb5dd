//! Requests that another core or member has to run.
//!
//! Owns: requests that this core has sent on or cannot send yet, requests of others that wait for newer metadata, where drivers are sent.
//! Never touches: streams, roles (it reads them).
//!
//! | a routed request | next |
//! |---|---|
//! | waits | there is a primary and a link → sent · its patience ends → `Unavailable` |
//! | sent | reply → answered · not the primary → waits · link lost: a read waits again, a write ends as a timeout |

pub(crate) mod forwarding;
pub(crate) mod pending_requests;
pub(crate) mod replicas;
pub(crate) mod requests;
pub(crate) mod routed;
pub(crate) mod state;
pub(crate) mod tablets;
