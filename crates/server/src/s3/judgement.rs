//! What an answer of S3 means: done, not now, or never, and what to do then.

use super::error::S3Error;
use super::request::{Answer, Ask, Method};
use super::xml;

/// Words of an answer that are shown.
const TEXT_BYTES_MAX: usize = 300;

/// Why an attempt has failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// Another one may not.
    Passing(String),
    /// It would again.
    Lasting(S3Error),
    /// With other credentials it may be done.
    Credentials(S3Error),
    /// Without conditions and checksums it may be done.
    Plain,
}

/// Judges an answer.
pub(super) fn judge(ask: &Ask<'_>, answer: Answer, is_plain: bool, strange: impl Fn(String) -> S3Error) -> Result<Answer, Fault> {
    if (200..300).contains(&answer.status) {
        let Some(wanted) = ask.wanted else { return checked(ask, answer, is_plain) };
        let text = answer.text();
        if text.contains(&format!("<{wanted}")) {
            return Ok(answer);
        }
        // Of a long operation S3 tells in the body how it ended.
        return match xml::text(&text, "Code").filter(|_| text.contains("<Error>")) {
            Some(code) => Err(refusal(ask, &answer, &code, xml::text(&text, "Message").unwrap_or_default())),
            None => Err(Fault::Lasting(strange(format!("its answer is no {wanted}")))),
        };
    }
    let text = answer.text();
    let code = xml::text(&text, "Code").unwrap_or_default();
    let said = xml::text(&text, "Message").unwrap_or_default();
    let has_extras = !ask.extras.is_empty() && !is_plain;
    let is_unknown = answer.status == 501 || (answer.status == 400 && code != "InvalidDigest" && said.to_lowercase().contains("header"));
    if has_extras && is_unknown && region_of(&answer, &text).is_none() {
        return Err(Fault::Plain);
    }
    Err(refusal(ask, &answer, &code, said))
}

/// What S3 says that it has stored is what was sent.
fn checked(ask: &Ask<'_>, answer: Answer, is_plain: bool) -> Result<Answer, Fault> {
    const CHECKSUM: &str = "x-amz-checksum-crc32";
    let sent = ask.extras.iter().find(|(name, _)| *name == CHECKSUM && !is_plain);
    match (sent, answer.header(CHECKSUM)) {
        (Some((_, sent)), Some(stored)) if sent != stored => {
            Err(Fault::Passing(format!("it has stored bytes with checksum {stored} instead of {sent}")))
        }
        _ => Ok(answer),
    }
}

fn refusal(ask: &Ask<'_>, answer: &Answer, code: &str, said: String) -> Fault {
    let (status, what) = (answer.status, ask.what.clone());
    let words: String = said.chars().filter(|letter| !letter.is_control()).take(TEXT_BYTES_MAX).collect();
    let refused =
        |advice: String| S3Error::Refused { what: ask.what.clone(), status, code: name_of(code, status), text: words.clone(), advice };
    let lasting = |advice: &str| Fault::Lasting(refused(advice.to_owned()));
    if let Some(region) = region_of(answer, &answer.text()) {
        return Fault::Lasting(refused(format!("the bucket is in region {region}: give --s3-region {region}")));
    }
    match code {
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" | "InvalidToken" | "InvalidAccessKeyId" => {
            let advice = "the credentials have expired, or are not known there: renew them and run the command again".to_owned();
            return Fault::Credentials(refused(advice));
        }
        "SlowDown"
        | "InternalError"
        | "ServiceUnavailable"
        | "RequestTimeout"
        | "BadDigest"
        | "XAmzContentSHA256Mismatch"
        | "IncompleteBody"
        | "OperationAborted"
        | "ConditionalRequestConflict"
        | "Throttling"
        | "ThrottlingException"
        | "RequestLimitExceeded" => {
            return Fault::Passing(format!("it answers {status} {code}: {words}"));
        }
        "NoSuchBucket" => return lasting("make the bucket first, or name another one"),
        "SignatureDoesNotMatch" => return lasting("the secret key is another one's, or a proxy changes requests"),
        "RequestTimeTooSkewed" => return lasting("set this machine's clock"),
        "AccessDenied" | "AllAccessDisabled" => {
            return lasting("allow the key to list the bucket and its uploads, and to get, put, delete and abort under this prefix");
        }
        _ => {}
    }
    match status {
        404 if code != "NoSuchUpload" && ask.method != Method::Post => Fault::Lasting(S3Error::Missing { what }),
        412 => Fault::Lasting(S3Error::Changed { what }),
        408 | 429 | 500 | 502 | 503 | 504 => Fault::Passing(format!("it answers {status} {code}")),
        // Without words it may as well be that.
        400 | 403 if ask.method == Method::Head => {
            Fault::Credentials(refused("the credentials may have expired, or do not allow it".to_owned()))
        }
        301 | 302 | 307 | 308 => lasting("it is to be asked elsewhere: see --s3-endpoint and --s3-region"),
        401 | 403 => lasting("the credentials do not allow it"),
        _ => lasting("see --s3-endpoint, --s3-region and --s3-path-style"),
    }
}

/// Where the bucket is, if it is not where it was asked for.
fn region_of(answer: &Answer, text: &str) -> Option<String> {
    let named = matches!(answer.status, 301 | 307 | 400).then(|| answer.header("x-amz-bucket-region").map(str::to_owned)).flatten();
    let is_elsewhere = text.contains("AuthorizationHeaderMalformed") || text.contains("PermanentRedirect") || answer.status == 301;
    named
        .filter(|_| answer.status != 400 || is_elsewhere || text.is_empty())
        .or_else(|| is_elsewhere.then(|| xml::text(text, "Region")).flatten())
}

