//! Checks configuration and manifests as a start would, and starts nothing.

use std::error::Error;
use std::fmt;
use std::path::Path;

use crate::configuration::{self, ConfigurationError, KubeletConfiguration, Layers};
use crate::files;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It would not be used, or the agent would not start.
    Error,
    /// It would be used, maybe not as meant.
    Warning,
}

/// One thing to know about a configuration or a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// File or field.
    pub subject: String,
    /// What is wrong and what is allowed.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}: {}", self.subject, self.message)
    }
}

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Validation {
    /// The configuration, if it can be used.
    pub configuration: Option<KubeletConfiguration>,
    /// What there is to know; configuration first, then manifests by path.
    pub findings: Vec<Finding>,
}

impl Validation {
    /// Whether nothing is wrong; there may be warnings.
    pub fn is_good(&self) -> bool {
        self.findings
            .iter()
            .all(|finding| finding.severity == Severity::Warning)
    }
}

/// Checks the configuration that `layers` give, and the manifests it points to for a node of that
/// name. Whether the node is large enough for the pods is not part of it.
pub fn validate(layers: &Layers, node: &str) -> Validation {
    let loaded = match configuration::load(layers) {
        Ok(loaded) => loaded,
        Err(error) => {
            let findings = configuration_errors(layers, &error);
            return Validation {
                configuration: None,
                findings,
            };
        }
    };
    let subject = subject(layers);
    let warning = |message| finding(Severity::Warning, &subject, message);
    let mut findings: Vec<Finding> = loaded.warnings.into_iter().map(warning).collect();
    let path = &loaded.configuration.pods.static_pod_path;
    if !path.is_empty() {
        findings.extend(manifests(Path::new(path), node));
    }
    Validation {
        configuration: Some(loaded.configuration),
        findings,
    }
}

fn configuration_errors(layers: &Layers, error: &ConfigurationError) -> Vec<Finding> {
    match error {
        ConfigurationError::Values(problems) => problems
            .iter()
            .map(|problem| finding(Severity::Error, &problem.field, problem.message.clone()))
            .collect(),
        other => {
            let mut message = other.to_string();
            if let Some(source) = other.source() {
                message.push_str(&format!(": {source}"));
            }
            vec![finding(Severity::Error, &subject(layers), message)]
        }
    }
}

fn manifests(path: &Path, node: &str) -> Vec<Finding> {
    let remarks = match files::look(path, node) {
        Ok(remarks) => remarks,
        Err(error) => {
            let message = format!("it cannot be read: {error}");
            return vec![finding(
                Severity::Error,
                &path.display().to_string(),
                message,
            )];
        }
    };
    let mut findings = Vec::new();
    for remark in remarks {
        let subject = remark.path.display().to_string();
        let error = remark
            .error
            .into_iter()
            .map(|message| (Severity::Error, message));
        let warnings = remark
            .warnings
            .into_iter()
            .map(|message| (Severity::Warning, message));
        let all = error.chain(warnings);
        findings.extend(all.map(|(severity, message)| finding(severity, &subject, message)));
    }
    findings
}

fn subject(layers: &Layers) -> String {
    layers
        .file
        .as_ref()
        .map_or("flags".to_owned(), |file| file.display().to_string())
}

fn finding(severity: Severity, subject: &str, message: String) -> Finding {
    Finding {
        severity,
        subject: subject.to_owned(),
        message,
    }
}

#[cfg(test)]
mod tests;
