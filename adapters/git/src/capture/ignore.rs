//! Ignore rules: the Workspace's own `.gitignore` files, read as data. Nothing else ignores anything.

use super::base_content::BaseContent;
use super::base_side::BaseSide;
use crate::beneath::{self, Kind};
use crate::stat_cache::StatCacheEntry;
use gix::glob::pattern::Case;
use gix::glob::search::pattern::{List, Mapping};
use gix::ignore::search::{Ignore, pattern_matching_relative_path};
use isobox_domain::change::{Mode, NotCapturedReason, RuleOrigin};
use isobox_domain::repo_path::RepoPath;
use nix::errno::Errno;
use std::cell::{Cell, OnceCell};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// Name of the files that hold rules.
const RULE_FILE: &[u8] = b".gitignore";
/// Bytes of rules in force at one time. What a larger file would ignore is captured instead.
const BUDGET_BYTES: u64 = 256 * 1024;
/// `**` in one rule. Matching takes time exponential in their number, and whoever wrote the rule may be hostile.
const MAX_DOUBLE_STARS: usize = 8;

/// How many bytes of rules may still come into force.
#[derive(Clone)]
pub(super) struct Budget(Rc<Cell<u64>>);

impl Default for Budget {
    fn default() -> Self {
        Self(Rc::new(Cell::new(BUDGET_BYTES)))
    }
}

/// The rules of one `.gitignore`.
pub(super) struct Rules {
    file: RepoPath,
    text: Vec<u8>,
    list: List<Ignore>,
    /// The file in the pinned commit.
    base: Option<StatCacheEntry>,
    base_text: OnceCell<Vec<u8>>,
    budget: Budget,
}

impl Rules {
    /// Reads the rules of the directory open as `directory`, whose path is `path` (empty for the root).
    ///
    /// A `.gitignore` that is no regular file, cannot be read or is over the budget has no rules. Where the directory does
    /// not name one and hides nothing, the commit's is the Workspace's.
    pub(super) fn read(
        directory: &OwnedFd,
        path: &[u8],
        base: &BaseSide,
        content: &mut BaseContent<'_>,
        budget: &Budget,
    ) -> io::Result<Option<Rc<Self>>> {
        let prefix = if path.is_empty() { Vec::new() } else { [path, b"/"].concat() };
        let Ok(file) = RepoPath::parse([&prefix, RULE_FILE].concat()) else { return Ok(None) };
        let limit = budget.0.get();
        let (text, base, base_text) = match beneath::look(directory, RULE_FILE) {
            Ok(seen) if seen.kind() == Kind::File => {
                let Some(text) = read_file(directory, limit) else { return Ok(None) };
                (text, base.find(file.as_bytes())?, OnceCell::new())
            }
            Err(Errno::ENOENT) if !base.is_hidden(file.as_bytes()) => {
                let Some(entry) = base.find(file.as_bytes())?.filter(|entry| entry.stat.size <= limit) else {
                    return Ok(None);
                };
                let text = read_base(&entry, content);
                (text.clone(), Some(entry), OnceCell::from(text))
            }
            _ => return Ok(None),
        };
        budget.0.set(limit.saturating_sub(text.len() as u64));
        let list = List { patterns: parse(&text), source: None, base: (!prefix.is_empty()).then(|| prefix.into()) };
        Ok(Some(Rc::new(Self { file, text, list, base, base_text, budget: budget.clone() })))
    }

    fn line(&self, number: usize) -> &[u8] {
        lines(&self.text).nth(number.saturating_sub(1)).unwrap_or_default()
    }

    fn origin(&self, line: &[u8], content: &mut BaseContent<'_>) -> RuleOrigin {
        let Some(base) = &self.base else { return RuleOrigin::Workload };
        let base_text = self.base_text.get_or_init(|| read_base(base, content));
        if lines(base_text).any(|known| known == line) { RuleOrigin::Commit } else { RuleOrigin::Workload }
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        self.budget.0.set(self.budget.0.get() + self.text.len() as u64);
    }
}

