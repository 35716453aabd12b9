//! Fakes with state that obey the contracts, for tests of what stands on the ports.
