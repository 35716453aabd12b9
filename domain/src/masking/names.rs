//! Names whose values are secrets.

/// Endings that say it, whatever comes before.
const ENDINGS: [&str; 6] = ["token", "secret", "password", "passwd", "passphrase", "passcode"];

/// Keys that are secrets under any name, and are text rather than files.
const KEY_ENDINGS: [&str; 8] =
    ["api_key", "apikey", "access_key", "accesskey", "secret_key", "secretkey", "auth_key", "account_key"];

/// Keys that are secrets, and are often given as the file that holds them.
const FILE_KEY_ENDINGS: [&str; 3] = ["private_key", "signing_key", "encryption_key"];

/// First words of flags that are about secrets and take none, such as `--no-password`.
const ABOUT: [&str; 10] = ["no", "ask", "use", "show", "prompt", "with", "without", "enable", "disable", "generate"];

/// What the value of a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A secret.
    Secret,
    /// A secret, or the path of a file that holds one.
    SecretOrFile,
}

/// What the value of a variable, field, parameter or header is, if it is a secret.
pub(super) fn of_name(name: &[u8]) -> Option<Kind> {
    let plain = plain(name);
    let words: Vec<&str> = plain.split('_').collect();
    let last = *words.last()?;
    let ends = |endings: &[&str]| endings.iter().any(|ending| plain.ends_with(ending));
    // `PWD` alone is a directory.
    let is_short = last == "pass" || (last == "pwd" && words.len() > 1);
    if is_short || ends(&ENDINGS) || ends(&KEY_ENDINGS) {
        return Some(Kind::Secret);
    }
    let is_variable = name.iter().all(|byte| !byte.is_ascii_lowercase());
    (ends(&FILE_KEY_ENDINGS) || (is_variable && last == "key")).then_some(Kind::SecretOrFile)
}

/// What the value of a flag is, if it is a secret. `flag` begins with a hyphen.
pub(super) fn of_flag(flag: &[u8]) -> Option<Kind> {
    let name: &[u8] = &flag[flag.iter().take_while(|byte| **byte == b'-').count()..];
    let plain = plain(name);
    let first = plain.split('_').next().unwrap_or_default();
    if name.len() < 2 || ABOUT.contains(&first) {
        return None;
    }
    of_name(name).or((plain == "pwd").then_some(Kind::Secret))
}

/// Whether `value` is no secret, whatever its name: nothing, a switch, a reference to a variable or a placeholder, or
/// a file where one can be meant.
pub(super) fn is_harmless(value: &[u8], kind: Kind) -> bool {
    let switches = [&b"true"[..], b"false", b"null", b"none", b"yes", b"no"];
    let is_switch = switches.iter().any(|switch| value.eq_ignore_ascii_case(switch));
    let is_digit = value.len() == 1 && value[0].is_ascii_digit();
    value.is_empty() || is_switch || is_digit || begins_harmless(value, kind)
}

/// Whether a value that begins like this is no secret, wherever it ends: who knows that need not look for its end, of which a
/// text can have very many.
pub(super) fn begins_harmless(value: &[u8], kind: Kind) -> bool {
    let begins = |starts: &[&[u8]]| starts.iter().any(|start| value.starts_with(start));
    begins(&[b"$", b"{{", b"<", b"%"]) || (kind == Kind::SecretOrFile && begins(&[b"/", b"./", b"../", b"~"]))
}

/// Lower case, with `_` between words.
fn plain(name: &[u8]) -> String {
    let letters = name.iter().map(|byte| match byte {
        b'-' | b'.' => '_',
        other => char::from(other.to_ascii_lowercase()),
    });
    letters.collect()
}
