//! Requests on their way: signed, tried, tried again.
//!
//! An attempt ends when nothing moves for `--s3-timeout`; all attempts of a request end when `--s3-retry-for` is over, however slowly bytes come. Pauses between them double, with some chance in them.

use super::credentials::{Credentials, CredentialsSource};
use super::endpoint::Endpoint;
use super::error::S3Error;
use super::judgement::{Fault, judge};
use super::request::{Answer, Ask, Method};
use super::sign::{Scene, sign, time_text};
use super::trust::authorities;
use rustls::crypto::ring::default_provider;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use ureq::Agent;
use ureq::http::{Request, Response};
use ureq::tls::{RootCerts, TlsConfig};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LAST_PAUSE: Duration = Duration::from_secs(10);
/// Whoever waits longer is told why.
const QUIET: Duration = Duration::from_secs(5);
const CONNECTIONS_KEPT: usize = 256;
const HEAD_BYTES_MAX: usize = 64 << 10;

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For something to move.
    pub(super) timeout: Duration,
    /// For a request, with all its attempts.
    pub(super) retry_for: Duration,
}

/// What requests need.
pub(super) struct Wire {
    agent: Agent,
    pub(super) endpoint: Endpoint,
    region: String,
    source: CredentialsSource,
    credentials: Mutex<Credentials>,
    patience: Patience,
    /// S3 does not know conditions and checksums.
    is_plain: AtomicBool,
}

impl Wire {
    pub(super) fn new(
        endpoint: Endpoint,
        region: String,
        source: CredentialsSource,
        ca: Option<&Path>,
        patience: Patience,
    ) -> Result<Self, S3Error> {
        let credentials = Mutex::new(source.read(variable)?);
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("tarndb/", env!("CARGO_PKG_VERSION")))
            .max_response_header_size(HEAD_BYTES_MAX)
            .max_idle_connections(CONNECTIONS_KEPT)
            .max_idle_connections_per_host(CONNECTIONS_KEPT)
            .timeout_per_read(Some(patience.timeout))
            .timeout_per_write(Some(patience.timeout))
            .timeout_connect(Some(patience.timeout))
            .timeout_recv_response(Some(patience.timeout));
        if endpoint.is_tls {
            let roots = RootCerts::from(authorities(ca)?);
            config = config.tls_config(
                TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(Arc::new(default_provider())).build(),
            );
        }
        Ok(Self {
            agent: Agent::new_with_config(config.build()),
            endpoint,
            region,
            source,
            credentials,
            patience,
            is_plain: AtomicBool::new(false),
        })
    }

    /// Asks until S3 has answered for good, or time is over.
    pub(super) fn ask(&self, ask: &Ask<'_>) -> Result<Answer, S3Error> {
        let (begun, mut pause, mut tries, mut is_told) = (Instant::now(), FIRST_PAUSE, 0, false);
        loop {
            tries += 1;
            let left = self.patience.retry_for.saturating_sub(begun.elapsed()).max(FIRST_PAUSE);
            let credentials = self.known().clone();
            let why = match self.attempt(ask, left, &credentials) {
                Ok(answer) => return Ok(answer),
                Err(Fault::Lasting(error)) => return Err(error),
                Err(Fault::Plain) if !self.is_plain.swap(true, Ordering::Relaxed) => continue,
                Err(Fault::Plain) => "it does not know what it is asked for".to_owned(),
                Err(Fault::Credentials(error)) => {
                    if self.renew(&credentials)? {
                        continue;
                    }
                    return Err(error);
                }
                Err(Fault::Passing(why)) => why,
            };
            let waits = jitter(pause);
            if begun.elapsed() + waits >= self.patience.retry_for {
                let (what, endpoint, seconds) = (ask.what.clone(), self.endpoint.url(), begun.elapsed().as_secs_f64().round() as u64);
                return Err(S3Error::GivenUp { what, endpoint, seconds, tries, why });
            }
            if begun.elapsed() > QUIET && !is_told {
                eprintln!("waiting for S3: {}: {why}; it is tried again for {} s", ask.what, self.patience.retry_for.as_secs());
                is_told = true;
            }
            std::thread::sleep(waits);
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        self.is_plain.load(Ordering::Relaxed)
    }

    fn known(&self) -> MutexGuard<'_, Credentials> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the credentials again; whether they are others than those that were used. Another request may have had them read before.
    fn renew(&self, used: &Credentials) -> Result<bool, S3Error> {
        let new = self.source.read(variable)?;
        let is_new = new != *used;
        *self.known() = new;
        Ok(is_new)
    }

    fn attempt(&self, ask: &Ask<'_>, limit: Duration, credentials: &Credentials) -> Result<Answer, Fault> {
        let is_plain = self.is_plain();
        let mut sent = ask.clone();
        if !is_plain {
            sent.headers.extend(ask.extras.iter().cloned());
        }
        let (path, time) = (self.endpoint.path(&ask.key), time_text(SystemTime::now()));
        let scene = Scene { region: &self.region, host: &self.endpoint.host, path: &path, time: &time };
        let query = ask.query_text();
        let mark = if query.is_empty() { "" } else { "?" };
        let mut request = Request::builder().method(ask.method.name()).uri(format!("{}{path}{mark}{query}", self.endpoint.url()));
        for (name, value) in sign(&sent, &scene, credentials) {
            request = request.header(name, value);
        }
        let answered = match ask.method {
            Method::Put | Method::Post => request.body(ask.body).map(|request| self.run(request, limit)),
            Method::Get | Method::Head | Method::Delete => request.body(()).map(|request| self.run(request, limit)),
        };
        let strange = |why: String| self.strange(ask, why);
        let answered = answered.map_err(|error| Fault::Lasting(strange(format!("it cannot be asked for that: {error}"))))?;
        let answer = answered.and_then(|answer| read(answer, ask.answer_bytes_max));
        let answer = answer.map_err(|error| fault_of(&error).map_or_else(|| Fault::Lasting(strange(lasting(&error))), Fault::Passing))?;
        judge(ask, answer, is_plain, strange)
    }

    fn run<B: ureq::AsSendBody>(&self, request: Request<B>, limit: Duration) -> Result<Response<ureq::Body>, ureq::Error> {
        self.agent.run(self.agent.configure_request(request).timeout_global(Some(limit)).build())
    }

    pub(super) fn strange(&self, ask: &Ask<'_>, why: String) -> S3Error {
        S3Error::Strange { what: ask.what.clone(), endpoint: self.endpoint.url(), why }
    }
}

