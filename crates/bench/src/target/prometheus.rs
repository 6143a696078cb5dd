//! The figures of a target from its metrics: one HTTP request a second and address, for Prometheus's text format.
//!
//! A figure has several names: TarnDB's own and those of client libraries (`process_…`), and those of node_exporter for the whole machine.
//! The first that an address has counts; its series are summed. What an address does not have stays absent.

use crate::http;
use io_linux::ProcessFigures;
use std::fmt;

/// Where metrics are: `http://HOST[:PORT][/PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsUrl {
    host: String,
    path: String,
}

impl MetricsUrl {
    /// Reads an address: port 80 and path `/metrics` unless it says otherwise.
    ///
    /// # Errors
    /// Why it is none; what may be a password is not shown.
    pub(super) fn parse(given: &str) -> Result<Self, String> {
        if given.contains('@') {
            return Err("metrics that need a password cannot be read".to_owned());
        }
        let wrong = || format!("`{given}` is no address of metrics: it is http://HOST:PORT/PATH");
        let rest = given.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
        let host = if host.ends_with(']') || !host.contains(':') { format!("{host}:80") } else { host.to_owned() };
        let (name, port) = host.rsplit_once(':').ok_or_else(wrong)?;
        if name.is_empty() || port.parse::<u16>().map_or(true, |port| port == 0) || given.contains(char::is_whitespace) {
            return Err(wrong());
        }
        Ok(Self { path: format!("/{path}"), host })
    }
}

impl fmt::Display for MetricsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.host, self.path)
    }
}

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    /// No answer.
    #[error("no metrics from {url}: {source}")]
    Io {
        /// From where.
        url: MetricsUrl,
        /// Why.
        source: std::io::Error,
    },
    /// An answer that is not 200.
    #[error("no metrics from {url}: it answers `{status}`")]
    Status {
        /// From where.
        url: MetricsUrl,
        /// Its first line.
        status: String,
    },
    /// An answer without a figure that is known.
    #[error("no metrics from {url}: its answer has none of {}", names())]
    Unknown {
        /// From where.
        url: MetricsUrl,
    },
}

/// Asks once.
///
/// # Errors
/// When there is no answer in time, a wrong one, or one that says nothing of the target.
pub(crate) fn sample(url: &MetricsUrl) -> Result<ProcessFigures, MetricsError> {
    let answer = http::get(&url.host, &url.path, "text/plain").map_err(|source| MetricsError::Io { url: url.clone(), source })?;
    if !answer.is_ok() {
        return Err(MetricsError::Status { url: url.clone(), status: answer.status });
    }
    let sample = read_metrics(&answer.body);
    if sample == ProcessFigures::default() {
        return Err(MetricsError::Unknown { url: url.clone() });
    }
    Ok(sample)
}

/// Names of each figure, the one that is preferred first: its own process before the whole machine.
const CPU: &[&str] = &["process_cpu_seconds_total"];
const MEMORY: &[&str] = &["process_resident_memory_bytes"];
const DEVICE_READ: &[&str] = &["tarndb_device_read_bytes_total", "node_disk_read_bytes_total"];
const DEVICE_WRITTEN: &[&str] = &["tarndb_device_written_bytes_total", "node_disk_written_bytes_total"];
const NETWORK_RECEIVED: &[&str] = &["process_network_receive_bytes_total", "node_network_receive_bytes_total"];
const NETWORK_SENT: &[&str] = &["process_network_transmit_bytes_total", "node_network_transmit_bytes_total"];

fn names() -> String {
    [CPU, MEMORY, DEVICE_READ, DEVICE_WRITTEN, NETWORK_RECEIVED, NETWORK_SENT].concat().join(", ")
}

/// Reads what is known of a target from text in Prometheus's format.
#[must_use]
pub fn read_metrics(text: &str) -> ProcessFigures {
    let bytes = |names: &[&str]| figure(text, names).map(|bytes| bytes as u64);
    ProcessFigures {
        cpu_s: figure(text, CPU),
        memory: bytes(MEMORY),
        memory_peak: None,
        device_read: bytes(DEVICE_READ),
        device_written: bytes(DEVICE_WRITTEN),
        network_received: bytes(NETWORK_RECEIVED),
        network_sent: bytes(NETWORK_SENT),
    }
}