fn name_of(code: &str, status: u16) -> String {
    match (code, status) {
        ("", 403) => "Forbidden".to_owned(),
        ("", 404) => "NotFound".to_owned(),
        ("", _) => "without a code".to_owned(),
        (code, _) => code.chars().filter(|letter| letter.is_ascii_alphanumeric()).take(64).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(status: u16, body: &str, headers: &[(&str, &str)]) -> Fault {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let ask = Ask::new(Method::Get, "k".to_owned(), "reading k".to_owned());
        let strange = |why| S3Error::Strange { what: String::new(), endpoint: String::new(), why };
        judge(&ask, Answer::new(status, headers, body.as_bytes().to_vec()), false, strange).expect_err("it is no success")
    }

    fn said(fault: &Fault) -> String {
        match fault {
            Fault::Lasting(error) | Fault::Credentials(error) => error.to_string(),
            Fault::Passing(why) => why.clone(),
            Fault::Plain => "plain".to_owned(),
        }
    }

    fn error(code: &str) -> String {
        format!("<?xml version=\"1.0\"?>\n<Error><Code>{code}</Code><Message>words\nof {code}</Message><Region>eu-west-1</Region></Error>")
    }

    #[test]
    fn what_may_pass_is_tried_again_and_nothing_else() {
        for (status, code) in
            [(503, "SlowDown"), (500, "InternalError"), (400, "RequestTimeout"), (502, ""), (429, ""), (409, "OperationAborted")]
        {
            assert!(matches!(fault(status, &error(code), &[]), Fault::Passing(_)), "{status} {code}");
        }
        for (status, code) in [(403, "AccessDenied"), (404, "NoSuchBucket"), (400, "InvalidBucketName"), (405, ""), (501, "NotImplemented")]
        {
            assert!(matches!(fault(status, &error(code), &[]), Fault::Lasting(S3Error::Refused { .. })), "{status} {code}");
        }
        assert!(matches!(fault(404, &error("NoSuchKey"), &[]), Fault::Lasting(S3Error::Missing { .. })));
        assert!(matches!(fault(412, &error("PreconditionFailed"), &[]), Fault::Lasting(S3Error::Changed { .. })));
        assert!(matches!(fault(400, &error("ExpiredToken"), &[]), Fault::Credentials(_)));
    }

    #[test]
    fn a_refusal_without_words_may_be_of_credentials_that_have_expired() {
        let ask = Ask::new(Method::Head, "k".to_owned(), "looking at k".to_owned());
        let judged = |status| {
            let strange = |why| S3Error::Strange { what: String::new(), endpoint: String::new(), why };
            judge(&ask, Answer::new(status, Vec::new(), Vec::new()), false, strange)
        };
        assert!(matches!(judged(400), Err(Fault::Credentials(_))) && matches!(judged(403), Err(Fault::Credentials(_))));
        assert!(matches!(judged(404), Err(Fault::Lasting(S3Error::Missing { .. }))) && matches!(judged(503), Err(Fault::Passing(_))));
    }

    #[test]
    fn messages_say_what_to_do() {
        let elsewhere = fault(400, &error("AuthorizationHeaderMalformed"), &[]);
        assert!(said(&elsewhere).ends_with("give --s3-region eu-west-1"), "{elsewhere:?}");
        let moved = fault(301, "", &[("x-amz-bucket-region", "ap-south-1")]);
        assert!(said(&moved).ends_with("give --s3-region ap-south-1"), "{moved:?}");
        assert_eq!(
            said(&fault(404, &error("NoSuchBucket"), &[])),
            "reading k: S3 refuses it: 404 NoSuchBucket: wordsof NoSuchBucket; make the bucket first, or name another one"
        );
        assert!(said(&fault(403, "", &[])).contains("403 Forbidden; the credentials do not allow it"));
    }

    #[test]
    fn an_error_in_a_good_answer_is_an_error() {
        let ask = Ask::new(Method::Post, "k".to_owned(), "ending k".to_owned()).wanted("CompleteMultipartUploadResult");
        let judged = |body: &str| {
            let strange = |why| S3Error::Strange { what: String::new(), endpoint: String::new(), why };
            judge(&ask, Answer::new(200, Vec::new(), body.as_bytes().to_vec()), false, strange)
        };
        assert!(judged("<CompleteMultipartUploadResult xmlns=\"a\"></CompleteMultipartUploadResult>").is_ok());
        assert!(matches!(judged(&error("InternalError")), Err(Fault::Passing(_))));
        assert!(matches!(judged(&error("InvalidPart")), Err(Fault::Lasting(S3Error::Refused { .. }))));
        assert!(matches!(judged("<html>log in here</html>"), Err(Fault::Lasting(S3Error::Strange { .. }))));
    }

    #[test]
    fn what_is_not_known_is_left_out_and_what_was_not_stored_is_sent_again() {
        let ask = Ask::new(Method::Put, "k".to_owned(), "writing k".to_owned()).extra("x-amz-checksum-crc32", "AAAA");
        let judged = |status, headers: &[(&str, &str)], body: &str, is_plain| {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let strange = |why| S3Error::Strange { what: String::new(), endpoint: String::new(), why };
            judge(&ask, Answer::new(status, headers, body.as_bytes().to_vec()), is_plain, strange)
        };
        assert!(matches!(judged(501, &[], &error("NotImplemented"), false), Err(Fault::Plain)));
        assert!(matches!(judged(501, &[], &error("NotImplemented"), true), Err(Fault::Lasting(_))));
        assert!(judged(200, &[("x-amz-checksum-crc32", "AAAA")], "", false).is_ok() && judged(200, &[], "", false).is_ok());
        assert!(matches!(judged(200, &[("x-amz-checksum-crc32", "BBBB")], "", false), Err(Fault::Passing(_))));
    }
}
