//! A strict and thrifty reader of JSON: it looks at every byte of a document and keeps only what was asked for.
//!
//! Everywhere, also in what is not kept, keys must differ and nesting has an end. So two readers never understand the same
//! document in two ways, and a document of a few bytes a value never takes many times its length in memory.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Deepest nesting of objects and arrays.
const MAX_DEPTH: usize = 64;
/// Most keys of all objects that are open at the same time: they are remembered to tell duplicates.
const MAX_OPEN_KEYS: usize = 1 << 16;
/// Most items of a list that is kept.
const MAX_ITEMS: usize = 1 << 16;

/// What is wanted of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// Nothing but that it is well formed.
    Nothing,
    /// Its text.
    Text,
    /// Its integer.
    Integer,
    /// The number of its items.
    Count,
    /// Its items.
    List(&'static Wanted),
    /// These of its members.
    Object(&'static [(&'static str, Wanted)]),
}

/// What was kept of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Nothing: it was absent, `null`, or not wanted.
    #[default]
    Nothing,
    Text(String),
    Integer(i64),
    Count(u64),
    List(Vec<Kept>),
    Object(Vec<(&'static str, Kept)>),
}

impl Kept {
    /// Takes a member out of an object.
    pub(crate) fn take(&mut self, key: &str) -> Self {
        match self {
            Self::Object(members) => {
                let found = members.iter_mut().find(|(name, _)| *name == key);
                found.map(|(_, value)| std::mem::take(value)).unwrap_or_default()
            }
            _ => Self::Nothing,
        }
    }

    /// Takes a text out of an object; empty where there is none.
    pub(crate) fn text(&mut self, key: &str) -> String {
        match self.take(key) {
            Self::Text(text) => text,
            _ => String::new(),
        }
    }

    /// Takes an integer out of an object.
    pub(crate) fn integer(&mut self, key: &str) -> Option<i64> {
        match self.take(key) {
            Self::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// Takes the items of a list out of an object.
    pub(crate) fn items(&mut self, key: &str) -> Vec<Self> {
        match self.take(key) {
            Self::List(items) => items,
            _ => Vec::new(),
        }
    }
}

/// Reads a whole document. An error of the category `Data` is a refusal; any other means that it is no document.
pub(crate) fn read(json: &[u8], wanted: Wanted) -> Result<Kept, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let mut open_keys = 0;
    let kept =
        Value { wanted, place: "the document", depth: 0, open_keys: &mut open_keys }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(kept)
}

/// Reads one value.
struct Value<'k> {
    wanted: Wanted,
    /// The key that it stands under, for messages.
    place: &'static str,
    depth: usize,
    open_keys: &'k mut usize,
}

impl Value<'_> {
    fn refuse<E: Error>(&self, found: &str) -> E {
        let expected = match self.wanted {
            Wanted::Nothing => "anything",
            Wanted::Text => "a text",
            Wanted::Integer => "an integer",
            Wanted::Count | Wanted::List(_) => "an array",
            Wanted::Object(_) => "an object",
        };
        E::custom(format_args!("expected {expected} as `{}`, found {found}", self.place))
    }

    fn deeper<E: Error>(&self) -> Result<usize, E> {
        match self.depth < MAX_DEPTH {
            true => Ok(self.depth + 1),
            false => Err(E::custom(format_args!("it is nested deeper than {MAX_DEPTH}"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = Kept;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kept, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = Kept;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Kept, E> {
        Ok(Kept::Nothing)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Kept, E> {
        match self.wanted {
            Wanted::Nothing => Ok(Kept::Nothing),
            _ => Err(self.refuse("true or false")),
        }
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Kept, E> {
        match self.wanted {
            Wanted::Nothing => Ok(Kept::Nothing),
            Wanted::Integer => Ok(Kept::Integer(integer)),
            _ => Err(self.refuse("a number")),
        }
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Kept, E> {
        match (self.wanted, i64::try_from(integer)) {
            (Wanted::Integer, Err(_)) => Err(self.refuse("a number that is too large")),
            (_, integer) => self.visit_i64(integer.unwrap_or(i64::MAX)),
        }
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Kept, E> {
        match self.wanted {
            Wanted::Nothing => Ok(Kept::Nothing),
            _ => Err(self.refuse("a number with a fraction, or that is too large")),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Kept, E> {
        match self.wanted {
            Wanted::Nothing => Ok(Kept::Nothing),
            Wanted::Text => Ok(Kept::Text(text.to_owned())),
            _ => Err(self.refuse("a text")),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Kept, A::Error> {
        let wanted = match self.wanted {
            Wanted::Nothing | Wanted::Count => Wanted::Nothing,
            Wanted::List(item) => *item,
            _ => return Err(self.refuse("an array")),
        };
        let depth = self.deeper()?;
        let (mut kept, mut count) = (Vec::new(), 0);
        while let Some(item) =
            items.next_element_seed(Value { wanted, place: self.place, depth, open_keys: self.open_keys })?
        {
            count += 1;
            if matches!(self.wanted, Wanted::List(_)) {
                kept.push(item);
            }
            if kept.len() > MAX_ITEMS {
                return Err(A::Error::custom(format_args!("`{}` has more than {MAX_ITEMS} items", self.place)));
            }
        }
        Ok(match self.wanted {
            Wanted::Count => Kept::Count(count),
            Wanted::List(_) => Kept::List(kept),
            _ => Kept::Nothing,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Kept, A::Error> {
        let wanted = match self.wanted {
            Wanted::Nothing => &[],
            Wanted::Object(members) => members,
            _ => return Err(self.refuse("an object")),
        };
        let depth = self.deeper()?;
        let (mut seen, mut kept) = (HashSet::new(), Vec::new());
        while let Some(key) = members.next_key::<Key>()? {
            let found = wanted.iter().find(|(name, _)| **name == *key.0);
            *self.open_keys += 1;
            if *self.open_keys > MAX_OPEN_KEYS {
                return Err(A::Error::custom("it has too many keys"));
            }
            if let Some(key) = seen.replace(key.0) {
                let key = isobox_domain::escape::Escaped(key.as_bytes());
                return Err(A::Error::custom(format_args!("the key `{key}` is there twice")));
            }
            let (place, wanted) = found.map_or(("?", Wanted::Nothing), |(name, wanted)| (*name, *wanted));
            let value = members.next_value_seed(Value { wanted, place, depth, open_keys: self.open_keys })?;
            if found.is_some() {
                kept.push((place, value));
            }
        }
        *self.open_keys -= seen.len();
        Ok(if matches!(self.wanted, Wanted::Nothing) { Kept::Nothing } else { Kept::Object(kept) })
    }
}

/// A key of an object.
struct Key(Box<str>);

impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        Ok(Key(key.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Wanted = Wanted::Object(&[
        ("a", Wanted::Text),
        ("n", Wanted::Integer),
        ("l", Wanted::List(&Wanted::Text)),
        ("c", Wanted::Count),
    ]);

    fn refusal(json: &str) -> String {
        let error = read(json.as_bytes(), SHAPE).expect_err(json);
        assert!(error.is_data(), "{json}: {error}");
        error.to_string()
    }

    #[test]
    fn what_is_wanted_is_kept_and_the_rest_is_not() {
        let json = r#"{"a":"x\u00e9","n":-7,"l":["p","q"],"c":[1,{},[]],"other":{"deep":[1.5,true,null]}}"#;
        let mut kept = read(json.as_bytes(), SHAPE).expect("a document");
        assert_eq!((kept.text("a"), kept.integer("n")), ("xé".to_owned(), Some(-7)));
        assert_eq!(kept.items("l"), [Kept::Text("p".into()), Kept::Text("q".into())]);
        assert_eq!((kept.take("c"), kept.take("other")), (Kept::Count(3), Kept::Nothing));
        assert_eq!(kept.text("absent"), "");
    }

    #[test]
    fn duplicate_keys_are_refused_wherever_they_are() {
        for json in [r#"{"a":"x","a":"x"}"#, r#"{"z":[{"k":1,"k":2}]}"#, r#"{"k":{"k":{"\u006b":1,"k":1}}}"#] {
            assert!(refusal(json).contains("is there twice"), "{json}");
        }
        assert!(read(br#"{"z":[{"k":1},{"k":2}],"k":3}"#, SHAPE).is_ok());
    }

    #[test]
    fn nesting_ends_at_sixty_four() {
        let nested = |depth: usize| format!("{{\"z\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(nested(63).as_bytes(), SHAPE).is_ok());
        assert!(refusal(&nested(64)).contains("deeper than 64"));
        assert!(refusal(&nested(100_000)).contains("deeper than 64"));
    }

    #[test]
    fn wrong_types_are_refused_and_null_is_nothing() {
        for json in
            [r#"{"a":1}"#, r#"{"n":"1"}"#, r#"{"n":1.5}"#, r#"{"n":99999999999999999999}"#, r#"{"l":{}}"#, "[]", "3"]
        {
            assert!(refusal(json).contains("expected"), "{json}");
        }
        assert_eq!(read(br#"{"a":null,"n":null}"#, SHAPE).map(|mut kept| kept.text("a")).ok(), Some(String::new()));
    }

    #[test]
    fn what_is_not_whole_is_no_refusal() {
        for json in ["", "{", r#"{"a":"x"#, r#"{"a":"x"}}"#, "\0\0\0", r#"{"a":"\xff"}"#, "{\"a\":\"\u{0}\"}"] {
            let error = read(json.as_bytes(), SHAPE).expect_err(json);
            assert!(!error.is_data(), "{json}: {error}");
        }
    }

    #[test]
    fn keys_that_would_fill_memory_are_refused() {
        let keys = (0..=MAX_OPEN_KEYS).map(|n| format!("\"{n}\":0")).collect::<Vec<_>>().join(",");
        assert!(refusal(&format!("{{{keys}}}")).contains("too many keys"));
    }
}
