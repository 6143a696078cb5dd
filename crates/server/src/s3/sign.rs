//! Signature version 4 of AWS, with the digest of the body in it: S3 refuses a body that has changed on its way.

use super::credentials::Credentials;
use super::request::Ask;
use crate::at_rest::to_hex;
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign as hmac};
use std::time::SystemTime;

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const SERVICE: &str = "s3";

/// Where and when a request is made.
pub(super) struct Scene<'a> {
    pub(super) region: &'a str,
    /// As the header `Host` has it.
    pub(super) host: &'a str,
    /// Encoded.
    pub(super) path: &'a str,
    /// As in `20130524T000000Z`.
    pub(super) time: &'a str,
}

/// The moment as signatures have it.
pub(super) fn time_text(now: SystemTime) -> String {
    humantime::format_rfc3339_seconds(now).to_string().replace(['-', ':'], "")
}

/// All headers of a request but those of HTTP itself.
pub(super) fn sign(ask: &Ask<'_>, scene: &Scene<'_>, credentials: &Credentials) -> Vec<(String, String)> {
    let body = hex_digest(ask.body);
    let mut headers: Vec<(String, String)> = ask.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    headers.push(("host".to_owned(), scene.host.to_owned()));
    headers.push(("x-amz-content-sha256".to_owned(), body.clone()));
    headers.push(("x-amz-date".to_owned(), scene.time.to_owned()));
    if let Some(token) = &credentials.session_token {
        headers.push(("x-amz-security-token".to_owned(), token.clone()));
    }
    headers.sort();
    let listed: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let names = headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(";");
    let (method, path, query) = (ask.method.name(), scene.path, ask.query_text());
    let canonical = format!("{method}\n{path}\n{query}\n{listed}\n{names}\n{body}");
    let day = scene.time.get(..8).unwrap_or_default();
    let scope = format!("{day}/{}/{SERVICE}/aws4_request", scene.region);
    let text = format!("{ALGORITHM}\n{}\n{scope}\n{}", scene.time, hex_digest(canonical.as_bytes()));
    let mut key = format!("AWS4{}", credentials.secret_access_key).into_bytes();
    for word in [day, scene.region, SERVICE, "aws4_request"] {
        key = keyed(&key, word);
    }
    let signature = to_hex(&keyed(&key, &text));
    let id = &credentials.access_key_id;
    let authorization = format!("{ALGORITHM} Credential={id}/{scope},SignedHeaders={names},Signature={signature}");
    headers.push(("authorization".to_owned(), authorization));
    headers
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    hmac(&Key::new(HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex_digest(bytes: &[u8]) -> String {
    to_hex(digest(&SHA256, bytes).as_ref())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::request::Method;
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// The examples of "Authenticating Requests: Using the Authorization Header" in the reference of Amazon S3.
    #[test]
    fn signatures_are_those_of_the_reference() {
        let credentials = Credentials {
            access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
        };
        let signature = |ask: &Ask<'_>, path| {
            let scene = Scene { region: "us-east-1", host: "examplebucket.s3.amazonaws.com", path, time: "20130524T000000Z" };
            let headers = sign(ask, &scene, &credentials);
            let (_, authorization) = headers.iter().find(|(name, _)| name == "authorization").unwrap();
            authorization.rsplit_once("Signature=").unwrap().1.to_owned()
        };
        let get = || Ask::new(Method::Get, String::new(), String::new());
        let object = get().header("range", "bytes=0-9");
        assert_eq!(signature(&object, "/test.txt"), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
        let lifecycle = get().query("lifecycle", "");
        assert_eq!(signature(&lifecycle, "/"), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
        let list = get().query("prefix", "J").query("max-keys", "2");
        assert_eq!(signature(&list, "/"), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
        let put = Ask::new(Method::Put, String::new(), String::new())
            .header("date", "Fri, 24 May 2013 00:00:00 GMT")
            .header("x-amz-storage-class", "REDUCED_REDUNDANCY")
            .body(b"Welcome to Amazon S3.");
        assert_eq!(signature(&put, "/test%24file.text"), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    }

    #[test]
    fn a_moment_has_the_form_of_signatures() {
        assert_eq!(time_text(UNIX_EPOCH + Duration::from_secs(1_369_353_600)), "20130524T000000Z");
    }
}
