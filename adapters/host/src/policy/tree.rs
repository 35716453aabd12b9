//! YAML as a tree of scalars, lists and mappings, each with its place, and without what makes YAML surprising.

use super::PolicyProblem;
use granit_parser::{BorrowedInput, Event, Parser, ScalarStyle, Span};
use isobox_domain::escape::Escaped;
use isobox_ports::Position;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// How deep lists and mappings may lie in each other. The keys of a policy need three levels.
const DEEPEST: usize = 8;

/// Longest piece of a file that a message repeats, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// A value and where it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) position: Position,
    pub(super) value: Value,
}

/// A value.
#[derive(Debug)]
pub(super) enum Value {
    /// Text without quotes: a word, a number, a truth value, or nothing.
    Plain(String),
    /// Text in quotes or a block: text, whatever it says.
    Quoted(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of the file, each key once.
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) position: Position,
}

impl Value {
    /// The value in words, for "expected …, found …".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Plain(text) if text.is_empty() => "nothing".to_owned(),
            Self::Plain(text) => format!("`{}`", shown(text)),
            Self::Quoted(text) => format!("the text \"{}\"", shown(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Mapping(_) => "a mapping".to_owned(),
        }
    }
}

/// Text of the file as a message repeats it: escaped and cropped.
pub(super) fn shown(text: &str) -> String {
    let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
    let end = if start.len() < text.len() { "…" } else { "" };
    format!("{}{end}", Escaped(start.as_bytes()))
}

/// Reads the one document of `text`. A key that is there again is a mistake, and not part of the tree.
pub(super) fn parse(text: &str) -> Result<(Node, Vec<PolicyProblem>), PolicyProblem> {
    let options = granit_parser::options! { disallow_directives: true, emit_comments: false };
    let mut events = Events { parser: Parser::new_from_str_with_options(text, options), again: Vec::new() };
    let root = loop {
        match events.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => {
                let hint = "remove the file, and `isobox init` writes a new one".to_owned();
                return Err(PolicyProblem::whole("it is empty").with_hint(Some(hint)));
            }
            (event, position) => break node(event, position, &mut events, 0)?,
        }
    };
    match events.next()? {
        (Event::DocumentEnd, _) => {}
        (_, position) => return Err(PolicyProblem::at(position, "expected the end of the document")),
    }
    match events.next()? {
        (Event::StreamEnd, _) => Ok((root, events.again)),
        (_, position) => Err(PolicyProblem::at(position, "a policy is one document, and here begins a second one")),
    }
}

struct Events<'input, T: BorrowedInput<'input>> {
    parser: Parser<'input, T>,
    /// Keys that were there before.
    again: Vec<PolicyProblem>,
}

impl<'input, T: BorrowedInput<'input>> Events<'input, T> {
    fn next(&mut self) -> Result<(Event<'input>, Position), PolicyProblem> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, position(span))),
            Some(Err(error)) => {
                let place = Span::empty(*error.marker());
                Err(PolicyProblem::at(position(place), format!("it is not YAML: {}", Escaped(error.info().as_bytes()))))
            }
            // A stream ends with an event of its own, after which nothing is asked for.
            None => Err(PolicyProblem::whole("it ends too early")),
        }
    }
}

fn position(span: Span) -> Position {
    Position { line: span.start.line() as u64, column: span.start.col() as u64 + 1 }
}

fn node<'input, T: BorrowedInput<'input>>(
    event: Event<'input>,
    position: Position,
    events: &mut Events<'input, T>,
    depth: usize,
) -> Result<Node, PolicyProblem> {
    let refuse = |what: &str| Err(PolicyProblem::at(position, format!("{what} have no place in a policy")));
    if event.alias_id().is_some() {
        return refuse("aliases");
    }
    if event.anchor_id().is_some() {
        return refuse("anchors");
    }
    if event.tag().is_some() {
        return refuse("tags");
    }
    if depth > DEEPEST {
        return Err(PolicyProblem::at(
            position,
            format!("lists and mappings lie more than {DEEPEST} deep in each other"),
        ));
    }
    let value = match event {
        // What is left out reads as `~`, which is YAML's other way to write nothing.
        Event::Scalar(text, ScalarStyle::Plain, ..) if text == "~" => Value::Plain(String::new()),
        Event::Scalar(text, ScalarStyle::Plain, ..) => Value::Plain(text.into_owned()),
        Event::Scalar(text, ..) => Value::Quoted(text.into_owned()),
        Event::SequenceStart(..) => Value::List(list(events, depth)?),
        Event::MappingStart(..) => Value::Mapping(mapping(events, depth)?),
        _ => return Err(PolicyProblem::at(position, "expected a value")),
    };
    Ok(Node { position, value })
}

fn list<'input, T: BorrowedInput<'input>>(
    events: &mut Events<'input, T>,
    depth: usize,
) -> Result<Vec<Node>, PolicyProblem> {
    let mut items = Vec::new();
    loop {
        match events.next()? {
            (Event::SequenceEnd, _) => return Ok(items),
            (event, position) => items.push(node(event, position, events, depth + 1)?),
        }
    }
}

fn mapping<'input, T: BorrowedInput<'input>>(
    events: &mut Events<'input, T>,
    depth: usize,
) -> Result<Vec<(Key, Node)>, PolicyProblem> {
    let mut entries = Vec::new();
    let mut lines = HashMap::new();
    loop {
        let key = match events.next()? {
            (Event::MappingEnd, _) => return Ok(entries),
            (event, position) => key(node(event, position, events, depth + 1)?)?,
        };
        let (event, position) = events.next()?;
        let value = node(event, position, events, depth + 1)?;
        match lines.entry(key.name.clone()) {
            Entry::Vacant(place) => {
                place.insert(key.position.line);
                entries.push((key, value));
            }
            Entry::Occupied(first) => events.again.push(there_twice(&key, *first.get())),
        }
    }
}

fn there_twice(key: &Key, first_line: u64) -> PolicyProblem {
    let problem = format!("`{}` is there twice; the first one is on line {first_line}", shown(&key.name));
    PolicyProblem::at(key.position, problem).with_hint(Some("keep one of them".to_owned()))
}

fn key(node: Node) -> Result<Key, PolicyProblem> {
    match node.value {
        Value::Plain(name) | Value::Quoted(name) => Ok(Key { name, position: node.position }),
        other => Err(PolicyProblem::at(node.position, format!("expected a key, found {}", other.in_words()))),
    }
}
