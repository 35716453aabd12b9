//! What the words of code are: keywords, strings, comments and so on.
//!
//! The grammars come with syntect and are loaded when the first line asks for them. Code is hostile: long lines are left as they
//! are, and so is the rest of a section, of a file and of a patch that took too much of it. A grammar keeps every expression that
//! it compiled, so that all are forgotten now and then.

use super::style::{Hue, Style};
use isobox_domain::quoted_name::unquoted;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

/// Longest line that is looked at, in bytes.
pub(super) const LONGEST_LINE: usize = 1 << 10;
/// Most lines of a section that are looked at.
const MOST_LINES: u32 = 2_000;
/// How long the code of one section may take.
const SECTION_TIME: Duration = Duration::from_secs(1);
/// How long the code of a patch may take.
const PATCH_TIME: Duration = Duration::from_secs(5);
/// How much memory isobox may have, in KiB, before a section goes on without colours and everything that grammars compiled is given
/// back: a line can compile some MiB of expressions, and more than 64 MiB are not to be taken.
const MOST_MEMORY_KIB: u64 = 54 << 10;
/// The same before another grammar takes the place of those that were used, in place of joining them.
const FULL_MEMORY_KIB: u64 = 40 << 10;
/// After how many lines that is looked at again.
const LINES_BETWEEN: u32 = 4;

/// The looks of scopes; of those that begin a name the first holds. Red and green are missing: they say on which side a line is.
const LOOKS: [(&str, Style); 14] = [
    ("comment", Style { hue: None, is_bold: false, is_dim: true, is_reversed: false }),
    ("string.regexp", Style::of(Hue::Magenta)),
    ("constant.character.escape", Style::of(Hue::Magenta)),
    ("string", Style::of(Hue::Yellow)),
    ("constant", Style::of(Hue::Magenta)),
    ("keyword.operator", Style { hue: None, is_bold: false, is_dim: false, is_reversed: false }),
    ("keyword", Style::of(Hue::BrightBlue)),
    ("storage", Style::of(Hue::BrightBlue)),
    ("entity.name.tag", Style::of(Hue::BrightBlue)),
    ("entity.name", Style::of(Hue::Cyan)),
    ("entity.other.attribute-name", Style::of(Hue::Cyan)),
    ("support", Style::of(Hue::Cyan)),
    ("variable.language", Style::of(Hue::Magenta)),
    ("markup.heading", Style::bold(Hue::Blue)),
];

/// Where in a line what looks how.
pub(super) type Looks = Vec<(Range<usize>, Style)>;

/// Which sides of a change a line is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Old,
    New,
    Both,
}

/// The grammars, and where in the code of a section they are.
#[derive(Default)]
pub(super) struct Syntax {
    grammars: Option<Grammars>,
    /// The extension, or else the name, of the file: it selects the grammar.
    names: Vec<String>,
    section: Option<Section>,
    spent: Duration,
}

struct Grammars {
    set: SyntaxSet,
    looks: Vec<(Scope, Style)>,
    /// The grammar that was used last.
    used: Option<String>,
}

struct Section {
    old: Side,
    new: Side,
    lines: u32,
    spent: Duration,
}

#[derive(Clone)]
struct Side {
    state: ParseState,
    scopes: ScopeStack,
}

impl Syntax {
    /// One that tells nothing, as if all time was spent.
    pub(super) fn silent() -> Self {
        Self { spent: PATCH_TIME, ..Self::default() }
    }

    /// The lines that come are of the file that a `---` or `+++` line names `label`, as far as it names one.
    pub(super) fn begin_file(&mut self, label: &[u8]) {
        self.section = None;
        let label = label.strip_suffix(b"\t").unwrap_or(label);
        let Some(name) = unquoted(label).filter(|name| name != b"/dev/null") else { return };
        let path = Path::new(OsStr::from_bytes(&name));
        let text = |part: Option<&OsStr>| part.and_then(OsStr::to_str).map(str::to_owned);
        self.names = [text(path.file_name()), text(path.extension())].into_iter().flatten().collect();
    }

    /// Nothing that comes is of a file that was named.
    pub(super) fn end_file(&mut self) {
        self.section = None;
        self.names.clear();
    }

    /// The lines that come follow none of those that came.
    pub(super) fn begin_section(&mut self) {
        self.section = None;
        if self.spent >= PATCH_TIME || self.names.is_empty() {
            return;
        }
        let begun = Instant::now();
        if has_more_than(MOST_MEMORY_KIB) {
            self.grammars = None;
            return;
        }
        let grammars = self.grammars.get_or_insert_with(Grammars::load);
        if let Some(state) = grammars.find(&self.names) {
            let side = Side { state, scopes: ScopeStack::new() };
            self.section = Some(Section { old: side.clone(), new: side, lines: 0, spent: Duration::ZERO });
        }
        self.spent += begun.elapsed();
    }

    /// How the parts of the next line look.
    pub(super) fn looks(&mut self, sides: Sides, line: &[u8]) -> Looks {
        let (Some(grammars), Some(section)) = (&self.grammars, &mut self.section) else { return Looks::new() };
        let Ok(line) = std::str::from_utf8(line) else { return Looks::new() };
        if line.len() > LONGEST_LINE {
            return Looks::new();
        }
        let begun = Instant::now();
        let line = format!("{line}\n");
        let old = (sides != Sides::New).then(|| grammars.looks(&mut section.old, &line));
        let new = (sides != Sides::Old).then(|| grammars.looks(&mut section.new, &line));
        section.lines += 1;
        section.spent += begun.elapsed();
        self.spent += begun.elapsed();
        if section.lines >= MOST_LINES || section.spent >= SECTION_TIME {
            self.section = None;
        } else if section.lines % LINES_BETWEEN == 1 && has_more_than(MOST_MEMORY_KIB) {
            (self.section, self.grammars) = (None, None);
        }
        new.or(old).flatten().unwrap_or_default()
    }
}

