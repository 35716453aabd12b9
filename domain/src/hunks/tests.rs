use super::*;
use proptest::prelude::*;

const AFTER: &[u8] = b"one\n2\nthree\nfour\nnew\nfive\nend";
const PART: &[u8] = b"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,6 +1,7 @@ fn main() {\n one\n-two\n+2\n three\n four\n+new\n five\n-end\n+end\n\\ No newline at end of file\n";

fn taken(numbers: &[u32]) -> String {
    let hunks = Hunks::parse(PART).unwrap();
    String::from_utf8(hunks.taken(AFTER, &|number| numbers.contains(&number)).unwrap()).unwrap()
}

#[test]
fn each_run_of_changed_lines_is_taken_or_left() {
    assert_eq!(taken(&[]), "one\ntwo\nthree\nfour\nfive\nend\n");
    assert_eq!(taken(&[0]), "one\n2\nthree\nfour\nfive\nend\n");
    assert_eq!(taken(&[1]), "one\ntwo\nthree\nfour\nnew\nfive\nend\n");
    assert_eq!(taken(&[2]), "one\ntwo\nthree\nfour\nfive\nend");
    assert_eq!(taken(&[0, 1, 2]).as_bytes(), AFTER);
}

#[test]
fn an_excerpt_counts_its_lines_as_git_does_when_it_splits() {
    let hunks = Hunks::parse(PART).unwrap();
    assert_eq!((hunks.count(), hunks.sections().as_slice()), (3, std::slice::from_ref(&(0..3))));
    let ranges = |numbers| hunks.excerpt(&numbers).map(|excerpt| (excerpt.ranges, excerpt.lines.len()));
    assert_eq!(ranges(0..3), Some(([(1, 6), (1, 7)], 9)));
    assert_eq!(ranges(0..1), Some(([(1, 4), (1, 4)], 5)));
    assert_eq!(ranges(1..2), Some(([(3, 3), (3, 4)], 4)));
    assert_eq!(ranges(2..3), Some(([(5, 2), (6, 2)], 3)));
    assert_eq!(ranges(1..4), None);
    assert_eq!(ranges(0..0), None);
}

#[test]
fn what_is_not_what_the_hunks_lead_to_is_told_apart() {
    let hunks = Hunks::parse(PART).unwrap();
    assert_eq!(hunks.taken(b"one\n2\nother\n", &|_| true), None);
    assert_eq!(hunks.taken(b"one\n2\n", &|_| true), None);
}

#[test]
fn a_part_without_hunks_or_with_broken_ones_has_none() {
    for part in [
        &b""[..],
        b"diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
        b"@@ -1,2 +1,2 @@\n one\n",
        b"@@ -1 +1 @@\n-one\n+two\n+three\n",
        b"@@ -0,1 +1 @@\n-one\n+two\n",
        b"@@ -1 +1 @@\n one\n",
        b"@@ -x +1 @@\n one\n",
    ] {
        assert_eq!(Hunks::parse(part), None, "{}", String::from_utf8_lossy(part));
    }
}

/// Lines of which each is kept, removed or added, as one section.
fn part(lines: &[(u8, u8)]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let (mut body, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for (sign, letter) in lines {
        let line = [*letter, b'\n'];
        body.extend_from_slice(&[b" -+"[*sign as usize], line[0], line[1]]);
        if *sign != 2 {
            before.extend_from_slice(&line);
        }
        if *sign != 1 {
            after.extend_from_slice(&line);
        }
    }
    let range = |side: &[u8]| format!("{},{}", usize::from(!side.is_empty()), side.len() / 2);
    let header = format!("@@ -{} +{} @@\n", range(&before), range(&after));
    ([header.as_bytes(), &body].concat(), before, after)
}

proptest! {
    #[test]
    fn all_of_them_make_the_file_and_none_what_it_was(lines in prop::collection::vec((0..3u8, b'a'..b'e'), 1..40)) {
        let (part, before, after) = part(&lines);
        prop_assume!(before != after && lines.iter().any(|(sign, _)| *sign != 0));
        let hunks = Hunks::parse(&part).unwrap();
        prop_assert_eq!(hunks.taken(&after, &|_| true), Some(after.clone()));
        prop_assert_eq!(hunks.taken(&after, &|_| false), Some(before));
    }

    #[test]
    fn what_is_no_patch_is_read_without_panic(part in prop::collection::vec(prop::sample::select(b"@ -+,01\n\\a".to_vec()), 0..60)) {
        if let Some(hunks) = Hunks::parse(&part) {
            hunks.taken(&part, &|number| number % 2 == 0);
            hunks.sections().iter().for_each(|section| assert!(hunks.excerpt(section).is_some()));
        }
    }
}
