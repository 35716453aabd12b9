//! A person who chooses paths and hunks: what they are shown, what they answer.

mod walk;

use crate::failure::{Failure, FailureKind};
use crate::output::console::Console;
use crate::output::stdout::unwritten;
use crate::output::{answer, changes};
use crate::use_case::promote::{Answered, Chooser, InHunks, Taken};
use isobox_domain::change::{Change, ChangeLine};
use isobox_domain::hunks::{Excerpt, Hunks, Sign};
use std::io::{self, Write};
use walk::{Step, Walk};

const HELP: &str = "\
y - promote this hunk
n - leave this hunk
q - quit; leave this hunk and all that comes after
a - promote this hunk and all later ones of the file
d - leave this hunk and all later ones of the file
j - leave this hunk undecided, go to the next undecided one
J - leave this hunk undecided, go to the next one
k - leave this hunk undecided, go to the previous undecided one
K - leave this hunk undecided, go to the previous one
gN - go to hunk N
/TEXT - go to the next hunk with this text
s - split this hunk into smaller ones
? - print this help
";
const WHOLE_HELP: &str = "\
y - promote this change
n - leave this change
q - quit; leave this change and all that comes after
? - print this help
";

/// Shows on `out`, asks on standard error.
pub(crate) struct Choosing<W: Write> {
    pub(crate) out: W,
    pub(crate) console: Console,
}

impl<W: Write> Chooser for Choosing<W> {
    fn advice(&self) -> &'static str {
        "answer y to what is to be promoted; ? tells what else can be answered"
    }

    fn path(&mut self, change: &Change) -> Result<Option<Taken>, Failure> {
        changes::stat(&mut self.out, &ChangeLine::Change(change.clone())).map_err(unwritten)?;
        loop {
            match self.ask("Promote this change [y,n,q,?]? ")?.as_slice() {
                b"y" => return Ok(Some(Taken::All)),
                b"n" => return Ok(Some(Taken::Nothing)),
                b"q" => return Ok(None),
                _ => self.console.question(WHOLE_HELP),
            }
        }
    }

    fn hunks(&mut self, _: &Change, file: &InHunks<'_>, open: &[u32]) -> Result<Answered, Failure> {
        let InHunks { header, hunks } = *file;
        self.out.write_all(header).map_err(unwritten)?;
        let mut walk = Walk::new(hunks, open);
        self.show(hunks, &walk).map_err(unwritten)?;
        let is_last = loop {
            let (place, of) = walk.place();
            let answer = self.ask(&format!("({place}/{of}) Promote this hunk [{}]? ", walk.keys()))?;
            match walk.answer(&answer) {
                Step::Ask => self.show(hunks, &walk).map_err(unwritten)?,
                Step::Done => break false,
                Step::Quit => break true,
                Step::Help => self.console.question(HELP),
                Step::No(why) => self.console.question(&format!("{why}; ? prints the keys\n")),
            }
        };
        let taken = walk.taken();
        let taken = match taken.len() {
            0 => Taken::Nothing,
            count if count == open.len() => Taken::All,
            _ => Taken::Hunks(taken),
        };
        Ok(Answered { taken, is_last })
    }
}

impl<W: Write> Choosing<W> {
    fn ask(&mut self, question: &str) -> Result<Vec<u8>, Failure> {
        self.out.flush().map_err(unwritten)?;
        let answer = answer::ask_once(self.console, question);
        let unread = |why: &str| {
            let message = format!("it was not chosen what to promote: {why}; nothing was changed");
            Failure::new(FailureKind::PromotionRefused, message)
                .with_hint("answer each question, or name paths with --only and --except")
        };
        answer
            .map_err(|error| unread("the answer could not be read").because(error))?
            .ok_or_else(|| unread("there was no answer to read"))
    }

    fn show(&mut self, hunks: &Hunks, walk: &Walk<'_>) -> io::Result<()> {
        hunks.excerpt(walk.numbers()).map_or(Ok(()), |excerpt| write(&mut self.out, &excerpt))
    }
}

fn write(out: &mut dyn Write, excerpt: &Excerpt<'_>) -> io::Result<()> {
    let [(old, old_length), (new, new_length)] = excerpt.ranges;
    writeln!(out, "@@ -{old},{old_length} +{new},{new_length} @@")?;
    for line in excerpt.lines {
        let sign = match line.sign {
            Sign::Kept => b" ",
            Sign::Removed => b"-",
            Sign::Added => b"+",
        };
        out.write_all(sign)?;
        out.write_all(&line.text)?;
        if !line.text.ends_with(b"\n") {
            out.write_all(b"\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}
