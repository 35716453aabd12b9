//! The program in a Release File: one file of a tar that gzip compressed. Nothing else in it is looked at.

use flate2::bufread::GzDecoder;
use isobox_domain::release::{MAX_PROGRAM_BYTES, ReleaseFile};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

/// Writes the program in `compressed`, whose bytes are those that the signed index describes, to `into`.
pub(crate) fn program(release: &ReleaseFile, compressed: &mut File, into: &mut File) -> io::Result<()> {
    compressed.rewind()?;
    let wanted = release.program_path();
    // Whoever signed it may have erred: what it unpacks to has a limit even so.
    let unpacked = GzDecoder::new(BufReader::new(compressed)).take(2 * MAX_PROGRAM_BYTES);
    let mut tar = tar::Archive::new(unpacked);
    // Raw: an entry is known by its own header. Longer names are entries of their own, as long as whoever made it likes, and
    // would be read into memory; see tar(5), "GNU tar archives" and "Pax Interchange Format".
    for entry in tar.entries()?.raw(true) {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() || entry.path()?.as_os_str() != OsStr::new(&wanted) {
            continue;
        }
        let length = entry.size();
        if length > MAX_PROGRAM_BYTES {
            return Err(io::Error::other(format!("a program has at most {MAX_PROGRAM_BYTES} bytes, found {length}")));
        }
        let copied = io::copy(&mut entry, into)?;
        into.flush()?;
        return match copied == length {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
    Err(io::Error::other(format!("there is no {wanted} in it")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use isobox_domain::release::{Platform, Sha256, Version};
    use std::io::SeekFrom;
    use tar::{EntryType, Header};

    fn release() -> ReleaseFile {
        let (version, platform) = (Version::new(1, 0, 0), Platform::X86_64);
        ReleaseFile { version, platform, bytes: 1, sha256: Sha256([0; 32]), name: "a".to_owned() }
    }

    fn unpacked(entries: &[(EntryType, &str, &[u8])]) -> io::Result<Vec<u8>> {
        let mut tar = tar::Builder::new(GzEncoder::new(tempfile::tempfile()?, Compression::fast()));
        for (kind, path, content) in entries {
            let mut header = Header::new_ustar();
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, path, *content)?;
        }
        let mut compressed = tar.into_inner()?.finish()?;
        let mut into = tempfile::tempfile()?;
        program(&release(), &mut compressed, &mut into)?;
        into.seek(SeekFrom::Start(0))?;
        let mut content = Vec::new();
        into.read_to_end(&mut content)?;
        Ok(content)
    }

    const PATH: &str = "isobox-1.0.0-x86_64-unknown-linux-musl/isobox";

    #[test]
    fn the_program_alone_is_unpacked() {
        let (file, other) = (EntryType::Regular, "isobox-1.0.0-x86_64-unknown-linux-musl/README.md");
        assert_eq!(unpacked(&[(file, other, b"read"), (file, PATH, b"program")]).unwrap(), b"program");
    }

    #[test]
    fn a_link_or_nothing_in_its_place_is_an_error() {
        for entries in [&[(EntryType::Symlink, PATH, &b""[..])][..], &[(EntryType::Regular, "isobox", b"x")], &[]] {
            assert!(unpacked(entries).unwrap_err().to_string().contains("there is no isobox-1.0.0-"));
        }
    }

    /// The most memory that this process ever took, in bytes.
    fn peak() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    #[test]
    fn a_name_of_64_mebibytes_costs_no_memory() {
        let long = vec![b'x'; 64 << 20];
        let before = peak();
        for kind in [EntryType::GNULongName, EntryType::GNULongLink, EntryType::XHeader, EntryType::XGlobalHeader] {
            let entries = [(kind, "name", &long[..]), (EntryType::Regular, PATH, b"program")];
            assert_eq!(unpacked(&entries).unwrap(), b"program", "{kind:?}");
        }
        let taken = peak() - before;
        assert!(taken < 16 << 20, "{taken} bytes more than before");
    }

    #[test]
    fn what_is_no_archive_is_an_error() {
        let (mut compressed, mut into) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        compressed.write_all(b"no gzip").unwrap();
        assert!(program(&release(), &mut compressed, &mut into).is_err());
    }
}
