//! Log lines: one event with its fields a line, for people or as a JSON object, on standard error.

use crate::exit::Failure;
use crate::log_writer::LogWriter;
use crate::settings::LogFormat;
use std::io::IsTerminal;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// What is let through, which can change.
pub(crate) struct LogFilter(reload::Handle<Targets, Registry>);

/// Logs from now on what `filter` lets through; without one what RUST_LOG says, or `info`.
pub(crate) fn start(filter: Option<&str>, format: LogFormat) -> Result<LogFilter, Failure> {
    let from_environment = std::env::var("RUST_LOG").ok();
    let text = filter.or(from_environment.as_deref()).unwrap_or("info");
    let filter = text.parse::<Targets>().map_err(|source| Failure::LogFilter { filter: text.to_owned(), source })?;
    let (filter, handle) = reload::Layer::new(filter);
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt::layer().with_writer(LogWriter::new(std::io::stderr()));
    let lines = match format {
        LogFormat::Text => lines.with_ansi(colours).compact().boxed(),
        LogFormat::Json => lines.with_ansi(false).json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).init();
    Ok(LogFilter(handle))
}

impl LogFilter {
    /// Lets through what this filter does, from now on.
    pub(crate) fn set(&self, text: &str) -> Result<(), ParseError> {
        let filter = text.parse::<Targets>()?;
        // It lives as long as the process.
        let _ = self.0.reload(filter);
        Ok(())
    }

    /// One whose lines nobody sees.
    #[cfg(test)]
    pub(crate) fn nowhere() -> Self {
        Self(reload::Layer::new(Targets::new()).1)
    }
}
