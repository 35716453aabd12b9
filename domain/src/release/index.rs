//! The index of releases as text: one Release File a line, so that a shell reads it as exactly as isobox does.

use super::{MAX_INDEX_BYTES, MAX_RELEASE_FILE_BYTES, Platform, ReleaseFile, Sha256, Version};

/// The first line of an index.
const HEADER: &str = "isobox-releases/v1";

/// The releases that a publisher offers. The text that it is parsed from must be verified before it gets here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseIndex {
    files: Vec<ReleaseFile>,
}

/// Why a text is no index.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It is longer than an index may be.
    #[error("an index of releases has at most {MAX_INDEX_BYTES} bytes, found {0}")]
    TooLong(u64),
    /// It does not begin as one, or is no text.
    #[error("an index of releases is text that begins with the line `{HEADER}`")]
    NoIndex,
    /// A version is there twice for a platform.
    #[error("{0} is there twice")]
    Twice(String),
    /// A line is not as it should be.
    #[error("line {line}: {problem}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Expected and found.
        problem: String,
    },
}

impl ReleaseIndex {
    /// Parses an index: the header, then a line `archive VERSION PLATFORM BYTES SHA256 NAME` for each Release File.
    ///
    /// Empty lines, those that begin with `#`, those whose first word is another, and files for other platforms are
    /// passed over, so that an index can say more in the future. Anything else is an error.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        let length = bytes.len() as u64;
        if length > MAX_INDEX_BYTES {
            return Err(IndexError::TooLong(length));
        }
        let text = str::from_utf8(bytes).map_err(|_| IndexError::NoIndex)?;
        let mut lines = text.lines();
        if lines.next() != Some(HEADER) {
            return Err(IndexError::NoIndex);
        }
        let mut files: Vec<ReleaseFile> = Vec::new();
        for (number, line) in (2..).zip(lines) {
            let wrong = |problem| IndexError::Line { line: number, problem };
            files.extend(release_file(line).map_err(wrong)?);
        }
        Self::of(files)
    }

    // Sorted to find what is named twice in the time that sorting takes, however long the index.
    fn of(mut files: Vec<ReleaseFile>) -> Result<Self, IndexError> {
        files.sort_by(|one, other| {
            one.version.cmp(&other.version).then_with(|| one.platform.name().cmp(other.platform.name()))
        });
        let is_twice =
            |pair: &&[ReleaseFile]| (&pair[0].version, pair[0].platform) == (&pair[1].version, pair[1].platform);
        if let Some([file, _]) = files.windows(2).find(is_twice) {
            return Err(IndexError::Twice(format!("version {} for {}", file.version, file.platform.name())));
        }
        Ok(Self { files })
    }

    /// Every Release File, by version.
    pub fn files(&self) -> &[ReleaseFile] {
        &self.files
    }
}

fn release_file(line: &str) -> Result<Option<ReleaseFile>, String> {
    let mut words = line.split(' ');
    if words.next() != Some("archive") {
        return Ok(None);
    }
    let words: Vec<&str> = words.collect();
    let [version, platform, bytes, sha256, name] = words[..] else {
        return Err(format!("`archive` is followed by five words, found {}", words.len()));
    };
    let version = version.parse::<Version>().map_err(|error| format!("the version: {error}"))?;
    let Some(platform) = Platform::ALL.into_iter().find(|known| known.name() == platform) else {
        return Ok(None);
    };
    let bytes = bytes.parse().ok().filter(|bytes| (1..=MAX_RELEASE_FILE_BYTES).contains(bytes));
    let bytes = bytes.ok_or_else(|| format!("a release file has 1 to {MAX_RELEASE_FILE_BYTES} bytes"))?;
    let sha256 = crate::content::parse_hex(sha256).ok_or("a SHA-256 has 64 hex digits, in lower case")?;
    let name = plain_name(name).ok_or("a release file has one plain name of letters, digits, `.`, `_`, `+` and `-`")?;
    Ok(Some(ReleaseFile { version, platform, bytes, sha256: Sha256(sha256), name }))
}

// It becomes part of a URL and of messages: nothing in it leads elsewhere or has to be escaped.
fn plain_name(name: &str) -> Option<String> {
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"._+-".contains(&c);
    let is_name = (1..=200).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with(['.', '-']);
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HASH: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn parsed(lines: &str) -> Result<usize, String> {
        let text = format!("{HEADER}\n{}", lines.replace("HASH", HASH));
        ReleaseIndex::parse(text.as_bytes()).map(|index| index.files.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_said_in_the_future_is_passed_over() {
        let lines = "# said\n\nexpires 2030-01-01\narchive 1.0.0 riscv64gc-unknown-linux-musl 1 HASH b\n\
            archive 1.0.0 x86_64-unknown-linux-musl 7 HASH isobox-1.0.0.tar.gz\n";
        assert_eq!(parsed(lines), Ok(1));
        let index = ReleaseIndex::parse(format!("{HEADER}\n{}", lines.replace("HASH", HASH)).as_bytes()).unwrap();
        let file = &index.files()[0];
        assert_eq!((file.bytes, file.sha256.to_string()), (7, HASH.to_owned()));
        assert_eq!(file.program_path(), "isobox-1.0.0-x86_64-unknown-linux-musl/isobox");
    }

    #[test]
    fn a_line_that_is_not_exact_is_an_error() {
        for (line, problem) in [
            ("archive 1.0 x86_64-unknown-linux-musl 1 HASH a", "line 2: the version: "),
            ("archive 1.0.0 x86_64-unknown-linux-musl 1 HASH", "line 2: `archive` is followed by five words, found 4"),
            ("archive  1.0.0 x86_64-unknown-linux-musl 1 HASH a", "line 2: `archive` is followed by five words"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 0 HASH a", "line 2: a release file has 1 to"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 268435457 HASH a", "line 2: a release file has 1 to"),
            ("archive 1.0.0 x86_64-unknown-linux-musl -1 HASH a", "line 2: a release file has 1 to"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 1 00 a", "line 2: a SHA-256 has 64 hex digits"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 1 HASH ../a", "line 2: a release file has one plain name"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 1 HASH .a", "line 2: a release file has one plain name"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 1 HASH http://a/b", "line 2: a release file has one plain name"),
            ("archive 1.0.0 x86_64-unknown-linux-musl 1 HASH a%2fb", "line 2: a release file has one plain name"),
        ] {
            let found = parsed(&format!("{line}\n")).unwrap_err();
            assert!(found.starts_with(problem), "{line}: {found}");
        }
        let twice = "archive 1.0.0 x86_64-unknown-linux-musl 1 HASH a\n".repeat(2);
        assert!(parsed(&twice).unwrap_err().contains("is there twice"));
    }

    #[test]
    fn what_begins_otherwise_is_no_index() {
        for bytes in [&b""[..], b"isobox-releases/v2\n", b"{}", b"isobox-releases/v1\n\xff"] {
            assert_eq!(ReleaseIndex::parse(bytes), Err(IndexError::NoIndex));
        }
        let long = vec![b'#'; MAX_INDEX_BYTES as usize + 1];
        assert_eq!(ReleaseIndex::parse(&long), Err(IndexError::TooLong(MAX_INDEX_BYTES + 1)));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(rest in "(archive |[a-z0-9. \n#/-]){0,40}") {
            let _outcome = ReleaseIndex::parse(format!("{HEADER}\n{rest}").as_bytes());
        }
    }
}
