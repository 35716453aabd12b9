//! Helpers of the outside tests: build a repository, run `isobox`, read what it printed.
