//! The lines of one changed path.

use super::draw::{Look, write};
use super::lines::{clipped, shortened, shown, width};
use crate::output::changes::letter_of;
use crate::output::text;
use crate::use_case::review::{FileState, Focus, LineKind, Page, Review, ShownLine};
use isobox_domain::review::Verdict;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Columns before a line: the verdict about its hunk, and whether the person is at it.
const SIGNS: usize = 2;

/// Draws what the person reads.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, review: &Review, look: Look) {
    let row = |number: usize| Rect { y: area.y + number as u16, height: 1, ..area };
    let Some(entry) = review.entry() else { return };
    let Some(page) = review.page() else {
        return write(frame, row(0), Line::raw("…"));
    };
    let (hunk, top, left) = review.view();
    let place = match page.hunks.len() {
        0 => String::new(),
        count => format!("  hunk {}/{count}", hunk + 1),
    };
    let columns = usize::from(area.width);
    let room = columns.saturating_sub(width(&place) + 4);
    let path = shortened(&entry.change.path.to_string(), room, look.glyphs.cut);
    let sign = Span::styled(look.glyphs.of(entry.state).to_string(), look.state(entry.state));
    let name = format!(" {} {path}{place}", letter_of(&entry.change));
    let title = Line::from(vec![sign, Span::styled(name, Style::new().add_modifier(Modifier::BOLD))]);
    write(frame, row(0), title);
    let rows = usize::from(area.height).saturating_sub(1);
    for (number, each) in page.lines.iter().skip(top).take(rows).enumerate() {
        let signs = signs(review, page, each, look);
        let text = clipped(&whole(each), left, columns.saturating_sub(SIGNS), look.glyphs.cut);
        write(frame, row(number + 1), Line::from(vec![signs, Span::styled(text, style(each.kind, look))]));
    }
}

/// A line with a remark on what is left out of it.
fn whole(line: &ShownLine) -> String {
    let mut text = shown(&line.text);
    if line.left_out > 0 {
        text.push_str(&format!(" [{} more]", text::counted(line.left_out, "byte")));
    }
    text
}

fn signs(review: &Review, page: &Page, line: &ShownLine, look: Look) -> Span<'static> {
    let Some(number) = line.hunk.map(|number| number as usize) else { return Span::raw("  ") };
    let state = match page.hunks.get(number).map(|subject| review.verdict(subject)) {
        Some(Verdict::Accepted) => FileState::Accepted,
        Some(Verdict::Rejected) => FileState::Rejected,
        Some(Verdict::Undecided) | None => FileState::Undecided,
    };
    let is_here = number == review.view().0 && review.focus() == Focus::Page;
    let here = if is_here { look.glyphs.border } else { ' ' };
    Span::styled(format!("{}{here}", look.glyphs.of(state)), look.state(state))
}

fn style(kind: LineKind, look: Look) -> Style {
    match kind {
        LineKind::About => Style::new().add_modifier(Modifier::BOLD),
        LineKind::Section => look.colour(Color::Cyan),
        LineKind::Kept => Style::new(),
        LineKind::Removed => look.colour(Color::Red),
        LineKind::Added => look.colour(Color::Green),
    }
}
