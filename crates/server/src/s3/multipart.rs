//! Uploads in parts: begun, sent, completed or aborted; and parts of one whose sender is gone.

use super::bucket::{Bucket, crc32};
use super::error::S3Error;
use super::parts::whole_part_bytes;
use super::request::Method;
use super::xml;

/// S3 takes no more of an object.
pub(super) const PARTS_MAX: usize = 10_000;

/// A part that S3 has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// As S3 names it.
    tag: String,
    /// If S3 knows it.
    crc32: Option<String>,
}

/// A part of an upload that another process has begun.
pub(crate) struct FoundPart {
    pub(crate) part: Part,
    pub(crate) bytes: u64,
}

impl Bucket {
    /// Begins an upload; its id.
    pub(super) fn begin_upload(&self, name: &str) -> Result<String, S3Error> {
        let ask = self.about(Method::Post, "beginning to write", name).query("uploads", "").extra("x-amz-checksum-algorithm", "CRC32");
        let ask = ask.wanted("InitiateMultipartUploadResult");
        let id = xml::text(&self.wire.ask(&ask)?.text(), "UploadId").filter(|id| !id.is_empty());
        id.ok_or_else(|| self.wire.strange(&ask, "it names no upload".to_owned()))
    }

    /// Sends a part; the first one has number 1. One of the same number replaces it.
    pub(super) fn send_part(&self, name: &str, id: &str, number: usize, bytes: &[u8]) -> Result<Part, S3Error> {
        if number > PARTS_MAX {
            return Err(S3Error::TooLong { object: self.address.object(name), parts: PARTS_MAX });
        }
        let crc32 = crc32(bytes);
        let ask = self.about(Method::Put, &format!("writing part {number} of"), name).query("partNumber", number.to_string());
        let ask = ask.query("uploadId", id).extra("x-amz-checksum-crc32", crc32.clone()).body(bytes);
        let answer = self.wire.ask(&ask)?;
        let tag = answer.header("etag").filter(|tag| !tag.is_empty());
        let tag = tag.ok_or_else(|| self.wire.strange(&ask, "it does not say what it has stored".to_owned()))?;
        Ok(Part { tag: tag.to_owned(), crc32: Some(crc32) })
    }

    /// Makes an object of parts.
    pub(crate) fn complete_upload(&self, name: &str, id: &str, parts: &[Part], bytes: u64) -> Result<(), S3Error> {
        let mut body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">".to_owned();
        for (index, part) in parts.iter().enumerate() {
            let (number, tag) = (index + 1, xml::escape(&part.tag));
            body += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag>");
            if let Some(crc32) = part.crc32.as_ref().filter(|_| self.has_checksums()) {
                body += &format!("<ChecksumCRC32>{}</ChecksumCRC32>", xml::escape(crc32));
            }
            body += "</Part>";
        }
        body += "</CompleteMultipartUpload>";
        let ask = self.about(Method::Post, "completing", name).query("uploadId", id).wanted("CompleteMultipartUploadResult");
        match self.wire.ask(&ask.body(body.as_bytes())) {
            // An attempt whose answer was lost may have completed it.
            Err(error @ S3Error::Refused { status: 404, .. }) => match self.length(name)? {
                Some((length, _)) if length == bytes => Ok(()),
                _ => Err(error),
            },
            outcome => outcome.map(drop),
        }
    }

    /// The parts that an upload has, from the first one on, as far as each follows on the one before.
    pub(crate) fn parts(&self, name: &str, id: &str) -> Result<Vec<FoundPart>, S3Error> {
        let (mut found, mut next) = (Vec::new(), String::new());
        // Stores differ in the name of the answer's root, not in that it names the upload.
        let ask = self.about(Method::Get, "listing parts of", name).query("uploadId", id).wanted("UploadId");
        for _ in 0..PARTS_MAX {
            let page = if next.is_empty() { ask.clone() } else { ask.clone().query("part-number-marker", next) };
            let text = match self.wire.ask(&page) {
                // It was completed or aborted since.
                Err(S3Error::Missing { .. } | S3Error::Refused { status: 404, .. }) => return Ok(Vec::new()),
                answer => answer?.text(),
            };
            for part in xml::texts(&text, "Part") {
                let number = |name: &str| xml::text(part, name).and_then(|number| number.parse::<u64>().ok());
                let (Some(number), Some(bytes), Some(tag)) = (number("PartNumber"), number("Size"), xml::text(part, "ETag")) else {
                    return Err(self.wire.strange(&page, "a part has no number, size or tag".to_owned()));
                };
                if number != found.len() as u64 + 1 {
                    return Ok(whole_parts(found));
                }
                found.push(FoundPart { part: Part { tag, crc32: xml::text(part, "ChecksumCRC32") }, bytes });
            }
            if xml::text(&text, "IsTruncated").as_deref() != Some("true") {
                return Ok(whole_parts(found));
            }
            let marker = xml::text(&text, "NextPartNumberMarker");
            next = marker.ok_or_else(|| self.wire.strange(&page, "its listing goes on, and does not say where".to_owned()))?;
        }
        Err(self.wire.strange(&ask, format!("its listing has not ended after {PARTS_MAX} pages")))
    }

    /// Ends an upload and removes its parts; one that is gone is no fault.
    pub(crate) fn abort_upload(&self, name: &str, id: &str) -> Result<(), S3Error> {
        let ask = self.about(Method::Delete, "ending the upload of", name).query("uploadId", id);
        match self.wire.ask(&ask) {
            Err(S3Error::Missing { .. } | S3Error::Refused { status: 404, .. }) => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

/// Parts up to the one in which the object ends. A part that is sent again up to a mark is smaller than it was; what follows it does not belong to the object any more.
fn whole_parts(mut found: Vec<FoundPart>) -> Vec<FoundPart> {
    let is_last = |index: usize| index > 0 && found[index].bytes != found[index - 1].bytes && found[index].bytes != whole_part_bytes(index);
    let count = (0..found.len()).find(|index| is_last(*index)).map_or(found.len(), |last| last + 1);
    found.truncate(count);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(sizes: &[u64]) -> usize {
        let part = |bytes: &u64| FoundPart { part: Part { tag: String::new(), crc32: None }, bytes: *bytes };
        whole_parts(sizes.iter().map(part).collect()).len()
    }

    #[test]
    fn what_follows_a_part_that_ends_at_a_mark_is_left_out() {
        const MIB: u64 = 1 << 20;
        assert_eq!((whole(&[]), whole(&[5 * MIB]), whole(&[5 * MIB; 3]), whole(&[5 * MIB, 5 * MIB, 7])), (0, 1, 3, 3));
        assert_eq!((whole(&[5 * MIB, 7, 5 * MIB]), whole(&[8 * MIB, 6 * MIB, 8 * MIB])), (2, 2));
        // Parts that grow are whole.
        let mut sizes = [vec![8 * MIB; 2_000], vec![16 * MIB; 2]].concat();
        assert_eq!(whole(&sizes), 2_002);
        sizes[2_000] = 10 * MIB;
        assert_eq!(whole(&sizes), 2_001);
    }
}
