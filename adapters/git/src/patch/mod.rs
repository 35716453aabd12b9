//! The patch: a rendering of a Change Set that `git apply` accepts, written as a stream.
//!
//! It relates the bytes that checkout materialised to the bytes that the workload left: exactly what the Change Set
//! says. Where the pinned attributes convert nothing, these are the bytes of Git's blobs; where they do (end of line,
//! `ident`, encodings), the patch applies to a tree of the materialised bytes, and Git names no blob of its `index`
//! lines. The Change Set stays the source of truth: a patch is for reading, and for tools that take one.
//!
//! Text over [`MAX_TEXT_BYTES`] or [`MAX_TEXT_LINES`] is rendered like binary content, as a literal, so that memory
//! stays bounded. A file over [`MAX_LITERAL_BYTES`] is only named, in the words in which Git names a binary file that
//! it does not render; `git apply` refuses such a patch instead of leaving the file out.

mod literal;
mod text;

use crate::oid;
use gix::ObjectId;
use gix::hash::Kind;
use isobox_domain::change::Mode;
use isobox_domain::quoted_name::quoted;
use isobox_domain::repo_path::RepoPath;
use std::io::{self, Read, Write};

/// Longest text on either side of a text diff, in bytes.
const MAX_TEXT_BYTES: u64 = 2 * 1024 * 1024;
/// Most lines on either side of a text diff.
const MAX_TEXT_LINES: usize = 100_000;
/// Longest content that is rendered as a literal, in bytes: `git apply` takes no patch over 1 GiB, and both sides and
/// their encoding have to fit in.
pub(crate) const MAX_LITERAL_BYTES: u64 = 256 * 1024 * 1024;
/// Git takes content for binary when a NUL byte is among its first 8,000 bytes.
const BINARY_HEAD: usize = 8_000;

/// Content that can be read more than once.
pub(crate) trait Content {
    /// Opens it at its beginning.
    fn open(&mut self) -> io::Result<Box<dyn Read + '_>>;
}

/// One side of a change.
pub(crate) struct Side<'a> {
    /// Its kind.
    pub(crate) mode: Mode,
    /// Length of its content in bytes.
    pub(crate) length: u64,
    /// Its content; for a submodule, the line that Git shows for it.
    pub(crate) content: &'a mut dyn Content,
    /// Git's name for a content that is no blob: the commit of a submodule.
    pub(crate) commit: Option<ObjectId>,
}

/// Writes the patch of one changed path. An error is one of writing; content that cannot be read is named only.
pub(crate) fn render(
    out: &mut dyn Write,
    hash: Kind,
    path: &RepoPath,
    before: Option<Side<'_>>,
    after: Option<Side<'_>>,
) -> io::Result<()> {
    match (before, after) {
        (Some(before), Some(after)) if is_other_type(before.mode, after.mode) => {
            render_one(out, hash, path, Some(before), None)?;
            render_one(out, hash, path, None, Some(after))
        }
        (before, after) => render_one(out, hash, path, before, after),
    }
}

fn is_other_type(before: Mode, after: Mode) -> bool {
    let is_file = |mode| matches!(mode, Mode::File | Mode::Executable);
    before != after && !(is_file(before) && is_file(after))
}

/// What a side is rendered from.
enum Rendered {
    Absent,
    /// Whole text.
    Text(Vec<u8>),
    /// Binary, or too large for a text diff.
    Literal(u64),
    /// Too large, or not to be read.
    Named,
}

impl Rendered {
    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Absent => Some(b""),
            Self::Text(text) => Some(text),
            Self::Literal(_) | Self::Named => None,
        }
    }
}

fn render_one(
    out: &mut dyn Write,
    hash: Kind,
    path: &RepoPath,
    mut before: Option<Side<'_>>,
    mut after: Option<Side<'_>>,
) -> io::Result<()> {
    let modes = (before.as_ref().map(|side| side.mode), after.as_ref().map(|side| side.mode));
    let (old, old_oid) = prepare(hash, before.as_mut());
    let (new, new_oid) = prepare(hash, after.as_mut());
    write_header(out, path, modes)?;
    let labels = (label(b"a/", path, modes.0), label(b"b/", path, modes.1));
    if matches!(old, Rendered::Named) || matches!(new, Rendered::Named) {
        return write_named(out, hash, (old_oid, new_oid), &labels);
    }
    if old_oid == new_oid {
        return Ok(());
    }
    write_index(out, (old_oid, new_oid), modes)?;
    match (old.text(), new.text()) {
        (Some(old), Some(new)) => text::write(out, old, new, &labels),
        _ => {
            out.write_all(b"GIT binary patch\n")?;
            write_literal(out, new, after)?;
            write_literal(out, old, before)
        }
    }
}

