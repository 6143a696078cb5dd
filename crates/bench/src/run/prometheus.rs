//! The figures of a remote target from its metrics: one HTTP request a second for Prometheus's text format.
//!
//! Names are those that client libraries give a process (`process_cpu_seconds_total`, `process_resident_memory_bytes`), and for devices
//! those of node_exporter; what a target does not have stays absent.

use crate::http;
use crate::target::ProcessSample;
use std::net::ToSocketAddrs;

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub(super) enum MetricsError {
    /// No address of the kind that is understood.
    #[error("`{url}` is no address of metrics: it is http://HOST:PORT/PATH")]
    Url {
        /// What was given.
        url: String,
    },
    /// No answer.
    #[error("no metrics from {url}: {source}")]
    Io {
        /// From where.
        url: String,
        /// Why.
        source: std::io::Error,
    },
    /// An answer that is not 200.
    #[error("no metrics from {url}: it answers `{status}`")]
    Status {
        /// From where.
        url: String,
        /// Its first line.
        status: String,
    },
}

/// Asks once.
///
/// # Errors
/// When there is no answer in time, or a wrong one.
pub(super) fn sample(url: &str) -> Result<ProcessSample, MetricsError> {
    let wrong = || MetricsError::Url { url: url.to_owned() };
    let failed = |source| MetricsError::Io { url: url.to_owned(), source };
    let rest = url.strip_prefix("http://").ok_or_else(wrong)?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
    let address = host.to_socket_addrs().map_err(|_| wrong())?.next().ok_or_else(wrong)?;
    let answer = http::get(&address.to_string(), &format!("/{path}"), "text/plain").map_err(failed)?;
    if !answer.is_ok() {
        return Err(MetricsError::Status { url: url.to_owned(), status: answer.status });
    }
    Ok(read(&answer.body))
}

/// Reads what is known of a process, sums over all series of a name.
fn read(text: &str) -> ProcessSample {
    let sum = |name: &str| {
        let values = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            // The name ends here: at its labels or at the value.
            if !rest.starts_with(['{', ' ']) {
                return None;
            }
            let after_labels = rest.rsplit_once('}').map_or(rest, |(_, value)| value);
            after_labels.split_whitespace().next()?.parse::<f64>().ok()
        });
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>())
    };
    ProcessSample {
        cpu_s: sum("process_cpu_seconds_total"),
        memory: sum("process_resident_memory_bytes").map(|bytes| bytes as u64),
        memory_peak: None,
        device_read: sum("node_disk_read_bytes_total").map(|bytes| bytes as u64),
        device_written: sum("node_disk_written_bytes_total").map(|bytes| bytes as u64),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn series_are_summed_and_longer_names_are_others() {
        let text = "# HELP process_cpu_seconds_total x\nprocess_cpu_seconds_total 12.5\nprocess_cpu_seconds_total_more 99\n\
            node_disk_read_bytes_total{device=\"a} b\"} 1e3\nnode_disk_read_bytes_total{device=\"c\"} 24 1700000000\n";
        let sample = read(text);
        assert_eq!((sample.cpu_s, sample.device_read, sample.memory), (Some(12.5), Some(1024), None));
    }

    #[test]
    fn what_is_no_metrics_is_said() {
        assert!(matches!(sample("https://x/"), Err(MetricsError::Url { .. })));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/m", listener.local_addr().unwrap());
        let answers = std::thread::spawn(move || {
            for answer in ["HTTP/1.0 404 Not Found\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nprocess_resident_memory_bytes 7\n"] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 256];
                let length = stream.read(&mut request).unwrap();
                assert!(request[..length].starts_with(b"GET /m HTTP/1.0\r\n"));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        assert!(matches!(sample(&url), Err(MetricsError::Status { .. })));
        assert_eq!(sample(&url).unwrap().memory, Some(7));
        answers.join().unwrap();
    }
}
