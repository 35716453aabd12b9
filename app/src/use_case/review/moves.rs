//! How a person gets about: from path to path, from hunk to hunk, up and down.

use super::keys::Key;
use super::state::{Focus, Review};

/// How many lines are shown above the hunk that one goes to.
const ABOVE: usize = 3;
/// How many columns a page goes aside at once.
const ASIDE: usize = 16;

impl Review {
    /// Goes where a key says.
    pub(super) fn go(&mut self, key: Key) {
        match (self.focus, key) {
            (Focus::List, Key::Enter | Key::Tab | Key::Right | Key::Char('l')) if !self.order.is_empty() => {
                self.focus = Focus::Page;
            }
            (Focus::Page, Key::Enter | Key::Tab | Key::Escape) => self.focus = Focus::List,
            (_, Key::Char(']')) => self.go_to_entry(self.at + 1),
            (_, Key::Char('[')) => self.go_to_entry(self.at.saturating_sub(1)),
            (Focus::List, key) => {
                if let Some(at) = moved(self.at, key, self.rows, self.order.len()) {
                    self.go_to_entry(at);
                }
            }
            (Focus::Page, key) => self.go_in_page(key),
        }
    }

    fn go_in_page(&mut self, key: Key) {
        match key {
            Key::Char('J') => self.go_to_hunk(self.hunk + 1),
            Key::Char('K') => self.go_to_hunk(self.hunk.saturating_sub(1)),
            Key::Left | Key::Char('h') => self.left = self.left.saturating_sub(ASIDE),
            Key::Right | Key::Char('l') => self.left = (self.left + ASIDE).min(1 << 16),
            key => {
                let length = self.page().map_or(0, |page| page.lines.len());
                // The last line stays at the end of the screen.
                let tops = (length + 1).saturating_sub(self.rows).max(1);
                if let Some(top) = moved(self.top, key, self.rows, tops) {
                    self.top = top;
                    self.follow();
                }
            }
        }
    }

    /// Where the hunk that one is at left the screen, the first one that is on it takes its place.
    fn follow(&mut self) {
        let Some(page) = self.page() else { return };
        let (top, end) = (self.top, self.top + self.rows);
        let is_seen = |begin: &usize| (top..end).contains(begin);
        if page.begins.get(self.hunk).is_some_and(is_seen) {
            return;
        }
        // The one that began above may fill the screen.
        let first = page.begins.iter().position(is_seen);
        let above = page.begins.partition_point(|begin| *begin < top).saturating_sub(1);
        self.hunk = first.unwrap_or(above);
    }

    pub(super) fn go_to_hunk(&mut self, number: usize) {
        let Some(page) = self.page() else { return };
        let Some(&begin) = page.begins.get(number) else {
            self.message =
                if page.begins.is_empty() { "It has no hunks to choose from." } else { "It is the last hunk." }
                    .to_owned();
            return;
        };
        let end = page.lines.iter().rposition(|line| line.hunk == Some(number as u32)).unwrap_or(begin);
        self.hunk = number;
        if begin < self.top || end >= self.top + self.rows {
            self.top = begin.saturating_sub(ABOVE);
        }
    }

    fn go_to_entry(&mut self, at: usize) {
        if at < self.order.len() {
            self.at = at;
        } else {
            self.message = "It is the last file.".to_owned();
        }
    }

    /// Goes to the next path, or the next line of the page, that has `text` in it; without a text, the one before.
    pub(super) fn search(&mut self, text: String) {
        if !text.is_empty() {
            self.last_search = text;
        }
        let found = match (self.last_search.is_empty(), self.focus) {
            (true, _) => return,
            (_, Focus::List) => self.search_list(),
            (_, Focus::Page) => self.search_page(),
        };
        if !found {
            self.message = "It is nowhere here.".to_owned();
        }
    }

    fn search_list(&mut self) -> bool {
        let has_text =
            |at: &usize| contains(self.entries[self.order[*at] as usize].change.path.as_bytes(), &self.last_search);
        let found = (self.at + 1..self.order.len()).chain(0..(self.at + 1).min(self.order.len())).find(has_text);
        self.at = found.unwrap_or(self.at);
        found.is_some()
    }

    fn search_page(&mut self) -> bool {
        let Some(page) = self.page() else { return false };
        let has_text = |at: &usize| contains(&page.lines[*at].text, &self.last_search);
        let found = (self.top + 1..page.lines.len()).chain(0..(self.top + 1).min(page.lines.len())).find(has_text);
        if let Some(at) = found {
            self.top = at;
            self.follow();
        }
        found.is_some()
    }
}

/// Where a key leads from `from` among `count`, with `rows` on the screen; `None`: it is no such key.
fn moved(from: usize, key: Key, rows: usize, count: usize) -> Option<usize> {
    let last = count.saturating_sub(1);
    let to = match key {
        Key::Up | Key::Char('k') => from.saturating_sub(1),
        Key::Down | Key::Char('j') => from + 1,
        Key::PageUp | Key::Char('b') => from.saturating_sub(rows),
        Key::PageDown | Key::Char('d') => from + rows,
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => last,
        _ => return None,
    };
    Some(to.min(last))
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
