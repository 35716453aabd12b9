//! Writing what is known of a pack as a table, page by page: a pack may have as many entries as fit into memory just once.

use super::Row;
use super::contents::{Contents, Found};
use super::paged::PageWriter;
use super::table::{CERTAIN, LOOSE, MAGIC, MEMBER};
use isobox_domain::content::ContentId;
use std::io::{self, Write};

/// Writes a table of `contents`.
pub(super) fn encode<W: Write>(contents: &Contents, covered: u64, belongs_to: &ContentId, to: W) -> io::Result<()> {
    let mut pages = PageWriter::new(to);
    encode_head(contents, covered, belongs_to, &mut pages)?;
    encode_entries(contents, &mut pages)?;
    let mut rows: Vec<&Row> = contents.rows.iter().collect();
    rows.sort_by_key(|row| row.order());
    rows.into_iter().try_for_each(|row| encode_row(row, &mut pages))?;
    for (subject, event) in &contents.events {
        pages.add(subject.as_bytes())?;
        pages.add(event.as_bytes())?;
    }
    contents.pruned.iter().chain(&contents.named).try_for_each(|id| pages.add(id.as_bytes()))?;
    encode_rest(contents, &mut pages)?;
    pages.finish()
}

fn encode_head<W: Write>(
    contents: &Contents,
    covered: u64,
    belongs_to: &ContentId,
    pages: &mut PageWriter<W>,
) -> io::Result<()> {
    pages.add(&MAGIC)?;
    pages.add(&covered.to_le_bytes())?;
    pages.add(belongs_to.as_bytes())?;
    let counts = [
        contents.entries.len(),
        contents.rows.len(),
        contents.events.len(),
        contents.named.len(),
        contents.damage.len(),
        contents.chain_ends.len(),
        contents.alone(),
        contents.pruned.len(),
    ];
    // A pack has at most as many entries as are read.
    counts.iter().try_for_each(|count| pages.add(&(*count as u32).to_le_bytes()))
}

fn encode_entries<W: Write>(contents: &Contents, pages: &mut PageWriter<W>) -> io::Result<()> {
    let mut ends = [0u32; 256];
    contents.entries.keys().for_each(|(id, _)| ends[usize::from(id.as_bytes()[0])] += 1);
    let mut total = 0;
    for end in ends {
        total += end;
        pages.add(&total.to_le_bytes())?;
    }
    contents.entries.iter().try_for_each(|((id, offset), found)| {
        pages.add(id.as_bytes())?;
        pages.add(&offset.to_le_bytes())?;
        pages.add(&[found.kind as u8, flags(found)])
    })
}

fn flags(found: &Found) -> u8 {
    let all = [(found.is_certain, CERTAIN), (found.is_loose, LOOSE), (found.is_member, MEMBER)];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, flag)| flag).sum()
}

fn encode_row<W: Write>(row: &Row, pages: &mut PageWriter<W>) -> io::Result<()> {
    pages.add(&row.entry.committed_at.unix_ms().to_le_bytes())?;
    pages.add(&row.sequence.to_le_bytes())?;
    pages.add(&[row.lane])?;
    pages.add(row.entry.task.as_bytes())?;
    pages.add(&row.entry.attempt.to_le_bytes())?;
    pages.add(row.entry.record.as_bytes())
}

/// What of a table is kept in memory by whoever opens it.
fn encode_rest<W: Write>(contents: &Contents, pages: &mut PageWriter<W>) -> io::Result<()> {
    for damage in &contents.damage {
        pages.add(&damage.offset.to_le_bytes())?;
        pages.add(&damage.end.to_le_bytes())?;
        pages.add(&[u8::from(damage.record.is_some())])?;
        pages.add(damage.record.unwrap_or(ContentId::new([0; 32])).as_bytes())?;
    }
    contents.chain_ends.iter().try_for_each(|(lane, end)| {
        pages.add(&[*lane])?;
        pages.add(&end.sequence.to_le_bytes())?;
        pages.add(&end.time.unix_ms().to_le_bytes())?;
        pages.add(end.id.as_bytes())
    })
}
