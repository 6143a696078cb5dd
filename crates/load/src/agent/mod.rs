//! Several load machines: an agent on each, a controller that splits a load among them and adds up what they measure.

mod channel;
mod controller;
mod server;
mod wire;

pub use controller::{Agents, AgentsError};
pub use server::Agent;
