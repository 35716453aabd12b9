//! How a screen is laid out.

use super::glyphs::Glyphs;
use super::lines::{clipped, shown, width};
use super::{help, list, page};
use crate::use_case::review::{FileState, Focus, Input, Review};
use isobox_domain::report::RiskLevel;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

/// From how many columns on the lines of a path are shown beside the list.
const WIDE: u16 = 120;
/// The smallest screen that is of any use.
const SMALLEST: (u16, u16) = (30, 6);
/// Rows above and below the list or the lines: the totals; what is noted, and the keys.
const ABOVE: u16 = 1;
const BELOW: u16 = 2;

/// How everything looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) is_coloured: bool,
    pub(super) glyphs: Glyphs,
}

impl Look {
    /// A colour, where colours are wanted.
    pub(super) fn colour(self, colour: Color) -> Style {
        if self.is_coloured { Style::new().fg(colour) } else { Style::new() }
    }

    /// What a person is at.
    pub(super) fn here(self, is_focused: bool) -> Style {
        Style::new().add_modifier(if is_focused { Modifier::REVERSED } else { Modifier::BOLD })
    }

    /// The colour of a state.
    pub(super) fn state(self, state: FileState) -> Style {
        match state {
            FileState::Accepted => self.colour(Color::Green),
            FileState::Rejected => self.colour(Color::Red),
            FileState::InPart => self.colour(Color::Yellow),
            FileState::Undecided => Style::new(),
        }
    }

    /// The colour of a level.
    pub(super) fn level(self, level: RiskLevel) -> Style {
        match level {
            RiskLevel::High => self.colour(Color::Red),
            RiskLevel::Medium => self.colour(Color::Yellow),
            RiskLevel::Low => Style::new(),
        }
    }
}

/// Whether the lines of a path have room beside the list.
pub(super) const fn is_wide(columns: u16) -> bool {
    columns >= WIDE
}

/// How many rows the list has, and with one less the lines of a path.
pub(super) const fn rows(area: Rect) -> usize {
    area.height.saturating_sub(ABOVE + BELOW + 1) as usize
}

/// Draws a review on a screen.
pub(super) fn draw(frame: &mut Frame<'_>, title: &str, review: &Review, look: Look) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return write(frame, Rect { height: 1, ..area }, Line::raw("isobox: the terminal is too small"));
    }
    let row = |y: u16| Rect { y, height: 1, ..area };
    let body = Rect { y: ABOVE, height: area.height - ABOVE - BELOW, ..area };
    head(frame, row(0), title, review, look);
    match (review.is_helping(), is_wide(area.width), review.focus()) {
        (true, ..) => help::draw(frame, body),
        (_, true, _) => {
            let width = area.width * 2 / 5;
            list::draw(frame, Rect { width, ..body }, review, look);
            for y in body.y..body.bottom() {
                let border = look.glyphs.border.to_string();
                write(frame, Rect { x: width, y, width: 1, height: 1 }, Line::raw(border));
            }
            let aside = Rect { x: width + 2, width: area.width - width - 2, ..body };
            page::draw(frame, aside, review, look);
        }
        (_, false, Focus::List) => list::draw(frame, body, review, look),
        (_, false, Focus::Page) => page::draw(frame, body, review, look),
    }
    told(frame, row(area.height - 2), review, look);
    let keys = Line::styled(clipped(keys(review), 0, area.width.into(), look.glyphs.cut), look.here(true));
    write(frame, row(area.height - 1), keys);
}

/// Draws one line.
pub(super) fn write(frame: &mut Frame<'_>, area: Rect, line: Line<'_>) {
    frame.render_widget(line, area);
}

fn head(frame: &mut Frame<'_>, area: Rect, title: &str, review: &Review, look: Look) {
    let tally = review.tally();
    let part = if tally.in_part > 0 { format!(", {} in part", tally.in_part) } else { String::new() };
    let head = format!(
        ": {} accepted, {} rejected{part}, {} undecided; {} reviewed",
        tally.accepted, tally.rejected, tally.undecided, tally.reviewed
    );
    let style = Style::new().add_modifier(Modifier::BOLD);
    let columns = usize::from(area.width);
    let title = clipped(title, 0, columns.saturating_sub(width(&head)), look.glyphs.cut);
    write(frame, area, Line::styled(clipped(&(title + &head), 0, columns, look.glyphs.cut), style));
}

/// What is typed, what the last key came to, the note, or what deserves a look.
fn told(frame: &mut Frame<'_>, area: Rect, review: &Review, look: Look) {
    let row = usize::from(area.width);
    if let Some(input) = review.input() {
        let (label, typed) = match input {
            Input::Note(note) => ("note: ", note),
            Input::Search(text) => ("/", text),
        };
        let line = format!("{label}{}", shown(typed.as_bytes()));
        // The end is where one types.
        let columns = width(&line);
        let left = (columns + 1).saturating_sub(row);
        write(frame, area, Line::raw(clipped(&line, left, row, look.glyphs.cut)));
        frame.set_cursor_position((area.x + (columns - left) as u16, area.y));
        return;
    }
    let note = review.noted();
    let line = match (review.message(), note.as_str()) {
        ("", "") => findings(review),
        ("", note) => format!("note: {}", shown(note.as_bytes())),
        (message, _) => message.to_owned(),
    };
    write(frame, area, Line::raw(clipped(&line, 0, row, look.glyphs.cut)));
}

fn findings(review: &Review) -> String {
    let told = review.findings().iter().map(|finding| {
        let note = finding.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        let line = finding.line.map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{} ({}{line}){note}", finding.category.name(), finding.level.name())
    });
    told.collect::<Vec<_>>().join("; ")
}

const fn keys(review: &Review) -> &'static str {
    match (review.input(), review.focus()) {
        (Some(_), _) => "Enter: done  Esc: leave it as it was",
        (None, Focus::List) => "y/n accept/reject  r reviewed  e note  Enter diff  P promote  ? keys  q quit",
        (None, Focus::Page) => "y/n hunk  Y/N file  J/K hunk  ]/[ file  e note  Tab list  ? keys  q quit",
    }
}
