//! Stores that scripts make up: every checksum, digest and chain is right where the script does not make it wrong.

use super::compressing::compressed;
use super::script::Script;
use isobox_domain::content::{ContentId, ContentRef};
use isobox_domain::event::{Event, EventKind};
use isobox_domain::log::TreeHead;
use isobox_domain::record::TaskArtifacts;
use isobox_domain::record::TaskRecord;
use isobox_domain::timestamp::Timestamp;
use isobox_ports::contract::sample::{self, promoted, pruned, rejected, time};
use isobox_ports::{Cause, CheckpointSigner};
use isobox_store_format::block::BlockBuilder;
use isobox_store_format::commit::{Commit, Committed, CommittedChild};
use isobox_store_format::entry::{Codec, EntryHeader, EntryKind, HEADER_LEN};
use isobox_store_format::event::encode_event;
use isobox_store_format::format_file::{FormatFile, StoreId};
use isobox_store_format::log::{SignedNote, SigningKey, Vouched, checkpoint_of};
use isobox_store_format::object::reference_to;
use isobox_store_format::record::{children, encode_record};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const STORE: StoreId = StoreId([7; 16]);
const DIRECTORIES: [&str; 7] = ["locks", "lanes", "packs", "large", "tmp", "quarantine", "cache"];
const MOST_OPERATIONS: usize = 48;
/// So many entries without content come at once at most.
const MANY: u64 = 4096;
/// A pack is not made longer than this, in bytes.
const LONG: usize = 4 << 20;

/// A store in a directory of its own, which goes with it.
pub(crate) struct MadeStore(TempDir);

impl MadeStore {
    pub(crate) fn new() -> Self {
        let records = tempfile::tempdir().expect("a directory for a store");
        let make = |path: PathBuf| DirBuilder::new().mode(0o700).create(path).expect("a directory");
        make(records.path().join("store"));
        DIRECTORIES.iter().for_each(|name| make(records.path().join("store").join(name)));
        let format = FormatFile::new(STORE).encode().expect("a format without features");
        fs::write(records.path().join("store/FORMAT"), format).expect("a file");
        Self(records)
    }

    /// The directory of records.
    pub(crate) fn records(&self) -> &Path {
        self.0.path()
    }

    /// Fills it with what a script says.
    pub(crate) fn fill(&self, script: &mut Script<'_>) -> Filling {
        let mut writing = Writing::new(self.0.path().join("store"));
        for _ in 0..usize::from(script.byte()) % MOST_OPERATIONS {
            writing.operation(script);
        }
        match script.flag() {
            true => writing.seal(),
            false => writing.end_lane(),
        }
        let objects = writing.objects.iter().map(|object| object.id).collect();
        Filling { objects, has_blocks_in_lanes: writing.has_blocks_in_lanes }
    }

    /// Seals a pack of so many COMMITs of events.
    pub(crate) fn fill_with_commits(&self, count: usize) {
        let mut writing = Writing::new(self.0.path().join("store"));
        writing.lane = 31;
        let event = writing.object(EntryKind::Record, b"no event");
        for _ in 0..count {
            let commit = Commit {
                attempt: 0,
                committed: Committed::Event { subject: event.id },
                ..writing.next_commit(1, event)
            };
            writing.commit(&commit);
        }
        writing.seal();
    }

    /// The files in some of its directories, in the order of their names.
    pub(crate) fn files(&self, directories: &[&str]) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut left: Vec<_> = directories.iter().map(|name| self.0.path().join("store").join(name)).collect();
        while let Some(directory) = left.pop() {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                match entry.path() {
                    path if path.is_dir() => left.push(path),
                    path => files.push(path),
                }
            }
        }
        files.sort();
        files
    }
}

/// What is in a made-up store.
pub(crate) struct Filling {
    /// The objects that are somewhere in it.
    pub(crate) objects: Vec<ContentId>,
    /// Whether a block stands in a lane, where nobody writes one: what no COMMIT follows there is read, and is cut off by
    /// the next writer.
    pub(crate) has_blocks_in_lanes: bool,
}

