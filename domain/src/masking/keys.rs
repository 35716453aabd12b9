//! Keys that can be told by how they begin.

use std::ops::Range;

/// A key by its issuer's prefix.
struct Shape {
    prefix: &'static [u8],
    /// How many characters follow at least.
    shortest: usize,
    /// Characters besides letters and digits.
    others: &'static [u8],
    /// What it is, in words.
    what: &'static str,
}

const fn shape(prefix: &'static [u8], shortest: usize, others: &'static [u8], what: &'static str) -> Shape {
    Shape { prefix, shortest, others, what }
}

/// From the issuers' own descriptions of their tokens; lengths are lower bounds.
const SHAPES: [Shape; 30] = [
    shape(b"ghp_", 20, b"", "a key of GitHub"),
    shape(b"gho_", 20, b"", "a key of GitHub"),
    shape(b"ghu_", 20, b"", "a key of GitHub"),
    shape(b"ghs_", 20, b"", "a key of GitHub"),
    shape(b"ghr_", 20, b"", "a key of GitHub"),
    shape(b"github_pat_", 20, b"_", "a key of GitHub"),
    shape(b"glpat-", 16, b"_-.", "a key of GitLab"),
    shape(b"gldt-", 16, b"_-", "a key of GitLab"),
    shape(b"sk-", 20, b"_-", "a key of OpenAI or Anthropic"),
    shape(b"sk_live_", 10, b"", "a key of Stripe"),
    shape(b"sk_test_", 10, b"", "a key of Stripe"),
    shape(b"rk_live_", 10, b"", "a key of Stripe"),
    shape(b"rk_test_", 10, b"", "a key of Stripe"),
    shape(b"whsec_", 16, b"+/=", "a key of Stripe"),
    shape(b"xoxb-", 10, b"-", "a key of Slack"),
    shape(b"xoxp-", 10, b"-", "a key of Slack"),
    shape(b"xoxa-", 10, b"-", "a key of Slack"),
    shape(b"xoxr-", 10, b"-", "a key of Slack"),
    shape(b"xoxs-", 10, b"-", "a key of Slack"),
    shape(b"xapp-", 10, b"-", "a key of Slack"),
    shape(b"AKIA", 16, b"", "a key of AWS"),
    shape(b"ASIA", 16, b"", "a key of AWS"),
    shape(b"AIza", 30, b"_-", "a key of Google"),
    shape(b"ya29.", 20, b"_-", "a key of Google"),
    shape(b"npm_", 30, b"", "a key of npm"),
    shape(b"pypi-", 30, b"_-", "a key of PyPI"),
    shape(b"hf_", 30, b"", "a key of Hugging Face"),
    shape(b"dop_v1_", 40, b"", "a key of DigitalOcean"),
    shape(b"shpat_", 20, b"", "a key of Shopify"),
    shape(b"SG.", 40, b"_-.", "a key of SendGrid"),
];

/// The secret part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// What follows the prefix.
    pub range: Range<usize>,
    /// Which kind of key it is, in words.
    pub what: &'static str,
}

/// How many characters of what may be a key are looked at before it is one. A text can be made of nothing but beginnings.
const HEAD: usize = 128;

/// The secret part of every key in `text`, in a time that grows with its length alone.
pub(super) fn find(text: &[u8]) -> Vec<Key> {
    let mut found = Vec::new();
    let (mut index, mut headers) = (0, Headers::default());
    while index < text.len() {
        let secret = at_word(text, index)
            .then(|| issued_key(text, index).or_else(|| web_token(text, index, &mut headers)))
            .flatten();
        let secret = secret.or_else(|| private_key(text, index));
        index = secret.as_ref().map_or(index + 1, |key| key.range.end);
        found.extend(secret);
    }
    found
}

fn at_word(text: &[u8], index: usize) -> bool {
    text[index].is_ascii_alphabetic() && index.checked_sub(1).is_none_or(|before| !text[before].is_ascii_alphanumeric())
}

fn issued_key(text: &[u8], index: usize) -> Option<Key> {
    let shape = SHAPES.iter().find(|shape| text[index..].starts_with(shape.prefix))?;
    let start = index + shape.prefix.len();
    let head = run(&text[..text.len().min(start + HEAD)], start, shape.others);
    // A word that happens to begin alike, such as `sk-learn-…`, has no digits in it.
    let is_random = text[head.clone()].iter().any(u8::is_ascii_digit);
    (head.len() >= shape.shortest && is_random).then(|| Key { range: run(text, start, shape.others), what: shape.what })
}

/// Where the first parts of web tokens end, kept from one beginning to the next.
#[derive(Default)]
struct Headers {
    end: usize,
}

impl Headers {
    /// The end of the part that begins at `start`, or in which `start` is.
    fn end_of(&mut self, text: &[u8], start: usize) -> usize {
        if self.end <= start {
            self.end = run(text, start, b"_-=").end;
        }
        self.end
    }
}

/// A JSON Web Token: three parts in base64, the first of which begins with `{"`.
fn web_token(text: &[u8], index: usize, headers: &mut Headers) -> Option<Key> {
    text[index..].starts_with(b"eyJ").then_some(())?;
    let header = headers.end_of(text, index);
    let is_dot = |at: usize| text.get(at) == Some(&b'.');
    (header - index >= 10 && is_dot(header)).then_some(())?;
    let payload = headers.end_of(text, header + 1);
    let is_token = payload - header > 10 && is_dot(payload);
    is_token.then(|| Key { range: index + 3..run(text, index, b"_-.=").end, what: "a JSON Web Token" })
}

/// The body of a PEM private key, to its end line or to the end of the text.
fn private_key(text: &[u8], index: usize) -> Option<Key> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const END: &[u8] = b"-----END ";
    text[index..].starts_with(BEGIN).then_some(())?;
    let label = index + BEGIN.len();
    let dashes = text[label..].windows(5).take(64).position(|window| window == b"-----")?;
    let is_private = text[label..label + dashes].windows(11).any(|window| window == b"PRIVATE KEY");
    let start = label + dashes + 5;
    // What no end follows takes the rest, so that nobody looks for one again.
    (is_private && start < text.len()).then_some(())?;
    let end = text[start..].windows(END.len()).position(|window| window == END);
    let range = start..end.map_or(text.len(), |length| start + length);
    Some(Key { range, what: "a private key" })
}

fn run(text: &[u8], start: usize, others: &[u8]) -> Range<usize> {
    let length = text[start..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || others.contains(byte)).count();
    start..start + length
}
