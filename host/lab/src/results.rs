//! Results as files: the envelope in which every command's `--json` writes its records, and what
//! reads it back. docs/results.md documents the records, and `warpladder schema` prints their JSON
//! schema.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error};
use serde_json::Value;

/// Version of the envelope and of the records in it. A version gains fields without another number;
/// a field that goes or changes its meaning makes a new one.
///
/// Version 1 was an array of records without a number, version 2 an array of records of `run` with
/// one each. Other commands wrote arrays, or a record alone, without a number.
pub const SCHEMA: u32 = 3;

/// What a command writes: its name and version, and its records.
#[derive(Clone, Debug, Serialize)]
pub struct Envelope<'a, R> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The command, such as `run`.
    pub command: &'a str,
    /// Version of the program.
    pub version: &'a str,
    /// Whether these are all records that were asked for: not so where the run was interrupted or
    /// its time was up.
    pub complete: bool,
    /// What all records say together, of a command that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<Value>,
    /// The records.
    pub records: &'a [R],
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct ResultFile {
    /// The command that wrote it; `None` in files of versions 1 and 2.
    pub command: Option<String>,
    /// Whether it holds all records that were asked for.
    pub complete: bool,
    records: Vec<Value>,
}

impl ResultFile {
    /// Reads a file of any version.
    ///
    /// # Errors
    /// Where it is no JSON, or of a version that came after this program.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let of_older = |records| ResultFile {
            command: None,
            complete: true,
            records,
        };
        match serde_json::from_str(text)? {
            Value::Array(records) => Ok(of_older(records)),
            Value::Object(mut envelope) if envelope.contains_key("records") => {
                let schema = envelope.get("schema").and_then(Value::as_u64);
                if schema.is_none_or(|schema| schema > SCHEMA.into()) {
                    let schema = schema.map_or("no".to_owned(), |schema| schema.to_string());
                    return Err(serde_json::Error::custom(format!(
                        "it has schema {schema}, and this program reads schemas up to {SCHEMA}"
                    )));
                }
                let command = envelope.get("command").and_then(Value::as_str);
                let complete = envelope.get("complete").and_then(Value::as_bool);
                let command = command.map(str::to_owned);
                let records = envelope.remove("records");
                let Some(Value::Array(records)) = records else {
                    return Err(serde_json::Error::custom("its records are no array"));
                };
                Ok(ResultFile {
                    command,
                    complete: complete.unwrap_or(true),
                    records,
                })
            }
            record @ Value::Object(_) => Ok(of_older(vec![record])),
            _ => Err(serde_json::Error::custom("it holds no records")),
        }
    }

    /// The records, as what a command writes.
    ///
    /// # Errors
    /// Where a record is another command's.
    pub fn records<R: DeserializeOwned>(self) -> Result<Vec<R>, serde_json::Error> {
        let records = self.records.into_iter();
        records.map(serde_json::from_value).collect()
    }

    /// The records as they stand.
    pub fn values(&self) -> &[Value] {
        &self.records
    }
}

/// The records of a file of any version.
///
/// # Errors
/// Those of [`ResultFile::parse`] and [`ResultFile::records`].
pub fn read<R: DeserializeOwned>(text: &str) -> Result<Vec<R>, serde_json::Error> {
    ResultFile::parse(text)?.records()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_all_versions_give_their_records() {
        let envelope = Envelope {
            schema: SCHEMA,
            command: "sweep",
            version: "0.1.0",
            complete: false,
            summary: None,
            records: &[1, 2],
        };
        let text = serde_json::to_string(&envelope).unwrap();
        assert!(!text.contains("summary"), "{text}");
        let summarised = Envelope {
            summary: Some(Value::from(3)),
            ..envelope.clone()
        };
        let summarised = serde_json::to_string(&summarised).unwrap();
        assert_eq!(read::<u32>(&summarised).unwrap(), [1, 2]);
        let file = ResultFile::parse(&text).unwrap();
        assert_eq!(
            (file.command.as_deref(), file.complete),
            (Some("sweep"), false)
        );
        assert_eq!(file.records::<u32>().unwrap(), [1, 2]);
        assert_eq!(read::<u32>("[1, 2]").unwrap(), [1, 2]);
        let alone: Vec<Value> = read(r#"{"kernel": "naive"}"#).unwrap();
        assert_eq!(alone[0]["kernel"], "naive");
    }

    #[test]
    fn what_holds_no_records_is_refused() {
        for text in [
            "",
            "7",
            r#"{"records": []}"#,
            r#"{"schema": 3, "records": 7}"#,
        ] {
            assert!(ResultFile::parse(text).is_err(), "{text}");
        }
        let newer = ResultFile::parse(r#"{"schema": 4, "records": []}"#).unwrap_err();
        assert!(newer.to_string().contains("schema 4"), "{newer}");
    }
}