/// A rule that ignores something.
#[derive(Clone)]
pub(super) struct Rule {
    rules: Rc<Rules>,
    line_number: usize,
}

impl Rule {
    /// The rule that decides about `path`, if it ignores it. `rules` come from the path's directory upwards.
    pub(super) fn find<'a>(
        rules: impl Iterator<Item = &'a Rc<Rules>>,
        path: &[u8],
        is_directory: bool,
    ) -> Option<Self> {
        let name_start = path.iter().rposition(|&b| b == b'/').map(|slash| slash + 1);
        for rules in rules {
            let found = pattern_matching_relative_path(
                &rules.list,
                path.into(),
                name_start,
                Some(is_directory),
                Case::Sensitive,
            );
            if let Some(found) = found {
                let rule = Self { rules: Rc::clone(rules), line_number: found.sequence_number };
                return (!found.pattern.is_negative()).then_some(rule);
            }
        }
        None
    }

    /// Why something that it ignores is not captured.
    pub(super) fn reason(&self, content: &mut BaseContent<'_>) -> NotCapturedReason {
        let line = self.rules.line(self.line_number);
        NotCapturedReason::Ignored {
            rule: line.to_vec(),
            rule_file: self.rules.file.clone(),
            origin: self.rules.origin(line, content),
        }
    }
}

fn parse(text: &[u8]) -> Vec<Mapping<gix::ignore::Kind>> {
    let rules = gix::ignore::parse(text, false);
    let is_cheap = |text: &[u8]| text.windows(2).filter(|pair| pair == b"**").count() <= MAX_DOUBLE_STARS;
    rules
        .filter(|(pattern, ..)| is_cheap(&pattern.text))
        .map(|(pattern, sequence_number, value)| Mapping { pattern, value, sequence_number })
        .collect()
}

/// Lines as gix counts them: without a byte order mark and carriage returns at their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    text.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn read_file(directory: &OwnedFd, limit: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    beneath::open_file(directory, RULE_FILE).ok()?.take(limit + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= limit).then_some(text)
}

/// A rule file of the commit that cannot be read has no rules: what the Workspace has is then the workload's.
fn read_base(entry: &StatCacheEntry, content: &mut BaseContent<'_>) -> Vec<u8> {
    match entry.mode {
        Mode::File | Mode::Executable => {
            let mut rules = Vec::new();
            let read = content.find(entry).and_then(|mut rule_file| rule_file.open()?.read_to_end(&mut rules));
            read.map_or_else(|_| Vec::new(), |_| rules)
        }
        Mode::Symlink | Mode::Submodule => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::test_runner::Config as ProptestConfig;

    #[test]
    fn a_rule_that_would_take_for_ever_to_match_is_no_rule() {
        let rules = format!("{}x\n{}y\nz\n", "**/".repeat(40), "**/".repeat(MAX_DOUBLE_STARS));
        let kept: Vec<_> = parse(rules.as_bytes()).into_iter().map(|mapping| mapping.sequence_number).collect();
        assert_eq!(kept, [2, 3]);
    }

    #[test]
    fn lines_are_counted_as_gix_counts_them() {
        let text = b"\xef\xbb\xbf*.a\r\n\n# comment\n\xff \n\\!b\n\n!c";
        for (pattern, number, _) in gix::ignore::parse(text, false) {
            let line = lines(text).nth(number - 1).expect("there is such a line");
            let letter = pattern.text.last().expect("a pattern has text");
            assert!(line.trim_ascii_end().ends_with(&[*letter]), "{pattern:?} is not line {number}: {line:?}");
        }
    }

    proptest::proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_parsed_and_matched(text: Vec<u8>, path in "[a-c*](/?[a-c*]){0,8}") {
            let list = List { patterns: parse(&text), source: None, base: None };
            pattern_matching_relative_path(&list, path.as_str().into(), None, Some(true), Case::Sensitive);
        }
    }
}
