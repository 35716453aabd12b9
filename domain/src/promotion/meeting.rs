//! How a result meets what the repository changed since its Task started.

/// How a Promotion meets what the repository changed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Meeting {
    /// HEAD is where the Task started from, and nothing else is changed.
    #[default]
    Exact,
    /// HEAD may be elsewhere and other paths may be changed: the result is merged into HEAD, path by path.
    ThreeWay(OnConflict),
}

/// What to do where both changed the same lines of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// Nothing is promoted.
    Refuse,
    /// The file holds both, between conflict markers.
    Mark,
}
