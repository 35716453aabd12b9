use super::page::Page;
use super::*;
use isobox_domain::change::{After, Before, Change, Mode};
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::git_oid::GitOid;
use isobox_domain::hunks::Hunks;
use isobox_domain::repo_path::RepoPath;
use isobox_domain::report::RiskLevel;
use isobox_domain::review::{Mark, Marks, Subject, Verdict};

/// Four hunks, the first and the last of which read the same.
const PART: &[u8] = b"@@ -1,4 +1,4 @@\n-a\n+A\n b\n-c\n+C\n d\n@@ -20 +20 @@\n-x\n+X\n@@ -40,2 +40,2 @@\n-a\n+A\n b\n";

fn change(path: &str, after: u8) -> Change {
    let content = |byte| ContentRef { id: ContentId::new([byte; 32]), length: 1 };
    Change {
        path: RepoPath::parse(path).unwrap(),
        before: Some(Before { mode: Mode::File, oid: GitOid::Sha1([1; 20]), content: Some(content(0)) }),
        after: Some(After { mode: Mode::File, content: content(after), binary: false }),
        renamed_from: None,
        submodule: None,
    }
}

fn entries(levels: &[(&str, Option<RiskLevel>)]) -> Vec<Entry> {
    levels.iter().map(|(path, level)| Entry::of(change(path, 1), *level)).collect()
}

fn review_with(marks: Marks) -> Review {
    Review::new(entries(&[("a", None), ("b", Some(RiskLevel::Low)), ("c", Some(RiskLevel::High))]), 0, marks)
}

fn page(path: &str) -> Page {
    Page::of_hunks(&change(path, 1), b"", &Hunks::parse(PART).unwrap())
}

/// Reads what the person is at.
fn read(review: &mut Review) {
    if let Some(at) = review.unread() {
        let page = page(&review.entries[at].change.path.to_string());
        review.show(at, page, Vec::new());
    }
}

/// Presses keys; what is to be kept.
fn press(review: &mut Review, keys: &str) -> Vec<(Subject, Mark)> {
    let mut kept = Vec::new();
    for c in keys.chars() {
        read(review);
        let key = match c {
            '\r' => Key::Enter,
            '\x1b' => Key::Escape,
            '\x08' => Key::Backspace,
            c => Key::Char(c),
        };
        if let Effect::Keep(marks) = review.press(key) {
            kept.extend(marks);
        }
    }
    kept
}

fn listed(review: &Review) -> Vec<String> {
    review.listed().map(|entry| entry.change.path.to_string()).collect()
}

#[test]
fn what_deserves_a_look_comes_first_and_the_person_stays_where_they_are() {
    let mut review = review_with(Marks::default());
    assert_eq!(listed(&review), ["c", "b", "a"]);
    press(&mut review, "j");
    review.found(0, Some(RiskLevel::High), Vec::new());
    review.rank();
    assert_eq!((listed(&review), review.at()), (["a", "c", "b"].map(str::to_owned).to_vec(), 2));
    let mut unmoved = review_with(Marks::default());
    unmoved.found(1, Some(RiskLevel::High), Vec::new());
    unmoved.rank();
    assert_eq!(unmoved.entry().map(|entry| entry.change.path.to_string()).as_deref(), Some("b"));
}

#[test]
fn a_file_is_decided_with_its_hunks_and_by_them() {
    let mut review = review_with(Marks::default());
    let kept = press(&mut review, "y");
    assert_eq!((kept.len(), review.at()), (5, 1));
    assert!(kept.iter().all(|(_, mark)| mark.verdict == Verdict::Accepted));
    assert_eq!(review.listed().next().map(|entry| (entry.state, entry.is_reviewed)), Some((FileState::Accepted, true)));
    press(&mut review, "[\rJn");
    assert_eq!(review.entry().map(|entry| entry.state), Some(FileState::InPart));
    press(&mut review, "ggnJnJnJn");
    assert_eq!(review.entry().map(|entry| entry.state), Some(FileState::Rejected));
    press(&mut review, "u");
    assert_eq!(review.entry().map(|entry| entry.state), Some(FileState::InPart));
    press(&mut review, "Y");
    assert_eq!(review.entry().map(|entry| entry.state), Some(FileState::Accepted));
}

