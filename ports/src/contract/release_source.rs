//! What every implementation of [`ReleaseSource`] keeps.

use crate::{ReleaseSource, UpdateError};
use isobox_domain::release::{MAX_INDEX_BYTES, Platform, ReleaseFile, Sha256, Version};
use libtest_mimic::{Failed, Trial};
use sha2::Digest;
use std::io::{self, Write};

/// A publisher who has published nothing yet.
pub trait ReleaseSourceFixture {
    /// The releases as somebody reads them who trusts one key, and is patient.
    fn source(&self) -> &dyn ReleaseSource;

    /// Publishes an index.
    fn publish(&self, index: &[u8], signature: Signature);

    /// Puts a Release File beside the index.
    fn put(&self, name: &str, content: &[u8]);
}

/// What lies beside an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// A signature by the key that is trusted.
    Trusted,
    /// One by another key.
    Foreign,
    /// One by the key that is trusted, of other bytes.
    OfOtherBytes,
}

type Case = fn(&dyn ReleaseSourceFixture) -> Result<(), Failed>;

const CASES: &[(&str, Case)] = &[
    ("an_index_that_a_trusted_key_signed_is_handed_out", trusted_is_handed_out),
    ("an_index_that_nobody_trusted_signed_byte_for_byte_is_not", others_are_not),
    ("what_is_signed_and_no_index_is_not_handed_out", no_index_is_not),
    ("what_is_not_there_is_unreachable", absent_is_unreachable),
    ("exactly_the_bytes_that_the_index_describes_are_written", exact_bytes_are_written),
    ("other_bytes_are_untrusted_and_hardly_more_are_read", other_bytes_are_untrusted),
    ("what_cannot_be_written_is_an_error", writing_may_fail),
];

/// The suite, as tests of `name`. `fixture` is called once a case.
pub fn cases<F: ReleaseSourceFixture + 'static>(name: &str, fixture: fn() -> F) -> Vec<Trial> {
    let trial = |&(case, check): &(&str, Case)| {
        Trial::test(format!("{name}::release_source::{case}"), move || check(&fixture()))
    };
    CASES.iter().map(trial).collect()
}

const CONTENT: &[u8] = b"what a release is packed into";

fn file() -> ReleaseFile {
    ReleaseFile {
        version: Version::new(1, 2, 3),
        platform: Platform::X86_64,
        bytes: CONTENT.len() as u64,
        sha256: Sha256(sha2::Sha256::digest(CONTENT).into()),
        name: "isobox-1.2.3.tar.gz".to_owned(),
    }
}

fn index() -> Vec<u8> {
    let ReleaseFile { version, platform, bytes, sha256, name } = file();
    format!("isobox-releases/v1\narchive {version} {} {bytes} {sha256} {name}\n", platform.name()).into_bytes()
}

fn trusted_is_handed_out(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    fixture.publish(&index(), Signature::Trusted);
    assert_eq!(fixture.source().index()?.files(), [file()]);
    Ok(())
}

fn others_are_not(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    for signature in [Signature::Foreign, Signature::OfOtherBytes] {
        fixture.publish(&index(), signature);
        assert!(matches!(fixture.source().index(), Err(UpdateError::Untrusted { .. })), "{signature:?}");
    }
    Ok(())
}

fn no_index_is_not(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    let long = [index(), vec![b'\n'; MAX_INDEX_BYTES as usize]].concat();
    for content in [&b"something else"[..], b"", &long] {
        fixture.publish(content, Signature::Trusted);
        assert!(matches!(fixture.source().index(), Err(UpdateError::Untrusted { .. })), "{} bytes", content.len());
    }
    Ok(())
}

fn absent_is_unreachable(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    assert!(matches!(fixture.source().index(), Err(UpdateError::Unreachable { .. })));
    let fetched = fixture.source().fetch(&file(), &mut Vec::new());
    assert!(matches!(fetched, Err(UpdateError::Unreachable { .. })), "{fetched:?}");
    Ok(())
}

fn exact_bytes_are_written(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    fixture.put(&file().name, CONTENT);
    let mut into = Vec::new();
    fixture.source().fetch(&file(), &mut into)?;
    assert_eq!(into, CONTENT);
    Ok(())
}

fn other_bytes_are_untrusted(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    let other = CONTENT.to_ascii_uppercase();
    for content in [&CONTENT[1..], b"", &other, &CONTENT.repeat(9000)] {
        fixture.put(&file().name, content);
        let mut into = Vec::new();
        let fetched = fixture.source().fetch(&file(), &mut into);
        assert!(matches!(fetched, Err(UpdateError::Untrusted { .. })), "{} bytes: {fetched:?}", content.len());
        assert!(into.len() <= CONTENT.len() + 1, "{} bytes were written", into.len());
    }
    Ok(())
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn writing_may_fail(fixture: &dyn ReleaseSourceFixture) -> Result<(), Failed> {
    fixture.put(&file().name, CONTENT);
    let fetched = fixture.source().fetch(&file(), &mut Full);
    assert!(matches!(&fetched, Err(UpdateError::Io(error)) if error.operation == "write a copy of"), "{fetched:?}");
    Ok(())
}
