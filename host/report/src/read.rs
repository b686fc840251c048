//! Which command wrote a record.

use serde::de::Error;
use serde_json::Value;

/// What wrote a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `run`.
    Run,
    /// `compare`.
    Compare,
    /// `sweep`.
    Sweep,
    /// `reproduce`.
    Reproduce,
    /// `calibrate`.
    Calibrate,
    /// `devices`.
    Devices,
}

/// Which command wrote a record, by fields that it alone has.
pub fn kind(record: &Value) -> Result<Kind, serde_json::Error> {
    let kinds: [(Kind, &[&str]); 6] = [
        (Kind::Compare, &["kernel", "peer", "peer_ms"]),
        (Kind::Sweep, &["kernel", "over", "points"]),
        (Kind::Reproduce, &["rung", "verdict", "here"]),
        (Kind::Calibrate, &["device", "figures"]),
        (Kind::Devices, &["uuid", "multiprocessors"]),
        (Kind::Run, &["kernel", "engine", "samples"]),
    ];
    let found = kinds
        .into_iter()
        .find(|(_, fields)| fields.iter().all(|field| record.get(field).is_some()));
    let found = found.map(|(kind, _)| kind);
    found.ok_or_else(|| serde_json::Error::custom("it holds records of no command"))
}
