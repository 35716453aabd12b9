//! The list of changed paths.

use super::draw::{Look, write};
use super::lines::{shortened, width};
use crate::output::changes::letter_of;
use crate::use_case::review::{Entry, Focus, Review};
use isobox_domain::report::RiskLevel;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

/// Columns of the levels, with the blank before them.
const LEVELS: usize = 8;
/// Columns of the signs before a path.
const SIGNS: usize = 6;

/// Draws the part of the list that the person is at.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, review: &Review, look: Look) {
    let rows = usize::from(area.height);
    if review.listed().len() == 0 {
        return write(frame, area, Line::raw("No path was changed."));
    }
    let first = top(review.at(), rows, review.listed().len());
    for (row, (at, entry)) in review.listed().enumerate().skip(first).take(rows).enumerate() {
        let is_here = at == review.at();
        let mut line = line(entry, area.width.into(), look);
        if is_here {
            line = line.patch_style(look.here(review.focus() == Focus::List));
        }
        write(frame, Rect { y: area.y + row as u16, height: 1, ..area }, line);
    }
}

/// The first path on the screen: the one that the person is at stays in its middle.
fn top(at: usize, rows: usize, count: usize) -> usize {
    at.saturating_sub(rows / 2).min(count.saturating_sub(rows))
}

fn line(entry: &Entry, columns: usize, look: Look) -> Line<'static> {
    let reviewed = if entry.is_reviewed { look.glyphs.reviewed } else { ' ' };
    let room = columns.saturating_sub(SIGNS + LEVELS);
    let path = shortened(&entry.change.path.to_string(), room, look.glyphs.cut);
    let blanks = " ".repeat(room.saturating_sub(width(&path)));
    let level = entry.level.map_or("", RiskLevel::name);
    Line::from(vec![
        Span::styled(look.glyphs.of(entry.state).to_string(), look.state(entry.state)),
        Span::raw(format!(" {reviewed} {} {path}{blanks} ", letter_of(&entry.change))),
        Span::styled(format!("{level:<7}"), entry.level.map(|level| look.level(level)).unwrap_or_default()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_moves_under_the_person_and_ends_with_its_last_path() {
        assert_eq!([top(0, 10, 30), top(5, 10, 30), top(12, 10, 30), top(29, 10, 30)], [0, 0, 7, 20]);
        assert_eq!(top(3, 10, 4), 0);
    }
}
