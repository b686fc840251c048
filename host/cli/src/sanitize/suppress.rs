//! Findings that are known and not reported again: rules of `--suppress`.

use anyhow::{Context, bail};
use ptx_emulator::sanitize::{Finding, Site, Tool};
use wildmatch::WildMatch;

/// A rule: a finding that fits all of its parts is suppressed.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// The text, as it was given.
    pub(crate) text: String,
    tool: Option<Tool>,
    kind: Option<String>,
    kernel: Option<WildMatch>,
    file: Option<String>,
    line: Option<u32>,
}

impl Rule {
    /// A rule of words `KEY=VALUE`.
    fn parse(text: &str) -> anyhow::Result<Rule> {
        let mut rule = Rule {
            text: text.trim().to_owned(),
            tool: None,
            kind: None,
            kernel: None,
            file: None,
            line: None,
        };
        let words = text.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let mut is_empty = true;
        for word in words {
            is_empty = false;
            match word.split_once('=') {
                Some(("tool", name)) => {
                    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
                    let names = Tool::ALL.map(Tool::name).join(", ");
                    let tool = tool.with_context(|| format!("{name:?} is none of {names}"))?;
                    rule.tool = Some(tool);
                }
                Some(("kind", name)) => rule.kind = Some(name.to_owned()),
                Some(("kernel", pattern)) => rule.kernel = Some(WildMatch::new(pattern)),
                Some(("line", place)) => {
                    let parts = place.rsplit_once(':');
                    let parts = parts.and_then(|(file, line)| Some((file, line.parse().ok()?)));
                    let Some((file, line)) = parts else {
                        bail!("{place:?} is no line: write FILE:LINE");
                    };
                    rule.file = Some(file.to_owned());
                    rule.line = Some(line);
                }
                Some(("file", file)) => rule.file = Some(file.to_owned()),
                _ => bail!(
                    "{word:?} is no rule: write tool=, kind=, kernel=, file= or line=FILE:LINE"
                ),
            }
        }
        if is_empty {
            bail!("a rule needs tool=, kind=, kernel=, file= or line=FILE:LINE");
        }
        Ok(rule)
    }

    /// Whether a finding fits all parts of the rule.
    fn fits(&self, finding: &Finding) -> bool {
        let is_kind = |kind: &String| *kind == kind_of(finding);
        self.tool.is_none_or(|tool| tool == finding.tool())
            && self.kind.as_ref().is_none_or(is_kind)
            && self
                .kernel
                .as_ref()
                .is_none_or(|kernel| kernel.matches(&finding.kernel))
            && (self.file.is_none() || self.fits_place(finding))
    }

    fn fits_place(&self, finding: &Finding) -> bool {
        let Some(file) = &self.file else {
            return true;
        };
        let places = |site: &Site| [site.place.clone(), site.inlined.clone()];
        let first = places(&finding.first).into_iter();
        let second = finding.second.iter().flat_map(places);
        first.chain(second).flatten().any(|place| {
            let behind = place.file.strip_suffix(file.as_str());
            let is_file = behind.is_some_and(|before| {
                before.is_empty() || before.ends_with('/') || before.ends_with('\\')
            });
            is_file && self.line.is_none_or(|line| line == place.line)
        })
    }
}

/// The kind of a finding, as JSON has it.
pub(crate) fn kind_of(finding: &Finding) -> String {
    let kind = serde_json::to_value(finding.problem).ok();
    let kind = kind.and_then(|kind| Some(kind.as_str()?.to_owned()));
    kind.unwrap_or_default()
}

/// The rules of `--suppress`, each of which is a rule, or a file that has one in each line.
pub(crate) fn rules(given: &[String]) -> anyhow::Result<Vec<Rule>> {
    let mut rules = Vec::new();
    for text in given {
        if text.contains('=') {
            rules.push(Rule::parse(text).with_context(|| format!("--suppress {text}"))?);
            continue;
        }
        let lines = std::fs::read_to_string(text)
            .with_context(|| format!("--suppress {text}: no rule, and cannot be read as a file"))?;
        for (line, number) in lines.lines().zip(1..) {
            let line = line.split('#').next().unwrap_or_default();
            if !line.trim().is_empty() {
                let rule = Rule::parse(line);
                rules.push(rule.with_context(|| format!("{text}, line {number}"))?);
            }
        }
    }
    Ok(rules)
}

/// The first rule that a finding fits.
pub(crate) fn suppressed_by<'r>(rules: &'r [Rule], finding: &Finding) -> Option<&'r Rule> {
    rules.iter().find(|rule| rule.fits(finding))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rule_is_refused_with_a_reason() {
        for (text, reason) in [
            ("kinds=race", "\"kinds=race\" is no rule"),
            ("tool=lint", "\"lint\" is none of memcheck"),
            ("line=a.cu", "\"a.cu\" is no line"),
            ("line=a.cu:x", "\"a.cu:x\" is no line"),
            ("kernel=a race", "\"race\" is no rule"),
        ] {
            let error = format!("{:#}", rules(&[text.to_owned()]).unwrap_err());
            assert!(error.contains(reason), "{text}: {error}");
        }
        let error = format!("{:#}", rules(&["no such file".to_owned()]).unwrap_err());
        assert!(error.contains("cannot be read as a file"), "{error}");
    }
}
