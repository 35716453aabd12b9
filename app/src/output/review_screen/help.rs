//! What keys do.

use super::draw::write;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

const HELP: [&str; 20] = [
    "y / n / u    accept / reject / undecide: the file, or the hunk in the diff",
    "Y / N        accept / reject the whole file",
    "r or Space   mark the file as reviewed, or not",
    "e or c       write a note about it: what is wrong, what to do instead",
    "",
    "j / k        down / up; arrows, Page Up and Page Down, d / b, g / G, Home, End",
    "Enter, Tab   from the list to the diff and back",
    "J / K        next / previous hunk",
    "] / [        next / previous file",
    "h / l        to the left / right, where lines are long",
    "/            find: a path in the list, a text in the diff",
    "",
    "P            promote what is accepted: report and question follow",
    "f            print what is rejected, as a text for an agent",
    "q, Ctrl-C    quit; every mark is kept, for later tasks with the same change too",
    "Ctrl-Z       stop, until the shell is told `fg`",
    "",
    "~ before a file: its hunks are not all decided alike.",
    "",
    "Any key goes back.",
];

/// Draws it.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect) {
    for (row, line) in HELP.iter().take(area.height.into()).enumerate() {
        write(frame, Rect { y: area.y + row as u16, height: 1, ..area }, Line::raw(*line));
    }
}
