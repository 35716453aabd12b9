//! `isobox update` and `install.sh`, against a publisher on loopback and on made-up machines.

mod hostile;
mod https;
mod installer;
mod journey;
mod kill;
mod machine;
mod publish;
mod server;
mod site;
mod targets;
