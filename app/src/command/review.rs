//! `isobox review`: a person at a terminal.

use super::feedback;
use super::look::{Named, tell_of_nothing};
use super::promote;
use crate::cli::{ConflictStyle, FeedbackFormat, PromoteArguments, ReviewArguments};
use crate::exit_code::ExitCode;
use crate::failure::{Failure, one_line};
use crate::output::console::Console;
use crate::output::review_screen::{Event, Screen};
use crate::output::stdout::{for_documents, unwritten};
use crate::use_case::review::{self, Effect, Focus, Key, Ports, Reading, Review};
use isobox_domain::review::{Mark, Subject};
use isobox_domain::task_id::AttemptName;
use std::io::Write;

/// How a review ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Quit,
    Promote,
    Feedback,
}

/// Reviews a Task Result.
pub(super) fn review(console: Console, arguments: &ReviewArguments) -> Result<ExitCode, Failure> {
    let named = Named::find_to_show(console, &arguments.place, &arguments.task)?;
    let name = named.shown_name()?;
    let ports = named.store.review_ports()?;
    let record = &named.selected.record;
    let mut review = review::begin(&ports, record)?;
    if review.listed().len() == 0 {
        tell_of_nothing(console, record, "changed nothing that is listed path by path", &arguments.place);
        return Ok(ExitCode::SUCCESS);
    }
    let mut at_terminal = AtTerminal {
        ports,
        screen: Screen::open(console)?,
        reading: Reading::new(&ports, record)?,
        title: name.clone(),
        unkept: Vec::new(),
    };
    let end = at_terminal.go(&mut review);
    // What could not be kept on the way is kept now, or the failure is told.
    let kept = at_terminal.keep_all();
    // From here on the terminal is as it was.
    drop(at_terminal);
    kept?;
    tell(&review, arguments, &name)?;
    match end? {
        End::Quit => Ok(ExitCode::SUCCESS),
        End::Promote => promote::promote(console, &promotion(arguments, &named)),
        End::Feedback => {
            feedback::print(console, &named, &arguments.place, FeedbackFormat::Markdown).map(|()| ExitCode::SUCCESS)
        }
    }
}

/// A review that is on the screen.
struct AtTerminal<'a> {
    ports: Ports<'a>,
    screen: Screen,
    reading: Reading<'a>,
    title: String,
    /// Marks that could not be kept yet.
    unkept: Vec<(Subject, Mark)>,
}

impl AtTerminal<'_> {
    fn go(&mut self, review: &mut Review) -> Result<End, Failure> {
        self.screen.show(&self.title, review)?;
        loop {
            let event = self.screen.next(!self.has_work(review))?;
            match event {
                Event::Key(key) => {
                    if let Some(end) = self.press(review, key) {
                        return Ok(end);
                    }
                }
                Event::Nothing => {
                    self.work(review)?;
                    continue;
                }
                Event::Resized | Event::ToldToStop | Event::Resumed => {}
                Event::Gone | Event::ToldToEnd(_) => return Ok(End::Quit),
            }
            self.screen.show(&self.title, review)?;
        }
    }

    fn has_work(&self, review: &Review) -> bool {
        self.reading.is_examining() || self.is_page_wanted(review)
    }

    fn is_page_wanted(&self, review: &Review) -> bool {
        review.is_unread() && (review.focus() == Focus::Page || self.screen.is_wide())
    }

    /// Reads on while nobody types: what is on the screen first, then what content is to be looked at.
    fn work(&mut self, review: &mut Review) -> Result<(), Failure> {
        if self.is_page_wanted(review) {
            self.reading.open(review)?;
            return self.screen.show(&self.title, review);
        }
        self.reading.examine(review)?;
        match self.reading.is_examining() {
            true => Ok(()),
            false => self.screen.show(&self.title, review),
        }
    }

    fn press(&mut self, review: &mut Review, key: Key) -> Option<End> {
        if review.needs_page(key)
            && let Err(failure) = self.reading.open(review)
        {
            review.tell(one_line(&failure));
            return matches!(key, Key::Char('q') | Key::Interrupt).then_some(End::Quit);
        }
        match review.press(key) {
            Effect::None => None,
            Effect::Keep(marks) => {
                self.unkept.extend(marks);
                if let Err(failure) = self.keep_all() {
                    review.tell(format!("Not kept yet: {}", one_line(&failure)));
                }
                None
            }
            Effect::Quit => Some(End::Quit),
            Effect::Promote => Some(End::Promote),
            Effect::Feedback => Some(End::Feedback),
        }
    }

    fn keep_all(&mut self) -> Result<(), Failure> {
        if !self.unkept.is_empty() {
            self.ports.reviews.keep(&self.unkept)?;
            self.unkept.clear();
        }
        Ok(())
    }
}

/// Tells what was decided, and what can be done about it.
fn tell(review: &Review, arguments: &ReviewArguments, name: &str) -> Result<(), Failure> {
    let (tally, flags) = (review.tally(), arguments.place.flags());
    let part = if tally.in_part > 0 { format!(", {} in part", tally.in_part) } else { String::new() };
    let mut out = for_documents();
    let mut lines = vec![format!(
        "{name}: {} accepted, {} rejected{part}, {} undecided",
        tally.accepted, tally.rejected, tally.undecided
    )];
    if tally.accepted + tally.in_part > 0 {
        lines.push(format!("  isobox promote --reviewed{flags} {name}"));
    }
    if tally.rejected + tally.in_part > 0 {
        lines.push(format!("  isobox feedback{flags} {name}"));
    }
    lines.iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush()).map_err(unwritten)
}

/// The Promotion of what was accepted, as if it had been typed.
fn promotion(arguments: &ReviewArguments, named: &Named) -> PromoteArguments {
    let record = &named.selected.record;
    PromoteArguments {
        place: arguments.place.clone(),
        yes: false,
        dry_run: false,
        again: false,
        index: false,
        commit: false,
        branch: None,
        message: Vec::new(),
        three_way: false,
        conflict: ConflictStyle::Refuse,
        only: Vec::new(),
        except: Vec::new(),
        patch: false,
        reviewed: true,
        override_reason: None,
        verify: arguments.verify.clone(),
        task: AttemptName { task: record.task, attempt: record.attempt }.to_string().into(),
    }
}
