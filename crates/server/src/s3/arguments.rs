//! What the command line says of S3.

use crate::size::Size;
use clap::Args;
use std::path::PathBuf;

const S3_HEADING: &str = "S3";

/// How S3 is spoken to. Keys come from the environment or a file: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or ~/.aws/credentials.
#[derive(Clone, Debug, Args)]
pub(crate) struct S3Arguments {
    /// Where S3 is, as https://HOST:PORT; AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, or Amazon's without.
    #[arg(long, value_name = "URL", help_heading = S3_HEADING)]
    pub(crate) s3_endpoint: Option<String>,
    /// The bucket's region; AWS_REGION, AWS_DEFAULT_REGION or us-east-1 without.
    #[arg(long, value_name = "NAME", help_heading = S3_HEADING)]
    pub(crate) s3_region: Option<String>,
    /// The bucket is in the path of URLs and not in their host.
    #[arg(long, help_heading = S3_HEADING)]
    pub(crate) s3_path_style: bool,
    /// A file with the keys, in the form of ~/.aws/credentials; AWS_SHARED_CREDENTIALS_FILE names another one.
    #[arg(long, value_name = "FILE", help_heading = S3_HEADING)]
    pub(crate) s3_credentials_file: Option<PathBuf>,
    /// The profile in that file; AWS_PROFILE or default without.
    #[arg(long, value_name = "NAME", help_heading = S3_HEADING)]
    pub(crate) s3_profile: Option<String>,
    /// Certificates of further authorities that sign those of S3, PEM; those of this machine are trusted in any case.
    #[arg(long, value_name = "FILE", help_heading = S3_HEADING)]
    pub(crate) s3_ca: Option<PathBuf>,
    /// Allow http:// to another machine: rows pass the network in plain.
    #[arg(long, help_heading = S3_HEADING)]
    pub(crate) s3_insecure: bool,
    /// Parts of an upload have so many bytes, all alike; 8MiB that grow with the file without.
    #[arg(long, value_name = "SIZE", help_heading = S3_HEADING)]
    pub(crate) s3_part_size: Option<Size>,
    /// S3 may be silent for so long.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = S3_HEADING)]
    pub(crate) s3_timeout: humantime::Duration,
    /// What S3 does not do now is tried again for so long.
    #[arg(long, value_name = "TIME", default_value = "90s", help_heading = S3_HEADING)]
    pub(crate) s3_retry_for: humantime::Duration,
}
