//! What `isobox` prints, piped and on a terminal of 80 columns, compared with files: `snapshots`. With `SNAPSHOTS=overwrite`
//! in the environment the files are written instead.

mod acting;
mod errors;
mod help;
mod looking;
mod redaction;
mod transcript;
