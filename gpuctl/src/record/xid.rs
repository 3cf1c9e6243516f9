//! A row of the XID catalogue, with what the agent makes of it.

use gpu_model::{
    GpuUuid, HealthBook, HealthChange, HealthEvent, HealthState, Target, Time, XidScope,
};
use serde::Serialize;

/// One or several codes that mean the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Xid {
    pub(crate) first_code: u32,
    pub(crate) last_code: u32,
    /// The catalogue has it.
    pub(crate) known: bool,
    pub(crate) meaning: String,
    /// `application`, `ignore`, `degraded`, `reset`, `reboot` or `hardware`.
    pub(crate) class: String,
    /// How far it reaches: `instance`, where MIG is on and the event names one, or `gpu`.
    pub(crate) scope: String,
    /// What to do.
    pub(crate) advice: String,
    /// State in which the agent puts the GPU.
    pub(crate) health: String,
    /// Action that the agent asks for.
    pub(crate) action: String,
    /// How that ends; empty when there is nothing to end.
    pub(crate) clears: String,
}

impl Xid {
    /// What is known of a code.
    pub(crate) fn of(code: u32) -> Self {
        Self::from(gpu_model::Xid::of(code))
    }

    /// The whole catalogue.
    pub(crate) fn all() -> Vec<Self> {
        gpu_model::CATALOGUE
            .iter()
            .map(|row| Self::from(*row))
            .collect()
    }

    /// `79`, or `144-150`.
    pub(crate) fn codes(&self) -> String {
        match (self.first_code, self.last_code) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first}-{last}"),
        }
    }

    /// The class in words.
    pub(crate) fn class_meaning(&self) -> &'static str {
        match self.class.as_str() {
            "application" => "an application did something wrong or was hit; the GPU is fine",
            "ignore" => "worth a line in the log",
            "degraded" => "the GPU works, with less margin than it should have",
            "reset" => "the GPU is not usable before a reset",
            "reboot" => "the GPU is not usable before the node is rebooted",
            _ => "the GPU or its board needs service",
        }
    }

    /// What the agent does, in words.
    pub(crate) fn verdict(&self) -> String {
        match (self.health.as_str(), self.action.as_str()) {
            ("healthy", _) => "healthy: an event is recorded, the GPU stays in use".to_owned(),
            ("degraded", _) => "degraded: it is told, the GPU stays in use".to_owned(),
            (state, action) => {
                format!("{state}: no new container gets the GPU; it asks for: {action}")
            }
        }
    }
}

impl From<gpu_model::Xid> for Xid {
    fn from(row: gpu_model::Xid) -> Self {
        let gpu = GpuUuid::new("GPU");
        let event = HealthEvent::Xid(Target::gpu(gpu), row.first);
        let (_, changes) = HealthBook::default().apply(event, Time::default());
        let finding = changes.into_iter().find_map(|change| match change {
            HealthChange::Found(finding) => Some(finding),
            _ => None,
        });
        let state = finding
            .as_ref()
            .map_or(HealthState::Healthy, |finding| finding.state);
        Self {
            first_code: row.first,
            last_code: row.last,
            known: gpu_model::Xid::is_known(row.first),
            meaning: row.meaning.to_owned(),
            class: row.class.as_str().to_owned(),
            scope: match row.scope {
                XidScope::Instance => "instance".to_owned(),
                XidScope::Gpu => "gpu".to_owned(),
            },
            advice: row.advice.to_owned(),
            health: state.as_str().to_owned(),
            action: finding
                .as_ref()
                .map_or("none", |finding| finding.remedy.as_str())
                .to_owned(),
            clears: finding
                .map(|finding| finding.how_it_clears())
                .unwrap_or_default(),
        }
    }
}