impl Grammars {
    fn load() -> Self {
        let set = SyntaxSet::load_defaults_newlines();
        let looks = LOOKS.into_iter().filter_map(|(name, style)| Some((Scope::new(name).ok()?, style))).collect();
        Self { set, looks, used: None }
    }

    /// The beginning of code in a file of one of `names`.
    fn find(&mut self, names: &[String]) -> Option<ParseState> {
        let find = |set: &SyntaxSet| {
            let syntax = names.iter().find_map(|name| set.find_syntax_by_extension(name))?;
            Some((syntax.name.clone(), ParseState::new(syntax)))
        };
        let (name, _) = find(&self.set)?;
        if self.used.as_ref().is_some_and(|used| *used != name) && has_more_than(FULL_MEMORY_KIB) {
            *self = Self::load();
        }
        self.used = Some(name);
        find(&self.set).map(|(_, state)| state)
    }

    /// `None`: the grammar and the line have nothing to do with each other.
    fn looks(&self, side: &mut Side, line: &str) -> Option<Looks> {
        let operations = side.state.parse_line(line, &self.set).ok()?;
        // The line feed is of the grammar alone.
        let (mut looks, mut at, end) = (Looks::new(), 0, line.len() - 1);
        for (next, operation) in operations {
            let next = next.clamp(at, end);
            looks.push((at..next, self.look(&side.scopes)));
            at = next;
            side.scopes.apply(&operation).ok()?;
        }
        looks.push((at..end, self.look(&side.scopes)));
        looks.retain(|(range, style)| range.start < range.end && *style != Style::default());
        Some(looks)
    }

    fn look(&self, scopes: &ScopeStack) -> Style {
        let looks = |scope: &Scope| self.looks.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
        scopes.as_slice().iter().rev().find_map(looks).map(|(_, style)| *style).unwrap_or_default()
    }
}

/// Whether this process has more memory than so much, or does not know.
fn has_more_than(most_kib: u64) -> bool {
    memory_kib().is_none_or(|kib| kib > most_kib)
}

/// How much memory this process has; see proc_pid_status(5).
fn memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(name: &str, lines: &[&str]) -> Vec<(String, Style)> {
        let mut syntax = Syntax::default();
        syntax.begin_file(name.as_bytes());
        syntax.begin_section();
        let of = |line: &&str| {
            let looks = syntax.looks(Sides::Both, line.as_bytes());
            looks.into_iter().map(|(range, style)| (line[range].to_owned(), style)).collect::<Vec<_>>()
        };
        lines.iter().flat_map(of).collect()
    }

    #[test]
    fn code_is_told_apart_by_the_name_of_its_file() {
        let found = looks("b/src/a.rs", &["let x = \"s\"; // c"]);
        assert!(found.contains(&("let".to_owned(), Style::of(Hue::BrightBlue))), "{found:?}");
        assert!(found.contains(&("s".to_owned(), Style::of(Hue::Yellow))), "{found:?}");
        assert!(found.iter().any(|(text, style)| text.contains('c') && style.is_dim), "{found:?}");
        assert_eq!(looks("b/unknown.ending", &["let x = \"s\";"]), []);
        assert!(!looks("b/Makefile", &["all: # c"]).is_empty());
    }

    #[test]
    fn what_a_section_left_open_does_not_reach_the_next() {
        let mut syntax = Syntax::default();
        syntax.begin_file(b"b/a.rs");
        syntax.begin_section();
        syntax.looks(Sides::New, b"/* open");
        assert_eq!(syntax.looks(Sides::New, b"still").len(), 1);
        assert!(syntax.looks(Sides::Old, b"still").is_empty());
        syntax.begin_section();
        assert!(syntax.looks(Sides::New, b"still").is_empty());
    }

    #[test]
    fn a_long_line_and_one_that_is_no_text_are_left_as_they_are() {
        let long = format!("\"{}\"", "x".repeat(LONGEST_LINE));
        assert_eq!(looks("b/a.rs", &[&long]), []);
        let mut syntax = Syntax::default();
        syntax.begin_file(b"b/a.rs");
        syntax.begin_section();
        assert!(syntax.looks(Sides::Both, b"\"\xff\"").is_empty());
    }

    /// Every grammar takes lines that are as bad as they can be within the time that it has.
    #[test]
    fn no_grammar_is_brought_down_by_hostile_lines() {
        let set = SyntaxSet::load_defaults_newlines();
        let pieces = [
            "(",
            "{",
            "[",
            "<",
            "\"",
            "'",
            "`",
            "/*",
            "\\",
            "<<E",
            "#{",
            "$(",
            "%q(",
            "\u{0}\u{1b}\u{202e}",
            "a ",
            "\t",
        ];
        for grammar in set.syntaxes() {
            let Some(name) = grammar.file_extensions.first() else { continue };
            let mut syntax = Syntax::default();
            syntax.begin_file(format!("b/x.{name}").as_bytes());
            syntax.begin_section();
            let begun = Instant::now();
            for piece in pieces {
                for line in [piece.repeat(LONGEST_LINE / piece.len()), pieces.concat()] {
                    let looks = syntax.looks(Sides::Both, line.as_bytes());
                    let text: String = looks.into_iter().map(|(range, _)| &line[range]).collect();
                    assert!(text.len() <= line.len(), "{}: {line:?}", grammar.name);
                }
            }
            println!("{}: {:?}", grammar.name, begun.elapsed());
        }
    }
}