/// What the environment has; what is empty is not there.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(answer: Response<ureq::Body>, bytes_max: u64) -> Result<Answer, ureq::Error> {
    let status = answer.status().as_u16();
    let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = answer.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let body = answer.into_body().into_with_config().limit(bytes_max).read_to_vec()?;
    Ok(Answer::new(status, headers, body))
}

/// What may pass, in words; `None` if it will be so again.
fn fault_of(error: &ureq::Error) -> Option<String> {
    let of_tls = match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::LargeResponseHeader(..) | ureq::Error::BadUri(_) | ureq::Error::Tls(_) => {
            return None;
        }
        _ => None,
    };
    if let Some(rustls::Error::InvalidCertificate(_) | rustls::Error::InvalidMessage(_) | rustls::Error::AlertReceived(_)) = of_tls {
        return None;
    }
    Some(match error {
        ureq::Error::Timeout(_) => "it does not answer in time".to_owned(),
        ureq::Error::HostNotFound => "its name has no address".to_owned(),
        ureq::Error::Io(error) => format!("the connection has failed: {error}"),
        other => format!("the connection has failed: {other}"),
    })
}

/// What will be so again, in words.
fn lasting(error: &ureq::Error) -> String {
    match error {
        ureq::Error::BodyExceedsLimit(bytes) => format!("its answer is longer than {bytes} bytes"),
        other => other.to_string(),
    }
}

/// Between half of it and all of it, so that many who wait do not come at once.
fn jitter(pause: Duration) -> Duration {
    let mut seed = [0; 2];
    io_linux::fill_with_entropy(&mut seed);
    pause / 2 + pause.mul_f64(f64::from(u16::from_le_bytes(seed)) / f64::from(u16::MAX) / 2.0)
}