/// Reads a side as far as it is needed to know how it is rendered, and names its content as Git would.
fn prepare(hash: Kind, side: Option<&mut Side<'_>>) -> (Rendered, ObjectId) {
    let null = hash.null();
    let Some(side) = side else { return (Rendered::Absent, null) };
    if side.length > MAX_LITERAL_BYTES {
        return (Rendered::Named, null);
    }
    read(hash, side).unwrap_or((Rendered::Named, null))
}

fn read(hash: Kind, side: &mut Side<'_>) -> io::Result<(Rendered, ObjectId)> {
    let mut hasher = oid::blob_hasher(hash, side.length);
    let mut content = side.content.open()?;
    let mut text = Vec::new();
    (&mut content).take(MAX_TEXT_BYTES + 1).read_to_end(&mut text)?;
    hasher.update(&text);
    let head_length = text.len() as u64;
    let is_text = head_length <= MAX_TEXT_BYTES && is_text(&text);
    if !is_text {
        text = Vec::new();
    }
    let length = head_length + oid::hash_all(&mut hasher, &mut content)?;
    if length != side.length {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the content has another length than before"));
    }
    let name = side.commit.map_or_else(|| hasher.try_finalize().map_err(io::Error::other), Ok)?;
    Ok((if is_text { Rendered::Text(text) } else { Rendered::Literal(length) }, name))
}

fn is_text(content: &[u8]) -> bool {
    let head = &content[..content.len().min(BINARY_HEAD)];
    !head.contains(&0) && content.iter().filter(|&&b| b == b'\n').count() <= MAX_TEXT_LINES
}

fn write_header(out: &mut dyn Write, path: &RepoPath, modes: (Option<Mode>, Option<Mode>)) -> io::Result<()> {
    let (old, new) = (quoted(b"a/", path.as_bytes()), quoted(b"b/", path.as_bytes()));
    out.write_all(&[b"diff --git ", old.as_slice(), b" ", &new, b"\n"].concat())?;
    match modes {
        (None, Some(new)) => writeln!(out, "new file mode {}", octal(new)),
        (Some(old), None) => writeln!(out, "deleted file mode {}", octal(old)),
        (Some(old), Some(new)) if old != new => write!(out, "old mode {}\nnew mode {}\n", octal(old), octal(new)),
        _ => Ok(()),
    }
}

fn write_index(
    out: &mut dyn Write,
    (old, new): (ObjectId, ObjectId),
    modes: (Option<Mode>, Option<Mode>),
) -> io::Result<()> {
    match modes {
        (Some(before), Some(after)) if before == after => writeln!(out, "index {old}..{new} {}", octal(after)),
        _ => writeln!(out, "index {old}..{new}"),
    }
}

fn write_named(
    out: &mut dyn Write,
    hash: Kind,
    (old, new): (ObjectId, ObjectId),
    labels: &(Vec<u8>, Vec<u8>),
) -> io::Result<()> {
    // Without an index line `git apply` would take the patch for one that changes nothing.
    let (old, new) = if old == new { (hash.null(), hash.empty_blob()) } else { (old, new) };
    writeln!(out, "index {}..{}", old.to_hex_with_len(7), new.to_hex_with_len(7))?;
    out.write_all(&[b"Binary files ", labels.0.as_slice(), b" and ", &labels.1, b" differ\n"].concat())
}

fn write_literal(out: &mut dyn Write, rendered: Rendered, side: Option<Side<'_>>) -> io::Result<()> {
    match (rendered, side) {
        (Rendered::Text(text), _) => literal::write(out, text.len() as u64, &mut text.as_slice()),
        (Rendered::Literal(length), Some(side)) => match side.content.open() {
            Ok(mut content) => literal::write(out, length, &mut content),
            // It was read a moment ago. An empty literal of this length is refused by whoever applies it.
            Err(_) => literal::write(out, length, &mut io::empty()),
        },
        _ => literal::write(out, 0, &mut io::empty()),
    }
}

/// A name as the lines `---` and `+++` have it.
fn label(prefix: &[u8], path: &RepoPath, mode: Option<Mode>) -> Vec<u8> {
    match mode {
        None => b"/dev/null".to_vec(),
        Some(_) => quoted(prefix, path.as_bytes()),
    }
}

/// Writes the names and the sections that make `new` of `old`, as a patch has them; nothing where they are the same.
pub fn write_text_diff(out: &mut dyn Write, old: &[u8], new: &[u8], labels: &(Vec<u8>, Vec<u8>)) -> io::Result<()> {
    if old == new { Ok(()) } else { text::write(out, old, new, labels) }
}

fn octal(mode: Mode) -> &'static str {
    match mode {
        Mode::File => "100644",
        Mode::Executable => "100755",
        Mode::Symlink => "120000",
        Mode::Submodule => "160000",
    }
}