struct Object {
    kind: EntryKind,
    id: ContentId,
    raw: Vec<u8>,
}

/// What was written so far, and the pack that is next.
struct Writing {
    store: PathBuf,
    objects: Vec<Object>,
    records: Vec<(u64, ContentId)>,
    /// The newest event about a record.
    newest: BTreeMap<ContentId, ContentId>,
    /// Number, digest and time of the last COMMIT of each lane.
    chains: BTreeMap<u8, (u64, ContentId, u64)>,
    lane: u8,
    pack: Vec<u8>,
    /// Where what no COMMIT follows starts in it.
    loose_at: usize,
    sealed: Vec<ContentId>,
    has_block: bool,
    has_blocks_in_lanes: bool,
}

impl Writing {
    fn new(store: PathBuf) -> Self {
        Self {
            store,
            objects: Vec::new(),
            records: Vec::new(),
            newest: BTreeMap::new(),
            chains: BTreeMap::new(),
            lane: 0,
            pack: Vec::new(),
            loose_at: 0,
            sealed: Vec::new(),
            has_block: false,
            has_blocks_in_lanes: false,
        }
    }

    fn operation(&mut self, script: &mut Script<'_>) {
        match script.byte() % 20 {
            0 | 1 => {
                let length = script.byte().into();
                self.object(EntryKind::Artifact, script.take(length));
            }
            2 => {
                let content = vec![script.byte(); script.short() * 16];
                self.object(EntryKind::Artifact, &content);
            }
            3..=5 => self.record(script),
            6 | 7 => self.event(script),
            8 => self.any_commit(script),
            9 | 10 => self.block(script),
            11 => self.large(script),
            12 => self.again(script),
            13 => {
                let length = script.byte().into();
                self.pack.extend(script.take(length));
            }
            14 => script.edit(&mut self.pack),
            15 => self.pack.truncate(self.pack.len().saturating_sub(script.byte().into())),
            16 => self.many(script),
            17 => self.seal(),
            18 => self.end_lane(),
            _ => self.lane = script.byte() % 33,
        }
    }

    fn append(&mut self, header: &EntryHeader, stored: &[u8]) {
        if self.pack.len() + HEADER_LEN + stored.len() <= LONG {
            self.pack.extend(header.encode());
            self.pack.extend(stored);
        }
    }

    fn object(&mut self, kind: EntryKind, raw: &[u8]) -> ContentRef {
        let (header, stored) = compressed(|compressor| compressor.entry(kind, raw));
        self.append(&header, &stored);
        self.objects.push(Object { kind, id: header.id, raw: raw.to_vec() });
        ContentRef { id: header.id, length: header.raw_length }
    }

    fn record(&mut self, script: &mut Script<'_>) {
        let n = u64::from(script.byte() % 16);
        let named = usize::from(script.byte());
        let stdout = self.objects.get(named).map(|object| reference_to(&object.raw));
        let artifacts = TaskArtifacts { stdout, ..TaskArtifacts::default() };
        let Ok(encoded) = encode_record(&TaskRecord { artifacts, ..sample::record(n) }) else { return };
        for _ in 0..script.byte() % 3 {
            self.object(EntryKind::Artifact, &encoded.policy_bytes);
        }
        let reference = self.object(EntryKind::Record, &encoded.bytes);
        let direct = children(&encoded.bytes).expect("a record").into_iter();
        let children = direct.map(|child| CommittedChild { role: child.role.number(), reference: child.reference });
        self.records.push((n, reference.id));
        let commit = Commit { children: children.collect(), ..self.next_commit(n, reference) };
        self.commit(&commit);
    }

