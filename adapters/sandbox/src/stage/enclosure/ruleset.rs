//! The wall of Landlock, built where nothing can replace what it names, and put around the workload alone.

use crate::filter::Strictness;
use crate::protocol::{Rule, Use};
use isobox_domain::escape::Escaped;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset as Rights, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

/// The versions of Landlock that differ in what they can rule on, the oldest first.
pub(crate) const ABIS: [(u64, ABI); 6] =
    [(1, ABI::V1), (2, ABI::V2), (3, ABI::V3), (4, ABI::V4), (5, ABI::V5), (6, ABI::V6)];

const NEWEST: ABI = ABI::V6;

/// What a workload will be put behind.
pub(in crate::stage) struct Ruleset(RulesetCreated);

impl Ruleset {
    /// Rules on every right of version `number`, which this kernel must have, and allows what `rules` say.
    pub(super) fn build(number: u64, rules: &[Rule], strictness: Strictness) -> io::Result<Self> {
        let abi = ABIS.iter().find(|(known, _)| *known == number).map(|(_, abi)| *abi);
        let abi = abi.ok_or_else(|| io::Error::other("no such version of Landlock is known"))?;
        // Landlock knows no addresses: in a network namespace it would close the loopback, which is the workload's own.
        let rules_on_network = strictness == Strictness::AloneDenyingNetwork;
        let mut ruleset = rights(abi, rules_on_network).map_err(while_ruling)?;
        for rule in rules {
            let Some((path, is_directory)) = open(&rule.path)? else { continue };
            let all = if is_directory { AccessFs::from_all(abi) } else { AccessFs::from_file(abi) };
            let allowed = rights_to(rule.allowed) & all;
            if !allowed.is_empty() {
                ruleset = ruleset.add_rule(PathBeneath::new(path, allowed)).map_err(while_ruling)?;
            }
        }
        Ok(Self(ruleset))
    }

    /// Puts this process and all that it starts behind it, for ever.
    pub(in crate::stage) fn enforce(self) -> io::Result<()> {
        let status = self.0.restrict_self().map_err(while_ruling)?;
        match status.ruleset {
            RulesetStatus::FullyEnforced => Ok(()),
            _ => Err(io::Error::other("Landlock restricts this process only in part")),
        }
    }
}

/// What is ruled on: everything that version can tell apart.
fn rights(abi: ABI, rules_on_network: bool) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset =
        Rights::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(abi))?;
    let (network, scope) = (AccessNet::from_all(abi), Scope::from_all(abi));
    if rules_on_network && !network.is_empty() {
        ruleset = ruleset.handle_access(network)?;
    }
    if !scope.is_empty() {
        ruleset = ruleset.scope(scope)?;
    }
    ruleset.create()
}

fn rights_to(allowed: Use) -> BitFlags<AccessFs> {
    match allowed {
        Use::List => AccessFs::ReadDir.into(),
        Use::Read => make_bitflags!(AccessFs::{ReadDir | ReadFile}),
        Use::Execute => make_bitflags!(AccessFs::{ReadDir | ReadFile | Execute}),
        Use::Devices => make_bitflags!(AccessFs::{ReadDir | ReadFile | WriteFile | Truncate | IoctlDev}),
        Use::Everything => AccessFs::from_all(NEWEST),
    }
}

/// A path that can be ruled on, and whether it is a directory; `None` if there is nothing.
fn open(path: &[u8]) -> io::Result<Option<(OwnedFd, bool)>> {
    let flags = OFlag::O_PATH | OFlag::O_CLOEXEC;
    match nix::fcntl::open(OsStr::from_bytes(path), flags, Mode::empty()) {
        Ok(opened) => {
            let found = nix::sys::stat::fstat(&opened)?;
            Ok(Some((opened, found.st_mode & libc::S_IFMT == libc::S_IFDIR)))
        }
        Err(Errno::ENOENT) => Ok(None),
        Err(errno) => Err(io::Error::other(format!("open {} for a rule: {}", Escaped(path), errno.desc()))),
    }
}

fn while_ruling(error: RulesetError) -> io::Error {
    io::Error::other(format!("restrict the workload by Landlock: {error}"))
}
