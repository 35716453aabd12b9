//! The directories of the host's system that every Sandbox shows.

use crate::policy::read::contains;

/// Programs and libraries: `/usr`, and directories beside it, most of them links into it, of which a host may lack some.
pub const SYSTEM_DIRECTORIES: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Whether an absolute host path is or lies in one of them.
pub fn is_of_system(path: &[u8]) -> bool {
    SYSTEM_DIRECTORIES.iter().any(|system| contains(system.as_bytes(), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_libraries_are_of_the_system_and_their_neighbours_are_not() {
        assert!(is_of_system(b"/usr") && is_of_system(b"/lib/x") && is_of_system(b"/usr/share/y"));
        assert!(!is_of_system(b"/") && !is_of_system(b"/usrx") && !is_of_system(b"/opt/usr"));
    }
}
