//! Who a client is by its certificate, which has been verified: a SPIFFE ID, as Cassandra's `SpiffeCertificateValidator` takes it, or its common name.
//!
//! A certificate that could be understood in two ways has no identity.

use crate::der::{SEQUENCE, take};
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

/// What of a certificate is its identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityKind {
    /// The first URI in subjectAltName that begins with `spiffe://`.
    Spiffe,
    /// The subject's one common name.
    CommonName,
}

/// What a client has shown of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// No certificate.
    None,
    /// One that does not say whose it is.
    WithoutIdentity,
    /// One of this identity.
    Of(String),
}

impl ClientCertificate {
    pub(crate) fn new(chain: Option<&[CertificateDer<'_>]>, kind: IdentityKind) -> Self {
        let Some([certificate, ..]) = chain else { return Self::None };
        let Ok(certificate) = EndEntityCert::try_from(certificate) else { return Self::WithoutIdentity };
        let identity = match kind {
            IdentityKind::Spiffe => certificate.valid_uri_names().find(|name| name.starts_with("spiffe://")).map(str::to_owned),
            IdentityKind::CommonName => common_name(certificate.subject()),
        };
        identity.map_or(Self::WithoutIdentity, Self::Of)
    }
}

const SET: u8 = 0x31;
const OBJECT_ID: u8 = 0x06;
/// UTF8String, PrintableString, IA5String: others are not read.
const STRINGS: [u8; 3] = [0x0C, 0x13, 0x16];
/// 2.5.4.3
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// The common name of a subject (RFC 5280, 4.1.2.6: a sequence of sets of pairs of type and value), if it has exactly one.
fn common_name(mut subject: &[u8]) -> Option<String> {
    let mut name = None;
    while !subject.is_empty() {
        let (mut set, rest) = take(subject, SET)?;
        subject = rest;
        while !set.is_empty() {
            let (pair, rest) = take(set, SEQUENCE)?;
            set = rest;
            let (kind, value) = take(pair, OBJECT_ID)?;
            if kind != COMMON_NAME {
                continue;
            }
            let tag = *value.first().filter(|tag| STRINGS.contains(tag))?;
            let (text, _) = take(value, tag)?;
            let text = std::str::from_utf8(text).ok().filter(|text| !text.is_empty())?;
            if name.replace(text.to_owned()).is_some() {
                return None;
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).expect("a name of a test is short");
        let head = if length < 0x80 { vec![tag, length] } else { vec![tag, 0x81, length] };
        [&head, content].concat()
    }

    fn pair(kind: [u8; 3], tag: u8, text: &str) -> Vec<u8> {
        der(SEQUENCE, &[der(OBJECT_ID, &kind), der(tag, text.as_bytes())].concat())
    }

    #[test]
    fn the_common_name_is_the_only_one_of_the_subject() {
        let organization = der(SET, &pair([0x55, 0x04, 0x0A], 0x0C, "TarnDB"));
        let named = |text: &str, tag| der(SET, &pair(COMMON_NAME, tag, text));
        let (jo, long) = (named("jo", 0x0C), "l".repeat(100));
        let table = [
            (vec![], None),
            (organization.clone(), None),
            (jo.clone(), Some("jo")),
            (named("jo", 0x13), Some("jo")),
            (named(&long, 0x16), Some(&*long)),
            (named("jo", 0x1E), None),
            (named("", 0x0C), None),
            (named("jo\0", 0x0C), Some("jo\0")),
            ([organization.clone(), jo.clone()].concat(), Some("jo")),
            ([jo.clone(), organization].concat(), Some("jo")),
            ([jo.clone(), named("root", 0x0C)].concat(), None),
            (der(SET, &[pair(COMMON_NAME, 0x0C, "jo"), pair(COMMON_NAME, 0x0C, "root")].concat()), None),
        ];
        for (subject, expected) in table {
            assert_eq!(common_name(&subject).as_deref(), expected, "{subject:02x?}");
            for length in 0..subject.len() {
                let _ = common_name(&subject[..length]);
            }
        }
        for length in 1..jo.len() {
            assert_eq!(common_name(&jo[..length]), None, "a subject that is cut");
        }
    }
}
