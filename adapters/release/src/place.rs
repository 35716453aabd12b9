//! Where releases lie: a URL under which the index, its signature and the Release Files have plain names.

use std::fmt;
use std::path::PathBuf;

/// A directory of releases. Shown as its URL, with a `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    url: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Https,
    Http,
    File,
}

/// Where a file lies, and how it is read there.
pub(crate) enum Located {
    /// By a URL whose redirects stay with HTTPS.
    Https(String),
    /// By a URL of plain HTTP.
    Http(String),
    /// By a host path.
    File(PathBuf),
}

/// Why a text is no place of releases.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "releases lie at an https, http or file URL without a user, a query or a fragment, such as https://example.org/isobox or file:///srv/isobox"
)]
pub struct PlaceError;

impl Place {
    /// Parses the URL of a directory.
    pub fn parse(url: &str) -> Result<Self, PlaceError> {
        let kinds = [("https://", Kind::Https), ("http://", Kind::Http), ("file:///", Kind::File)];
        let found = kinds.into_iter().find_map(|(scheme, kind)| Some((url.strip_prefix(scheme)?, kind)));
        let (rest, kind) = found.ok_or(PlaceError)?;
        let host = rest.split('/').next().unwrap_or_default();
        // A user may have a password, which would show in messages.
        let is_plain = url.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#@\\%\"'<>".contains(&byte));
        let is_whole = kind == Kind::File || !host.is_empty();
        (is_plain && is_whole).then_some(()).ok_or(PlaceError)?;
        Ok(Self { url: format!("{}/", url.trim_end_matches('/')), kind })
    }

    /// Where the file `name` lies.
    pub(crate) fn file(&self, name: &str) -> Located {
        let url = format!("{}{name}", self.url);
        match self.kind {
            Kind::Https => Located::Https(url),
            Kind::Http => Located::Http(url),
            Kind::File => Located::File(PathBuf::from(url.trim_start_matches("file://"))),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_ends_with_a_slash() {
        assert_eq!(Place::parse("https://a.example/b").unwrap().to_string(), "https://a.example/b/");
        assert_eq!(Place::parse("http://[::1]:8/").unwrap().to_string(), "http://[::1]:8/");
        let Located::File(path) = Place::parse("file:///srv/x").unwrap().file("y") else { panic!("no file") };
        assert_eq!(path, PathBuf::from("/srv/x/y"));
    }

    #[test]
    fn what_is_no_directory_of_the_web_or_of_this_machine_is_refused() {
        for url in
            ["", "ftp://a/b", "https://", "file://host/a", "https://u:p@a/", "https://a/?q", "https://a/ b", "/srv/x"]
        {
            assert_eq!(Place::parse(url), Err(PlaceError), "{url}");
        }
    }
}
