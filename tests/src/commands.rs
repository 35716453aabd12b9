//! The commands that there are, by their pages in the documentation.

use crate::checkout;
use std::fs;

/// Every command, as it is typed after `isobox`, in the order of its words: each has a page. The first is isobox itself.
pub fn commands_with_pages() -> Vec<String> {
    let pages = fs::read_dir(checkout().join("docs/commands")).expect("list the pages");
    let texts = pages.map(|page| fs::read_to_string(page.expect("a page").path()).expect("a page"));
    // The names of files do not tell blanks between words from hyphens in them; headings do.
    let mut commands: Vec<String> = texts.map(|text| heading(&text).unwrap_or_default()).collect();
    commands.sort();
    commands
}

fn heading(page: &str) -> Option<String> {
    page.lines().find_map(|line| line.strip_prefix("# isobox ")).map(str::to_owned)
}
