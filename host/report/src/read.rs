//! Files of the other commands: which command wrote a record.

use serde::de::Error;
use serde_json::Value;
use warpladder_lab::run::Record;

/// A file of results.
pub struct File {
    /// Its records.
    pub records: Vec<Value>,
    /// Whether these are all that were asked for.
    pub is_complete: bool,
}

/// Reads an array of records, an object that holds one in `records`, or one record.
pub fn file(text: &str) -> Result<File, serde_json::Error> {
    let (records, is_complete) = match serde_json::from_str(text)? {
        Value::Array(records) => (records, true),
        Value::Object(mut object) => match object.remove("records") {
            Some(Value::Array(records)) => {
                let complete = object.get("complete").and_then(Value::as_bool);
                (records, complete.unwrap_or(true))
            }
            Some(_) => return Err(serde_json::Error::custom("its records are no array")),
            None => (vec![Value::Object(object)], true),
        },
        _ => return Err(serde_json::Error::custom("it holds no records")),
    };
    Ok(File {
        records,
        is_complete,
    })
}

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

/// Takes away the times of the emulator: they are those of the CPU.
pub fn without_times(record: &mut Record) {
    record.samples = 0;
    record.times_ms = Vec::new();
    for time in [
        &mut record.median_ms,
        &mut record.low_ms,
        &mut record.high_ms,
        &mut record.min_ms,
        &mut record.max_ms,
        &mut record.noise_pct,
        &mut record.gflops,
        &mut record.gbs,
        &mut record.host_to_host_ms,
        &mut record.outer_ms,
        &mut record.inner_ms,
    ] {
        *time = None;
    }
}
