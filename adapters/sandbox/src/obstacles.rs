//! Settings of the kernel that keep Sandboxes from coming up, and what to do about them.

/// Whose namespaces are made: isobox's own launcher is its own program.
pub(crate) const OWN_LAUNCHER: &str = "isobox";

/// The setting that allows no namespaces of a kind to anybody.
macro_rules! none_allowed {
    ($kind:literal, $name:literal) => {
        (
            concat!("/proc/sys/user/max_", $kind, "_namespaces"),
            "0",
            concat!(
                $name,
                " namespaces are switched off here: run `sysctl user.max_",
                $kind,
                "_namespaces=10000` as root"
            ),
        )
    };
}

/// Settings of the kernel that keep people from making namespaces: file, the value that does so, and what to do; `{program}` is
/// the one that makes them.
const OBSTACLES: [(&str, &str, &str); 9] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts unprivileged user namespaces here (kernel.apparmor_restrict_unprivileged_userns=1, as on \
         Ubuntu): load an AppArmor profile with the rule `userns,` for {program}, or run \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0` as root",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "unprivileged user namespaces are switched off here: run `sysctl kernel.unprivileged_userns_clone=1` as root",
    ),
    none_allowed!("user", "user"),
    none_allowed!("mnt", "mount"),
    none_allowed!("pid", "PID"),
    none_allowed!("net", "network"),
    none_allowed!("ipc", "IPC"),
    none_allowed!("uts", "UTS"),
    none_allowed!("cgroup", "cgroup"),
];

/// The values of those settings, where they exist.
pub(crate) fn settings() -> [Option<String>; 9] {
    OBSTACLES.map(|(file, _, _)| std::fs::read_to_string(file).ok())
}

/// The settings that stand in the way: each as `name=value`, as sysctl(8) writes it, with its remedy.
pub(crate) fn restrictions(read: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let named = |file: &str| file.trim_start_matches("/proc/sys/").replace('/', ".");
    let standing = OBSTACLES.iter().filter(|(file, value, _)| stands(&read, file, value));
    standing
        .map(|(file, value, remedy)| (format!("{}={value}", named(file)), of(remedy, "isobox and for bwrap")))
        .collect()
}

fn stands(read: impl Fn(&str) -> Option<String>, file: &str, value: &str) -> bool {
    read(file).is_some_and(|found| found.trim() == value)
}

/// `reason` why `program` made no namespaces, with the remedy if the cause is a setting that is known.
pub(crate) fn with_remedy(reason: &str, program: &str) -> String {
    match remedy(program, |file| std::fs::read_to_string(file).ok()) {
        Some(remedy) => format!("{reason}; {remedy}"),
        None => reason.to_owned(),
    }
}

fn of(remedy: &str, program: &str) -> String {
    remedy.replace("{program}", program)
}

fn remedy(program: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    OBSTACLES.iter().find(|(file, value, _)| stands(&read, file, value)).map(|(_, _, remedy)| of(remedy, program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_keeps_namespaces_away_is_named() {
        let ubuntu = |file: &str| (file == OBSTACLES[0].0).then(|| "1\n".to_owned());
        for program in [OWN_LAUNCHER, "bwrap"] {
            let profile = format!("an AppArmor profile with the rule `userns,` for {program}, or");
            assert!(remedy(program, ubuntu).is_some_and(|remedy| remedy.contains(&profile)), "{program}");
        }
        let debian = |file: &str| (file == OBSTACLES[1].0).then(|| "0\n".to_owned());
        assert!(
            remedy(OWN_LAUNCHER, debian).is_some_and(|remedy| remedy.contains("kernel.unprivileged_userns_clone=1"))
        );
        let no_network = |file: &str| file.ends_with("max_net_namespaces").then(|| "0\n".to_owned());
        assert!(remedy("bwrap", no_network).is_some_and(|remedy| remedy.contains("sysctl user.max_net_namespaces=")));
        assert_eq!(remedy("bwrap", |_| Some("17\n".to_owned())), None);
        assert_eq!(remedy("bwrap", |_| None), None);
    }
}
