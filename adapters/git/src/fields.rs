//! Fields of the files that isobox keeps for itself, as they are read back.

use isobox_domain::repo_path::{MAX_PATH_BYTES, RepoPath};
use nix::fcntl::OFlag;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;

/// Opens a file that isobox wrote where others may write, too: a link is not followed, and no pipe is waited for.
pub(crate) fn open_regular(host_path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits()).open(host_path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(invalid("it is no regular file")) }
}

/// The content of such a file, of at most `limit` bytes.
pub(crate) fn read_regular(host_path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(host_path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= limit { Ok(bytes) } else { Err(invalid("it is longer than isobox writes it")) }
}

/// The next `N` bytes.
pub(crate) fn read_array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut buffer = [0; N];
    input.read_exact(&mut buffer)?;
    Ok(buffer)
}

/// The next `length` bytes. The caller bounds the length, for memory is taken before anything is read.
pub(crate) fn read_vec(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; length];
    input.read_exact(&mut buffer)?;
    Ok(buffer)
}

/// The length of the path that comes next, of two bytes; 0 stands for none.
pub(crate) fn read_path_length(input: &mut impl Read) -> io::Result<usize> {
    let length = usize::from(u16::from_le_bytes(read_array(input)?));
    if length > MAX_PATH_BYTES { Err(invalid("a path is too long")) } else { Ok(length) }
}

/// The path that comes next, behind its length; `None` where that is 0.
pub(crate) fn read_path(input: &mut impl Read) -> io::Result<Option<RepoPath>> {
    let length = read_path_length(input)?;
    if length == 0 {
        return Ok(None);
    }
    RepoPath::parse(read_vec(input, length)?).map(Some).map_err(|_| invalid("a path is no path of a repository"))
}

/// Fields, each ended by a NUL byte, which none of them holds.
pub(crate) fn join(fields: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    fields.into_iter().flat_map(|field| [field, vec![0]].concat()).collect()
}

/// A number as a field, in decimal digits.
pub(crate) fn count(number: usize) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// What [`count`] gives, and any other number in decimal digits.
pub(crate) fn number<T: FromStr>(field: &[u8]) -> Option<T> {
    text(field)?.parse().ok()
}

/// A field that holds text.
pub(crate) fn text(field: &[u8]) -> Option<&str> {
    std::str::from_utf8(field).ok()
}

/// Why what is there is not what isobox wrote or expects.
pub(crate) fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
