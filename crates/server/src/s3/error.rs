//! Why S3 has not done what it was asked for, and what to do about it.

use std::path::PathBuf;

/// Why an operation has failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum S3Error {
    /// An option cannot be.
    #[error("{option} {given} is of no use: {why}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What it has.
        given: String,
        /// What is wrong.
        why: &'static str,
    },
    /// There is no key to sign with.
    #[error(
        "there are no credentials for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file of credentials with \
         --s3-credentials-file ({looked})"
    )]
    NoCredentials {
        /// Where they were looked for last.
        looked: String,
    },
    /// The file of credentials.
    #[error("the credentials file {} cannot be used: {why}", path.display())]
    CredentialsFile {
        /// Its name.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The file of authorities.
    #[error("{} cannot be used: {why}; it must have certificates of authorities, PEM", path.display())]
    Authorities {
        /// Its name.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nobody is trusted.
    #[error("this machine has no file of authorities for TLS: install ca-certificates, or give --s3-ca")]
    NoAuthorities,
    /// S3 says no, and will say so again.
    #[error("{what}: S3 refuses it: {status} {code}{}; {advice}", colon(text))]
    Refused {
        /// What was asked for, of which object.
        what: String,
        /// The HTTP status.
        status: u16,
        /// S3's name for it.
        code: String,
        /// S3's words.
        text: String,
        /// What to do.
        advice: String,
    },
    /// There is no such object.
    #[error("{what}: there is no such object")]
    Missing {
        /// What was asked for, of which object.
        what: String,
    },
    /// It is another one now.
    #[error("{what}: the object is not what it was, or is there already: somebody else writes there")]
    Changed {
        /// What was asked for, of which object.
        what: String,
    },
    /// It was tried until time was over.
    #[error(
        "{what}: S3 at {endpoint} has not done it in {seconds} s, tried {tries} times; the last time: {why}. See whether it is reachable, and \
         try again; --s3-retry-for gives it more time"
    )]
    GivenUp {
        /// What was asked for, of which object.
        what: String,
        /// Who was asked.
        endpoint: String,
        /// For how long.
        seconds: u64,
        /// How often.
        tries: u32,
        /// How the last one ended.
        why: String,
    },
    /// What answers does not speak S3, or cannot be trusted.
    #[error("{what}: what answers at {endpoint} is of no use: {why}; see --s3-endpoint, --s3-path-style and --s3-ca")]
    Strange {
        /// What was asked for, of which object.
        what: String,
        /// Who was asked.
        endpoint: String,
        /// What is strange.
        why: String,
    },
    /// More parts than S3 takes.
    #[error("{object} has more than {parts} parts: give a larger --s3-part-size")]
    TooLong {
        /// The object.
        object: String,
        /// How many it may have.
        parts: usize,
    },
    /// What is there is shorter or longer than what was sent.
    #[error("{object} has {found} bytes in S3, {sent} were sent: it was not stored whole; take the backup again")]
    Length {
        /// The object.
        object: String,
        /// What S3 has.
        found: u64,
        /// What it was given.
        sent: u64,
    },
}

impl S3Error {
    /// Whether the command line or the environment is wrong, before S3 was asked.
    pub(crate) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Option { .. }
                | Self::NoCredentials { .. }
                | Self::CredentialsFile { .. }
                | Self::Authorities { .. }
                | Self::NoAuthorities
        )
    }
}

fn colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
