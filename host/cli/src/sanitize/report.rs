//! How findings are reported: as text, JSON or SARIF, without those that are suppressed.

use super::FindingRecord;
use super::sarif;
use super::suppress::{self, Rule, suppressed_by};
use crate::outcome::Outcome;
use crate::output;
use ptx_emulator::sanitize::{Finding, Severity};
use std::io::Write;

/// What `sanitize` and `emulate --sanitize` take.
#[derive(clap::Args)]
pub(crate) struct ReportArgs {
    /// Findings not to report: KEY=VALUE rules (tool, kind, kernel, file, line=FILE:LINE), or a
    /// file with one rule in each line
    #[arg(long, value_name = "RULE|FILE")]
    suppress: Vec<String>,
    /// How findings are written to standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Exit status where an error is found [default: 1]
    #[arg(long, value_name = "STATUS")]
    error_exitcode: Option<u8>,
}

/// The values of `--format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// Lines for readers
    Text,
    /// Records, as docs/results.md describes them
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
}

impl ReportArgs {
    /// The rules that `--suppress` gives.
    ///
    /// # Errors
    /// The first one that is not right.
    pub(crate) fn report(&self) -> anyhow::Result<Report> {
        let rules = suppress::rules(&self.suppress)?;
        Ok(Report {
            used: vec![false; rules.len()],
            rules,
            suppressed: 0,
            errors: 0,
            warnings: 0,
            error_exitcode: self.error_exitcode,
            all: Vec::new(),
        })
    }
}

/// The findings of a command.
pub(crate) struct Report {
    rules: Vec<Rule>,
    /// By rule: whether a finding fitted it.
    used: Vec<bool>,
    suppressed: usize,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    error_exitcode: Option<u8>,
    /// All findings, those that are suppressed too, and their PTX file.
    all: Vec<(Finding, Option<String>)>,
}

impl Report {
    /// Takes the findings of a launch and gives those that are not suppressed. `ptx` is the file
    /// that the kernel is from, if it is from one.
    pub(crate) fn take(&mut self, findings: Vec<Finding>, ptx: Option<&str>) -> Vec<Finding> {
        let mut left = Vec::new();
        for finding in findings {
            self.all.push((finding.clone(), ptx.map(str::to_owned)));
            let rule = self
                .rules
                .iter()
                .position(|rule| suppressed_by(std::slice::from_ref(rule), &finding).is_some());
            if let Some(rule) = rule {
                self.used[rule] = true;
                self.suppressed += 1;
                continue;
            }
            match finding.severity {
                Severity::Warning => self.warnings += 1,
                _ => self.errors += 1,
            }
            left.push(finding);
        }
        left
    }

    /// Findings that are not suppressed.
    pub(crate) fn count(&self) -> usize {
        self.errors + self.warnings
    }

    /// What was suppressed, and which rules were of no use.
    pub(crate) fn write_suppressed(&self, human: &mut impl Write) -> std::io::Result<()> {
        if self.suppressed > 0 {
            writeln!(
                human,
                "{} suppressed",
                crate::units::count(self.suppressed, "finding")
            )?;
        }
        for (rule, _) in self
            .rules
            .iter()
            .zip(&self.used)
            .filter(|(_, used)| !**used)
        {
            writeln!(output::stderr(), "note: no finding fits `{}`", rule.text)?;
        }
        Ok(())
    }

    /// The log of all findings.
    pub(crate) fn sarif(&self) -> anyhow::Result<Vec<u8>> {
        let results = self.all.iter().map(|(finding, ptx)| sarif::Result {
            finding,
            suppressed: suppressed_by(&self.rules, finding),
            ptx: ptx.as_deref(),
        });
        let log = sarif::log(&results.collect::<Vec<_>>());
        let mut text = serde_json::to_vec_pretty(&log)?;
        text.push(b'\n');
        Ok(text)
    }

    /// What the findings come to: warnings alone are no failure.
    pub(crate) fn outcome(&self) -> Outcome {
        match (self.errors, self.error_exitcode) {
            (0, _) => Outcome::Done,
            (_, Some(status)) => Outcome::Program(status),
            (_, None) => Outcome::ChecksFailed,
        }
    }
}

/// Findings as records.
pub(crate) fn records(findings: Vec<Finding>) -> Vec<FindingRecord> {
    findings.into_iter().map(FindingRecord::from).collect()
}
