//! Contract suites: the cases that every adapter and every fake of a port must pass.
