//! Record directories of version 1 as they go in and out: `isobox import`, `isobox export`.

mod hostile;
mod place;
mod round_trip;
