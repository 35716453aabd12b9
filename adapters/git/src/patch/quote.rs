//! Names as Git quotes them in a patch.

/// `prefix` and `path`, in quotes if Git would quote them: with control characters, quotes, backslashes or any byte
/// outside of ASCII. Every other byte stands for itself.
pub(super) fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let name = [prefix, path].concat();
    if !name.iter().any(|&byte| is_quoted(byte)) {
        return name;
    }
    let mut quoted = vec![b'"'];
    name.iter().for_each(|&byte| push(&mut quoted, byte));
    quoted.push(b'"');
    quoted
}

fn is_quoted(byte: u8) -> bool {
    matches!(byte, 0..=0x1f | b'"' | b'\\' | 0x7f..)
}

fn push(quoted: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        0x07 => b'a',
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0b => b'v',
        0x0c => b'f',
        b'\r' => b'r',
        b'"' | b'\\' => byte,
        _ if is_quoted(byte) => return quoted.extend(format!("\\{byte:03o}").bytes()),
        _ => return quoted.push(byte),
    };
    quoted.extend([b'\\', short]);
}