#[test]
fn after_a_verdict_comes_the_next_hunk_that_is_open() {
    let mut review = review_with(Marks::default());
    press(&mut review, "\rJy");
    assert_eq!(review.view().0, 2);
    press(&mut review, "nn");
    assert_eq!(review.view().0, 0, "the one that was passed over");
    press(&mut review, "y");
    assert!(review.message().contains("Every hunk"), "{}", review.message());
}

#[test]
fn marks_belong_to_the_change_and_not_to_the_task() {
    let mut review = review_with(Marks::default());
    press(&mut review, "\ryJn");
    let same = review_with(review.marks.clone());
    assert_eq!(same.listed().next().map(|entry| entry.state), Some(FileState::InPart));
    // The same hunks of a file that is otherwise another.
    let mut other = Review::new(vec![Entry::of(change("c", 9), None)], 0, review.marks.clone());
    assert_eq!(other.marks.verdict(&other.entries[0].subject), Verdict::Undecided);
    read(&mut other);
    let verdicts: Vec<_> = page("c").hunks.iter().map(|hunk| other.verdict(hunk)).collect();
    use Verdict::{Accepted, Rejected, Undecided};
    assert_eq!(verdicts, [Accepted, Undecided, Rejected, Undecided]);
    // The same hunks elsewhere.
    assert!(page("d").hunks.iter().all(|hunk| other.verdict(hunk) == Undecided));
}

#[test]
fn hunks_that_read_alike_are_apart() {
    let hunks = page("a").hunks;
    assert_ne!(hunks[0], hunks[3]);
    assert_eq!(hunks, page("a").hunks);
}

#[test]
fn a_hunk_between_other_lines_is_another_hunk() {
    let id = |part: &str| subjects::hunks(&change("a", 1), &Hunks::parse(part.as_bytes()).unwrap())[0];
    let seen = id("@@ -1,3 +1,4 @@\n in debug {\n+allow\n }\n end\n");
    assert_eq!(id("@@ -1,3 +8,4 @@\n in debug {\n+allow\n }\n end\n"), seen, "others before it add lines");
    assert_ne!(
        id("@@ -9,3 +8,4 @@\n in debug {\n+allow\n }\n end\n"),
        seen,
        "elsewhere, between lines that read alike"
    );
    assert_ne!(id("@@ -1,3 +1,4 @@\n in release {\n+allow\n }\n end\n"), seen);
    assert_ne!(id("@@ -1,3 +1,4 @@\n in debug {\n }\n+allow\n end\n"), seen);
}

#[test]
fn a_note_is_one_line_that_can_be_changed_and_left() {
    let mut review = review_with(Marks::default());
    press(&mut review, "enot q\x08qy\r");
    assert_eq!(review.noted(), "not qy");
    press(&mut review, "e\x08\x08 this\x1b");
    assert_eq!(review.noted(), "not qy");
    press(&mut review, "e\x08\x08\x08\x08\x08\x08\r");
    assert_eq!((review.noted().as_str(), review.tally().undecided), ("", 3));
}

#[test]
fn keys_that_lead_nowhere_change_nothing() {
    let mut empty = Review::new(Vec::new(), 0, Marks::default());
    for key in "yYnNuUr ejkJKgG[]/\r\x1bhlP?xd".chars() {
        assert_eq!(press(&mut empty, &key.to_string()), []);
    }
    let mut review = review_with(Marks::default());
    press(&mut review, "kkkjjjjjjG");
    assert_eq!(review.at(), 2);
    press(&mut review, "\rKKKJJJJJJ");
    assert_eq!((review.view().0, review.message()), (3, "It is the last hunk."));
}

#[test]
fn whoever_quits_or_promotes_says_so() {
    let mut review = review_with(Marks::default());
    assert_eq!(review.press(Key::Char('P')), Effect::None);
    press(&mut review, "y");
    assert_eq!(review.press(Key::Char('P')), Effect::Promote);
    assert_eq!(review.press(Key::Char('f')), Effect::Feedback);
    assert_eq!(review.press(Key::Char('q')), Effect::Quit);
    press(&mut review, "e");
    assert_eq!(review.press(Key::Char('q')), Effect::None, "it is being typed");
    assert_eq!(review.press(Key::Interrupt), Effect::Quit);
}
