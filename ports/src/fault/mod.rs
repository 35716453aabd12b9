//! Fault injection: make the n-th operation of a port fail.
