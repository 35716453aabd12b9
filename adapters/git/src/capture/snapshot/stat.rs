//! The stat cache of a Workspace with a snapshot: capture then tells what differs from the snapshot alone.

use super::kept::{Line, commit_stat_cache};
use crate::stat_cache::{FileStat, Freshness, StatCache, StatCacheEntry, StatCacheWriter};
use std::fs;
use std::io;
use std::path::Path;

/// Replaces the stat cache of the commit by one that has `lines` as they were `made`; the commit's is kept.
pub(super) fn replace(stat_cache: &Path, snapshot: &Path, lines: &[Line], made: &[Option<FileStat>]) -> io::Result<()> {
    let draft = snapshot.join("stat-cache.new");
    let mut writer = StatCacheWriter::create(&draft)?;
    let created_ns = writer.created_at_ns()?;
    let mut put = lines.iter().zip(made).filter_map(|(line, made)| entry(line, (*made)?, created_ns)).peekable();
    let mut committed = StatCache::open(stat_cache)?.first()?;
    while let Some(entry) = committed.take()? {
        while let Some(put) = put.next_if(|put| put.path <= entry.path) {
            writer.add(&put)?;
        }
        if lines.binary_search_by(|line| line.path.cmp(&entry.path)).is_err() {
            writer.add(&entry)?;
        }
    }
    put.try_for_each(|put| writer.add(&put))?;
    writer.finish()?;
    fs::rename(stat_cache, commit_stat_cache(snapshot))?;
    fs::rename(draft, stat_cache)
}

fn entry(line: &Line, stat: FileStat, created_ns: i64) -> Option<StatCacheEntry> {
    let after = line.after?;
    // A path whose ctime is not before the cache's own creation could be changed in the same tick of the clock.
    let freshness = if stat.ctime_ns < created_ns { Freshness::Proven } else { Freshness::Racy };
    Some(StatCacheEntry { path: line.path.clone(), mode: after.mode, oid: after.oid, stat, freshness })
}