/// The sum over all series of the first of these names that is there.
fn figure(text: &str, names: &[&str]) -> Option<f64> {
    names.iter().find_map(|name| {
        let values = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            // The name ends here: at its labels or at the value.
            if !rest.starts_with(['{', ' ']) {
                return None;
            }
            let after_labels = rest.rsplit_once('}').map_or(rest, |(_, value)| value);
            after_labels.split_whitespace().next()?.parse::<f64>().ok().filter(|value| value.is_finite())
        });
        values.reduce(|sum, value| sum + value)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    /// Gives these answers, one after the other, to who asks for `/m`.
    pub(crate) fn serve(answers: Vec<&'static str>) -> (MetricsUrl, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = MetricsUrl::parse(&format!("http://{}/m", listener.local_addr().unwrap())).unwrap();
        let serve = move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 256];
                let length = stream.read(&mut request).unwrap();
                assert!(request[..length].starts_with(b"GET /m HTTP/1.0\r\n"));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        };
        (url, std::thread::spawn(serve))
    }

    #[test]
    fn series_are_summed_and_longer_names_are_others() {
        let text = "# HELP process_cpu_seconds_total x\nprocess_cpu_seconds_total 12.5\nprocess_cpu_seconds_total_more 99\n\
            node_disk_read_bytes_total{device=\"a} b\"} 1e3\nnode_disk_read_bytes_total{device=\"c\"} 24 1700000000\n\
            process_resident_memory_bytes NaN\n";
        let sample = read_metrics(text);
        assert_eq!((sample.cpu_s, sample.device_read, sample.memory), (Some(12.5), Some(1024), None));
    }

    #[test]
    fn the_target_counts_before_its_machine() {
        let machine = "node_disk_written_bytes_total{device=\"a\"} 10\nnode_network_receive_bytes_total{device=\"lo\"} 3\n\
            node_network_receive_bytes_total{device=\"eth0\"} 4\nnode_network_transmit_bytes_total{device=\"lo\"} 5\n";
        let sample = read_metrics(machine);
        assert_eq!((sample.device_written, sample.network_received, sample.network_sent), (Some(10), Some(7), Some(5)));
        let sample = read_metrics(&format!("{machine}tarndb_device_written_bytes_total 6\nprocess_network_receive_bytes_total 1\n"));
        assert_eq!((sample.device_written, sample.network_received, sample.network_sent), (Some(6), Some(1), Some(5)));
    }

    #[test]
    fn addresses_have_a_port_and_a_path() {
        for (given, shown) in [
            ("http://h:9/a/b?c=d", "http://h:9/a/b?c=d"),
            ("http://h:9", "http://h:9/metrics"),
            ("http://h/m", "http://h:80/m"),
            ("http://[::1]/m", "http://[::1]:80/m"),
            ("http://[::1]:9/m", "http://[::1]:9/m"),
        ] {
            assert_eq!(MetricsUrl::parse(given).unwrap().to_string(), shown);
        }
        for wrong in ["", "h:9", "https://h:9/m", "http://", "http:///m", "http://h:0/m", "http://h:x/m", "http://:9/m", "http://h:9/a b"] {
            assert!(MetricsUrl::parse(wrong).unwrap_err().contains(&format!("`{wrong}`")), "{wrong}");
        }
        assert!(!MetricsUrl::parse("http://me:secret@h:9/m").unwrap_err().contains("secret"));
    }

    #[test]
    fn what_is_no_metrics_is_said() {
        let (url, answers) = serve(vec![
            "HTTP/1.0 404 Not Found\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\n<html>\n",
            "HTTP/1.0 200 OK\r\n\r\nprocess_resident_memory_bytes 7\n",
        ]);
        let said = |error: MetricsError| error.to_string();
        let status = said(sample(&url).unwrap_err());
        assert!(status.contains(&url.to_string()) && status.contains("404 Not Found"), "{status}");
        let unknown = said(sample(&url).unwrap_err());
        assert!(unknown.contains(&url.to_string()) && unknown.contains("process_cpu_seconds_total"), "{unknown}");
        assert_eq!(sample(&url).unwrap().memory, Some(7));
        answers.join().unwrap();
        // Nobody listens any more, or somebody else who does not answer.
        let refused = said(sample(&url).unwrap_err());
        assert!(refused.contains(&url.to_string()) && refused.contains("Connection re"), "{refused}");
        for line in [status, unknown, refused] {
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
