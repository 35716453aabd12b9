//! A hostile workload tries to get out of a Sandbox of `landlock` that has no namespaces.

mod stand;

use isobox_domain::enforcement::Control;
use isobox_domain::policy::{NetworkAccess, WorkspaceExposure};
use isobox_ports::RuntimeBackend;
use isobox_sandbox::LandlockBackend;
use libtest_mimic::{Arguments, Failed, Trial};
use stand::Stand;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

type Attack = fn(&mut Stand<'_>) -> Result<(), Failed>;

const ATTACKS: &[(&str, Attack)] = &[
    ("files_of_the_user_can_be_neither_read_nor_written", files_of_the_user_can_be_neither_read_nor_written),
    ("what_is_said_to_be_changeable_is", what_is_said_to_be_changeable_is),
    ("only_private_places_can_be_written", only_private_places_can_be_written),
    ("no_socket_leads_out", no_socket_leads_out),
    ("connected_pairs_work_and_find_nobody_else", connected_pairs_work_and_find_nobody_else),
    ("host_processes_cannot_be_touched", host_processes_cannot_be_touched),
    ("an_inherited_network_is_the_hosts_without_its_sockets", an_inherited_network_is_the_hosts_without_its_sockets),
    ("a_read_only_workspace_cannot_be_written", a_read_only_workspace_cannot_be_written),
    ("private_directories_go_with_it", private_directories_go_with_it),
    ("what_holds_in_part_alone_says_what_does_not", what_holds_in_part_alone_says_what_does_not),
];

fn main() {
    isobox_sandbox::stage::enter_if_asked();
    let unavailable = LandlockBackend::alone().capabilities().unavailable;
    let trials = ATTACKS.iter().map(|&(name, attack)| match &unavailable {
        None => Trial::test(name, move || attack(&mut Stand::new(&LandlockBackend::alone())?)),
        Some(reason) => Trial::test(format!("{name} ({reason})"), || Ok(())).with_ignored_flag(true),
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn files_of_the_user_can_be_neither_read_nor_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let outside = tempfile::TempDir::new()?;
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret\n")?;
    let (file, directory) = (secret.display(), outside.path().display());
    let script = format!(
        "(cat {file} || ls {directory} || cat /proc/self/root{file} || echo x >> {file} || echo x > {directory}/new \
          || mkdir {directory}/new || ln {file} here || rm {file} || mv {file} here || ln -s {file} link && cat link \
          || cat /etc/shadow || ls / || ls /root || ls /run || ls /tmp) 2>/dev/null && echo got through; ls"
    );
    assert_eq!(stand.shell(&script)?, "link\n");
    assert_eq!(fs::read_to_string(&secret)?, "secret\n");
    assert_eq!(fs::read_dir(outside.path())?.count(), 1);
    Ok(())
}

/// What Landlock has no right for; the claim says so.
fn what_is_said_to_be_changeable_is(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let outside = tempfile::TempDir::new()?;
    let file = outside.path().join("file");
    fs::write(&file, "")?;
    stand.shell(&format!("chmod 600 {}", file.display()))?;
    let is_changed = file.metadata()?.permissions().mode() & 0o777 == 0o600;
    let capabilities = stand.capabilities();
    let filesystem = capabilities.enforcement(Control::Filesystem).ok_or("it is not named")?;
    assert_eq!(is_changed, !filesystem.is_enforced());
    Ok(())
}

fn only_private_places_can_be_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let places = "/ /usr /etc /proc /var /var/tmp /tmp /home /dev /dev/shm /run / $HOME $TMPDIR .";
    let script = format!("for place in {places}; do (: > $place/x) 2>/dev/null && echo $place; done | wc -l");
    assert_eq!(stand.shell(&script)?.trim(), "3");
    assert_eq!(stand.shell("mktemp > /dev/null && cd && echo x > .profile && cat ~/.profile")?, "x\n");
    Ok(())
}

fn no_socket_leads_out(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let directory = tempfile::TempDir::new()?;
    let path = directory.path().join("socket");
    let _path = UnixListener::bind(&path)?;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    let script = format!(
        "use Socket; my @made;
         for my $family (1, 2, 10, 16, 17, 40) {{ for my $kind (1, 2, 3, 5) {{
             push @made, \"$family/$kind\" if socket(my $socket, $family, $kind, 0); }} }}
         print \"@made\\n\"; # {} {}",
        path.display(),
        tcp.local_addr()?
    );
    let (_, heard) = stand.run(&["perl", "-e", &script])?;
    assert_eq!((heard.text().as_str(), heard.complaints().as_str()), ("\n", ""));
    Ok(())
}

fn connected_pairs_work_and_find_nobody_else(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let script = "use Socket;
        socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; syswrite $a, 'one'; sysread $b, my $said, 9;
        print $said, ' ', (socketpair(my $c, my $d, AF_UNIX, SOCK_DGRAM, 0) ? 'datagrams' : 'none'), \"\\n\";";
    let (_, heard) = stand.run(&["perl", "-e", script])?;
    assert_eq!((heard.text().as_str(), heard.complaints().as_str()), ("one none\n", ""));
    Ok(())
}

fn host_processes_cannot_be_touched(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let own = std::process::id();
    let script = format!(
        "kill -0 {own} 2>/dev/null && echo signalled; kill -0 $PPID 2>/dev/null && echo stage; \
         cat /proc/{own}/environ 2>/dev/null; readlink /proc/{own}/fd/1 2>/dev/null; ls /proc/{own}/root/ 2>/dev/null; \
         sleep 100 & kill $! && wait $!; echo $?"
    );
    let said = format!("{:?}", stand.capabilities().enforcement(Control::Processes));
    let expected = if said.contains("be signalled") { "signalled\nstage\n143\n" } else { "143\n" };
    assert_eq!(stand.shell(&script)?, expected);
    Ok(())
}

fn an_inherited_network_is_the_hosts_without_its_sockets(stand: &mut Stand<'_>) -> Result<(), Failed> {
    stand.policy.network = NetworkAccess::Inherited;
    let tcp = TcpListener::bind("127.0.0.1:0")?;
    let script = format!(
        "use Socket; socket(my $tcp, AF_INET, SOCK_STREAM, 0) or die;
         connect($tcp, sockaddr_in({}, INADDR_LOOPBACK)) or die \"$!\";
         print socket(my $unix, AF_UNIX, SOCK_STREAM, 0) ? 'unix' : 'none', \"\\n\";",
        tcp.local_addr()?.port()
    );
    let (_, heard) = stand.run(&["perl", "-e", &script])?;
    assert_eq!((heard.text().as_str(), heard.complaints().as_str()), ("none\n", ""));
    Ok(())
}

fn a_read_only_workspace_cannot_be_written(stand: &mut Stand<'_>) -> Result<(), Failed> {
    stand.policy.workspace = WorkspaceExposure::ReadOnly;
    assert_eq!(stand.shell("touch x 2>/dev/null || echo unwritten")?, "unwritten\n");
    Ok(())
}

fn private_directories_go_with_it(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let home = stand.shell("mkdir -p ~/a/b && echo x > ~/a/b/c && chmod 0 ~/a && echo $HOME")?;
    assert!(home.trim_end().ends_with("/home"), "{home}");
    assert!(!std::path::Path::new(home.trim_end()).parent().ok_or("it lies nowhere")?.exists());
    Ok(())
}

fn what_holds_in_part_alone_says_what_does_not(stand: &mut Stand<'_>) -> Result<(), Failed> {
    let capabilities = stand.capabilities();
    let is_enforced = |control| capabilities.enforcement(control).is_some_and(|found| found.is_enforced());
    let whole: Vec<_> = Control::ALL.into_iter().filter(|control| is_enforced(*control)).map(Control::name).collect();
    assert_eq!(whole, ["network", "privileges", "syscalls", "environment"]);
    Ok(())
}
