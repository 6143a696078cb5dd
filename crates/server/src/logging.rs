//! Log lines: one event with its fields a line, on standard error.

use crate::exit::Failure;
use std::io::IsTerminal;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Logs from now on what `filter` lets through; without one what RUST_LOG says, or `info`.
pub(crate) fn start(filter: Option<&str>) -> Result<(), Failure> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let text = filter.or(from_environment.as_deref()).unwrap_or("info");
    let filter = text.parse::<Targets>().map_err(|source| Failure::LogFilter { filter: text.to_owned(), source })?;
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    // Without a reader of standard error, reporting that a line could not be written would be a panic.
    let lines = tracing_subscriber::fmt::layer().log_internal_errors(false).with_ansi(colours).compact().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(lines).with(filter).init();
    Ok(())
}
