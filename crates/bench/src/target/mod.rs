//! What a study is run against: a private TarnDB node, a peer that a script starts, or a server that is there already.

mod command;
mod peer;
mod private;
mod process;
mod prometheus;
mod remote;
mod spec;
mod system;

pub use process::sum_of_processes;
pub(crate) use prometheus::sample as metrics_sample;
#[cfg(test)]
pub(crate) use prometheus::tests::serve as serve_metrics;
pub use prometheus::{MetricsError, MetricsUrl, read_metrics};
pub use spec::{Access, Protocol, SpecError, TargetSpec};
pub use system::{Health, Means, System, SystemError};

/// The system that a target names.
///
/// # Errors
/// When it can't be made with these means.
pub fn system(spec: &TargetSpec, means: Means) -> Result<Box<dyn System>, SystemError> {
    Ok(match spec {
        TargetSpec::Private { name, protocol, nodes, .. } => {
            Box::new(private::PrivateNodes::new(name, *protocol, nodes.unwrap_or(1), means)?)
        }
        TargetSpec::Peer { name, options } => Box::new(peer::Peer::new(name, options, means)?),
        TargetSpec::Server { name, address, pid, metrics, .. } => {
            Box::new(remote::Remote::new(name, address, *pid, metrics.clone(), means.commands, means.stop))
        }
    })
}
