//! What kind of file a binary is, by its first bytes.

use crate::failure::Failure;
use crate::use_case::report::whole;
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::content::ContentRef;
use isobox_domain::report::{Finding, RiskCategory};
use isobox_ports::ObjectStore;

/// How much of a file is looked at, in bytes: the signature of a tar archive, the last that is known, ends at 265.
const HEAD: u64 = 512;

/// What a file is that begins like none that is known.
const UNKNOWN: &str = "application/octet-stream";

/// `findings` of `line`, of which those that tell of a binary file name its media type.
pub(super) fn named(
    objects: &dyn ObjectStore,
    line: &ChangeLine,
    mut findings: Vec<Finding>,
) -> Result<Vec<Finding>, Failure> {
    let ChangeLine::Change(Change { after: Some(after), .. }) = line else { return Ok(findings) };
    if let Some(finding) = findings.iter_mut().find(|finding| finding.category == RiskCategory::Binary) {
        let head = ContentRef { length: after.content.length.min(HEAD), ..after.content };
        finding.note = Some(media_type(&whole(objects, &head)?).to_owned());
    }
    Ok(findings)
}

fn media_type(head: &[u8]) -> &'static str {
    infer::get(head).map_or(UNKNOWN, |found| found.mime_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_it_begins_like() {
        let tar = [&[0; 257][..], b"ustar\0"].concat();
        let cases: [(&[u8], &str); 7] = [
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "application/x-executable"),
            (b"\x89PNG\r\n\x1a\n", "image/png"),
            (b"PK\x03\x04", "application/zip"),
            (b"\0asm\x01\0\0\0", "application/wasm"),
            (&tar, "application/x-tar"),
            (b"\0\0\0", UNKNOWN),
            (b"", UNKNOWN),
        ];
        for (head, expected) in cases {
            assert_eq!(media_type(head), expected, "{head:?}");
        }
    }
}
