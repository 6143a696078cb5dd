//! Where a bucket is asked for: the host, and the path of its objects.

use super::address::S3Address;
use super::error::S3Error;
use super::request::encode_path;
use std::net::IpAddr;

/// Where requests about a bucket go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) is_tls: bool,
    /// As the header `Host` has it.
    pub(super) host: String,
    /// What paths of objects begin with; it has no slash at its end.
    base: String,
}

impl Endpoint {
    /// The endpoint that is given, or Amazon's of a region.
    pub(super) fn new(
        given: Option<&str>,
        region: &str,
        address: &S3Address,
        is_path_style: bool,
        is_insecure: bool,
    ) -> Result<Self, S3Error> {
        let is_region = !region.is_empty() && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if !is_region {
            return Err(S3Error::Option {
                option: "--s3-region",
                given: region.to_owned(),
                why: "it is no name of a region, as us-east-1",
            });
        }
        let amazon = format!("https://s3.{region}.amazonaws.com");
        let url = given.unwrap_or(&amazon);
        // A password that should not be there is not shown.
        let shown = url.rsplit_once('@').map_or(url, |(_, after)| after);
        let wrong = |why| S3Error::Option { option: "--s3-endpoint", given: shown.to_owned(), why };
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it is no URL, as https://HOST:PORT"))?;
        let is_tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("it is neither https:// nor http://")),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.trim_end_matches('/');
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']');
        if authority.is_empty() || !authority.bytes().all(is_host) || path.contains(['?', '#']) {
            return Err(wrong("it is no URL, as https://HOST:PORT; names and passwords do not belong there"));
        }
        let name = host_of(authority);
        let ip: Option<IpAddr> = name.parse().ok();
        let is_local = name == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
        if !is_tls && !is_local && !is_insecure {
            return Err(wrong("rows would pass the network in plain; use https://, or allow it with --s3-insecure"));
        }
        // A bucket's name before a number is no host; one with dots has no certificate.
        let is_path_style = is_path_style || ip.is_some() || name == "localhost" || (is_tls && address.bucket.contains('.'));
        let base = if path.is_empty() { String::new() } else { format!("/{}", encode_path(path)) };
        Ok(if is_path_style {
            Self { is_tls, host: authority.to_owned(), base: format!("{base}/{}", address.bucket) }
        } else {
            Self { is_tls, host: format!("{}.{authority}", address.bucket), base }
        })
    }

    /// The path of an object, or with an empty key of the bucket, encoded.
    pub(super) fn path(&self, key: &str) -> String {
        if key.is_empty() && !self.base.is_empty() { self.base.clone() } else { format!("{}/{}", self.base, encode_path(key)) }
    }

    /// For messages and as the begin of what is asked for.
    pub(super) fn url(&self) -> String {
        format!("{}://{}", if self.is_tls { "https" } else { "http" }, self.host)
    }
}

/// Without its port.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => authority.split(':').next().unwrap_or(authority),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn endpoint(given: Option<&str>, bucket: &str, is_path_style: bool) -> Result<Endpoint, S3Error> {
        let address = S3Address { bucket: bucket.to_owned(), prefix: "p".to_owned() };
        Endpoint::new(given, "eu-west-1", &address, is_path_style, false)
    }

    fn object(given: Option<&str>, bucket: &str, is_path_style: bool) -> String {
        let endpoint = endpoint(given, bucket, is_path_style).unwrap();
        endpoint.url() + &endpoint.path("p/a b")
    }

    #[test]
    fn a_bucket_is_part_of_the_host_or_of_the_path() {
        assert_eq!(object(None, "mine", false), "https://mine.s3.eu-west-1.amazonaws.com/p/a%20b");
        assert_eq!(object(None, "mine", true), "https://s3.eu-west-1.amazonaws.com/mine/p/a%20b");
        assert_eq!(object(None, "my.own", false), "https://s3.eu-west-1.amazonaws.com/my.own/p/a%20b");
        assert_eq!(object(Some("https://s3.example.com:9000/"), "mine", false), "https://mine.s3.example.com:9000/p/a%20b");
        assert_eq!(object(Some("http://127.0.0.1:9000"), "mine", false), "http://127.0.0.1:9000/mine/p/a%20b");
        assert_eq!(object(Some("http://[::1]:9000/base"), "mine", false), "http://[::1]:9000/base/mine/p/a%20b");
        assert_eq!(endpoint(None, "mine", false).unwrap().path(""), "/");
        assert_eq!(endpoint(None, "mine", true).unwrap().path(""), "/mine");
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for wrong in [
            "",
            "s3.example.com",
            "ftp://s3.example.com",
            "https://",
            "https://user:secret@s3.example.com",
            "https://s3.example.com/?x",
            "http://s3.example.com",
        ] {
            assert!(matches!(endpoint(Some(wrong), "mine", false), Err(S3Error::Option { .. })), "{wrong}");
        }
        let address = S3Address { bucket: "mine".to_owned(), prefix: String::new() };
        assert!(Endpoint::new(Some("http://s3.example.com"), "eu-west-1", &address, false, true).is_ok());
        assert!(Endpoint::new(None, "eu/west", &address, false, false).is_err());
    }
}