    fn event(&mut self, script: &mut Script<'_>) {
        if self.records.is_empty() {
            return;
        }
        let (n, subject) = self.records[script.place(self.records.len())];
        let previous = if script.byte() < 0xf0 { self.newest.get(&subject).copied() } else { None };
        let plain = |kind| Event { kind, ..rejected(n, subject, previous) };
        let event = match script.byte() % 6 {
            0 => promoted(n, subject, previous),
            1 => pruned(n, subject, previous),
            2 => plain(EventKind::Pinned),
            3 => plain(EventKind::Unpinned),
            _ => rejected(n, subject, previous),
        };
        let bytes = encode_event(&event).expect("an event that the store accepts");
        let reference = self.object(EntryKind::Record, &bytes);
        self.newest.insert(subject, reference.id);
        let committed = match event.kind {
            EventKind::Pruned { .. } => Committed::Pruned { subject },
            _ => Committed::Event { subject },
        };
        let commit = Commit { attempt: 0, committed, ..self.next_commit(n, reference) };
        self.commit(&commit);
    }

    /// A COMMIT that may say anything, of a record that may be anything.
    fn any_commit(&mut self, script: &mut Script<'_>) {
        let length = script.byte().into();
        let reference = self.object(EntryKind::Record, script.take(length));
        let right = self.next_commit(u64::from(script.byte()), reference);
        let slipped = |value: u64, script: &mut Script<'_>| match script.byte() {
            0xff => u64::MAX,
            0xfe => script.long(),
            _ => value.wrapping_add_signed(script.slip().into()),
        };
        let subject = self.records.last().map_or(reference.id, |(_, id)| *id);
        let sequence = slipped(right.sequence, script);
        let commit = Commit {
            committed: match script.byte() % 4 {
                0 => Committed::Event { subject },
                1 => Committed::Pruned { subject },
                _ => Committed::Record,
            },
            sequence,
            previous: right.previous.or((sequence != 1).then_some(reference.id)),
            span: slipped(right.span, script),
            time: Timestamp::from_unix_ms(slipped(right.time.unix_ms(), script)).unwrap_or(right.time),
            packs: self.sealed.iter().rev().take(usize::from(script.byte() % 3)).copied().collect(),
            children: (0..script.byte() % 4).map(|role| CommittedChild { role, reference }).collect(),
            record: ContentRef { id: reference.id, length: slipped(reference.length, script) },
            ..right
        };
        self.commit(&commit);
    }

    /// The next COMMIT of the lane, of a record without children.
    fn next_commit(&self, n: u64, record: ContentRef) -> Commit {
        let last = self.chains.get(&self.lane);
        let at = time(n).unix_ms().max(last.map_or(0, |last| last.2));
        Commit {
            store: STORE,
            task: sample::record(n).task,
            attempt: 1,
            committed: Committed::Record,
            record,
            time: Timestamp::nearest(at),
            lane: self.lane,
            sequence: last.map_or(1, |last| last.0.wrapping_add(1)),
            previous: last.map(|last| last.1),
            span: (self.pack.len().saturating_sub(self.loose_at)) as u64,
            packs: Vec::new(),
            children: Vec::new(),
        }
    }

    fn commit(&mut self, commit: &Commit) {
        let Ok(payload) = commit.encode() else { return };
        self.append(&EntryHeader::raw(EntryKind::Commit, &payload), &payload);
        self.loose_at = self.pack.len();
        self.chains.insert(commit.lane, (commit.sequence, Commit::id(&payload), commit.time.unix_ms()));
    }

    fn block(&mut self, script: &mut Script<'_>) {
        let mut builder = BlockBuilder::default();
        for object in self.objects.iter().rev().take(script.byte().into()) {
            if builder.has_room(object.raw.len()) {
                builder.add(object.kind, object.id, &object.raw);
            }
        }
        if !builder.is_empty() {
            let (header, stored) = compressed(|compressor| builder.finish(compressor));
            self.append(&header, &stored);
            self.has_block = true;
        }
    }

    /// Many entries without content, of which nothing but fillers is what it says.
    fn many(&mut self, script: &mut Script<'_>) {
        let kind = if script.flag() { EntryKind::Filler } else { EntryKind::Artifact };
        let (plain, mut id) = (EntryHeader::raw(kind, &[]), [script.byte(); 32]);
        for n in 0..script.short() as u64 % MANY {
            id[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
            self.append(&EntryHeader { id: ContentId::new(id), ..plain }, &[]);
        }
    }

    /// A large artifact and the reference to it, either of which may be missing.
    fn large(&mut self, script: &mut Script<'_>) {
        let raw = vec![script.byte(); (1 << 20) + script.short()];
        let mut stored = Vec::new();
        for frame in raw.chunks(1 << 20) {
            stored.extend(compressed(|compressor| compressor.frame(frame)));
        }
        let header = EntryHeader {
            kind: EntryKind::Artifact,
            codec: Codec::Zstd,
            id: reference_to(&raw).id,
            raw_length: raw.len() as u64,
            stored_length: stored.len() as u64,
            payload_crc: crc32c::crc32c(&stored),
        };
        let mut file = [&header.encode()[..], &stored].concat();
        script.edit(&mut file);
        let (folder, name) = (&header.id.to_hex()[..2], &header.id.to_hex()[2..]);
        let folder = self.store.join("large").join(folder);
        if script.byte() < 0xf0 {
            fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join(name), file)).expect("a file");
        }
        if script.byte() < 0xf0 {
            let reference = header.encode();
            self.append(&EntryHeader::raw(EntryKind::Large, &reference), &reference);
            self.objects.push(Object { kind: EntryKind::Large, id: header.id, raw: reference.to_vec() });
        }
    }

    /// An object that was stored before.
    fn again(&mut self, script: &mut Script<'_>) {
        if !self.objects.is_empty() {
            let Object { kind, raw, .. } = &self.objects[script.place(self.objects.len())];
            let (kind, raw) = (*kind, raw.clone());
            let (header, stored) = compressed(|compressor| compressor.entry(kind, &raw));
            self.append(&header, &stored);
        }
    }

    fn seal(&mut self) {
        let pack = std::mem::take(&mut self.pack);
        if !pack.is_empty() {
            let id = ContentId::new(*blake3::hash(&pack).as_bytes());
            fs::write(self.store.join(format!("packs/{}.pack", id.to_hex())), pack).expect("a file");
            self.sealed.push(id);
        }
        (self.loose_at, self.has_block) = (0, false);
    }

    fn end_lane(&mut self) {
        let pack = std::mem::take(&mut self.pack);
        fs::write(self.store.join(format!("lanes/lane-{:02}.pack", self.lane)), pack).expect("a file");
        self.has_blocks_in_lanes |= self.has_block;
        (self.loose_at, self.has_block) = (0, false);
    }
}

/// Signs with a key that everybody knows, and keeps the newest checkpoint.
pub(crate) struct Signer {
    key: SigningKey,
    newest: RefCell<Option<Vec<u8>>>,
}

impl Signer {
    pub(crate) fn new() -> Self {
        let key = SigningKey::from_seed("example.com/log", [1; 32]).expect("a name");
        Self { key, newest: RefCell::default() }
    }
}

impl CheckpointSigner for Signer {
    fn head_of(&self, note: &[u8]) -> Option<TreeHead> {
        let note = SignedNote::parse(note).ok()?;
        let is_own = note.vouched_by(self.key.verifier()) == Vouched::Yes;
        checkpoint_of(&note).ok().filter(|_| is_own).map(|checkpoint| checkpoint.head)
    }

    fn newest(&self) -> Result<Option<Vec<u8>>, Cause> {
        Ok(self.newest.borrow().clone())
    }

    fn sign(&self, head: &TreeHead) -> Result<Vec<u8>, Cause> {
        let note = SignedNote::of_checkpoint(head, &self.key).to_string().into_bytes();
        *self.newest.borrow_mut() = Some(note.clone());
        Ok(note)
    }
}
