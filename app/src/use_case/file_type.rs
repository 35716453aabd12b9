//! What kind of file a binary is, by its first bytes.

use crate::use_case::report::whole;
use isobox_domain::change::Change;
use isobox_domain::content::ContentRef;
use isobox_domain::report::{Finding, RiskCategory};
use isobox_ports::ObjectStore;

/// How much of a file is looked at, in bytes: the signature of a tar archive, the last that is known, ends at 265.
const HEAD: u64 = 512;

/// What a file is that begins like none that is known.
const UNKNOWN: &str = "application/octet-stream";
/// What is said of a file that the store lost: a report that tells less is better than none.
const LOST: &str = "its content cannot be read";

/// `findings` of `change`, of which the one that tells of a binary file names its media type.
pub(super) fn named(objects: &dyn ObjectStore, change: &Change, mut findings: Vec<Finding>) -> Vec<Finding> {
    let binary = findings.iter_mut().find(|finding| finding.category == RiskCategory::Binary);
    if let (Some(finding), Some(after)) = (binary, &change.after) {
        let head = ContentRef { length: after.content.length.min(HEAD), ..after.content };
        let name = whole(objects, &head).map_or(LOST, |head| media_type(&head));
        finding.note = Some(name.to_owned());
    }
    findings
}

fn media_type(head: &[u8]) -> &'static str {
    infer::get(head).map_or(UNKNOWN, |found| found.mime_type())
}

#[cfg(test)]
mod tests {
    use super::*;
    use isobox_domain::change::{After, ChangeLine, ChangeSetRef, Mode};
    use isobox_domain::content::ContentId;
    use isobox_domain::repo_path::RepoPath;
    use isobox_domain::report::findings;
    use isobox_ports::{ChangeLines, Content, StoreError};
    use proptest::prelude::*;

    /// A store that lost everything.
    struct Lost;

    impl ObjectStore for Lost {
        fn open(&self, _: &ContentId) -> Result<Option<Content>, StoreError> {
            Ok(None)
        }

        fn changes(&self, _: &ChangeSetRef) -> Result<ChangeLines<'_>, StoreError> {
            Ok(Box::new(std::iter::empty()))
        }
    }

    #[test]
    fn of_a_file_that_is_lost_it_is_told_that_it_cannot_be_read() {
        let content = ContentRef { id: ContentId::new([1; 32]), length: 9 };
        let after = After { mode: Mode::File, content, binary: true };
        let path = RepoPath::parse(b"image").expect("a path");
        let change = Change { path, before: None, after: Some(after), renamed_from: None, submodule: None };
        let found = findings(&ChangeLine::Change(change.clone()), None, &[]);
        let notes: Vec<_> = named(&Lost, &change, found).into_iter().map(|finding| finding.note).collect();
        assert_eq!(notes, [Some(LOST.to_owned())]);
    }

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

    proptest! {
        // Whatever a file begins with, and wherever that ends.
        #[test]
        fn every_file_has_a_type(
            signature in prop::sample::select(vec![
                &b""[..], b"\x7fELF", b"MZ", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"RIFF", b"\0\0\0\x20ftyp", b"\x1a\x45\xdf\xa3", b"\xff\xd8\xff",
            ]),
            rest in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            prop_assert!(media_type(&[signature, &rest].concat()).contains('/'));
        }
    }
}
