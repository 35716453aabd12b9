//! The commands that there are, by their pages in the documentation.

use crate::checkout;
use std::fs;
use std::path::Path;

/// Every command, as it is typed after `isobox`, in the order of its words: each has a page. The first is isobox itself.
pub fn commands_with_pages() -> Vec<String> {
    let pages = fs::read_dir(checkout().join("docs/commands")).expect("list the pages");
    let mut commands: Vec<String> = pages.map(|page| command_of(&page.expect("a page").path())).collect();
    commands.sort();
    commands
}

/// The names of files do not tell blanks between words from hyphens in them; headings do. The index is of isobox itself.
fn command_of(page: &Path) -> String {
    if page.ends_with("index.md") {
        return String::new();
    }
    let text = fs::read_to_string(page).expect("a page");
    let heading = text.lines().find_map(|line| line.strip_prefix("# isobox "));
    heading.unwrap_or_else(|| panic!("{} has no heading of a command", page.display())).to_owned()
}
