//! Findings in the Static Analysis Results Interchange Format (SARIF) 2.1.0 of OASIS, which code
//! hosts and editors show at the lines of the source.

use super::suppress::{Rule, kind_of};
use ptx_emulator::counters::PTX_FILE;
use ptx_emulator::sanitize::{Finding, Severity, Site};
use serde_json::{Value, json};

/// A finding for the log, and the rule that suppresses it.
pub(crate) struct Result<'f> {
    pub(crate) finding: &'f Finding,
    pub(crate) suppressed: Option<&'f Rule>,
    /// The PTX file, for what has no line of a source.
    pub(crate) ptx: Option<&'f str>,
}

/// The log of one run.
pub(crate) fn log(results: &[Result<'_>]) -> Value {
    let mut kinds: Vec<(String, &Finding)> = Vec::new();
    for result in results {
        let kind = kind_of(result.finding);
        if !kinds.iter().any(|(known, _)| *known == kind) {
            kinds.push((kind, result.finding));
        }
    }
    let rules = kinds.iter().map(|(kind, finding)| {
        json!({
            "id": kind,
            "shortDescription": { "text": finding.problem.describe() },
            "properties": { "tags": [finding.tool().name()] },
        })
    });
    let rules: Vec<Value> = rules.collect();
    let index_of = |kind: &str| kinds.iter().position(|(known, _)| known == kind);
    let results: Vec<Value> = results
        .iter()
        .map(|result| {
            let kind = kind_of(result.finding);
            let index = index_of(&kind);
            value_of(result, &kind, index)
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "warpladder",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
        }],
    })
}

fn value_of(result: &Result<'_>, kind: &str, index: Option<usize>) -> Value {
    let finding = result.finding;
    let text = finding.to_string();
    let mut value = json!({
        "ruleId": kind,
        "level": match finding.severity {
            Severity::Warning => "warning",
            _ => "error",
        },
        "message": { "text": text.lines().next().unwrap_or_default() },
        "locations": [location(&finding.first, &finding.kernel, result.ptx)],
        "occurrenceCount": finding.count,
        "properties": { "tool": finding.tool().name() },
    });
    if let Some(index) = index {
        value["ruleIndex"] = json!(index);
    }
    if let Some(second) = &finding.second {
        let mut related = location(second, &finding.kernel, result.ptx);
        related["message"] = json!({ "text": second.to_string() });
        value["relatedLocations"] = json!([related]);
    }
    if let Some(rule) = result.suppressed {
        value["suppressions"] = json!([{ "kind": "external", "justification": rule.text }]);
    }
    value
}

/// Where a site is: in the source, or else in the PTX.
fn location(site: &Site, kernel: &str, ptx: Option<&str>) -> Value {
    let mut location = json!({
        "logicalLocations": [{ "name": kernel, "kind": "function" }],
    });
    let source = site.place.as_ref().filter(|place| place.file != PTX_FILE);
    let place = match source {
        Some(place) => Some((place.file.as_str(), Some(place.line))),
        None => ptx.map(|file| (file, site.ptx_line)),
    };
    if let Some((file, line)) = place {
        let mut physical = json!({ "artifactLocation": { "uri": uri(file) } });
        // Code to which the compiler gave no line has line 0.
        if let Some(line) = line.filter(|&line| line > 0) {
            physical["region"] = json!({ "startLine": line });
        }
        location["physicalLocation"] = physical;
    }
    location
}

/// A file's name as a reference of RFC 3986: what may not stand in one is percent-encoded.
fn uri(file: &str) -> String {
    let mut uri = String::new();
    if file.starts_with('/') {
        uri += "file://";
    }
    for byte in file.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' | b'+' => {
                uri.push(char::from(byte));
            }
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_references() {
        assert_eq!(uri("src/a b#.cu"), "src/a%20b%23.cu");
        assert_eq!(uri("/x/k.cu"), "file:///x/k.cu");
        assert_eq!(uri("c:\\k.cu"), "c%3A/k.cu");
    }
}
