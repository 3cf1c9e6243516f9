//! Status: how the runtime is, what its handlers can do, and whether CDI is on.

use std::collections::BTreeMap;

use agent_core::Fail;
use agent_loops::ports::{RuntimeCondition, RuntimeConditions, RuntimeHandler};
use proto::cri::{RuntimeStatus, StatusRequest, StatusResponse};
use serde_json::Value;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Status",
    reason: "RuntimeUnavailable",
};

/// What only a verbose answer tells, and what never changes while a runtime runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Abilities {
    /// CDI device names are resolved.
    pub(crate) cdi: bool,
    /// Handlers by name.
    pub(crate) handlers: Vec<RuntimeHandler>,
    /// `None` when the runtime does not speak of its features.
    pub(crate) supplemental_groups_policy: Option<bool>,
}

/// Asks what the runtime can do; whether it resolves CDI names is also remembered in the connection.
pub(crate) async fn abilities(connection: &Connection) -> Result<Abilities, Fail> {
    let abilities = abilities_in(ask(connection, true).await?);
    connection.set_cdi(Some(abilities.cdi));
    Ok(abilities)
}

/// Asks how the runtime is.
pub(crate) async fn conditions(connection: &Connection) -> Result<RuntimeConditions, Fail> {
    let response = ask(connection, false).await?;
    Ok(conditions_in(response.status.unwrap_or_default()))
}

async fn ask(connection: &Connection, verbose: bool) -> Result<StatusResponse, Fail> {
    let request = connection.request(StatusRequest { verbose });
    connection
        .answer(VERB, connection.runtime().status(request))
        .await
}

fn abilities_in(response: StatusResponse) -> Abilities {
    let mut handlers: Vec<_> = response
        .runtime_handlers
        .into_iter()
        .map(|handler| {
            let features = handler.features.unwrap_or_default();
            RuntimeHandler {
                name: handler.name,
                recursive_read_only_mounts: features.recursive_read_only_mounts,
                user_namespaces: features.user_namespaces,
            }
        })
        .collect();
    // Runtimes keep them in a map: without an order every answer would look like a change.
    handlers.sort_by(|one, two| one.name.cmp(&two.name));
    Abilities {
        cdi: cdi_in(&response.info),
        handlers,
        supplemental_groups_policy: response
            .features
            .map(|features| features.supplemental_groups_policy),
    }
}

fn conditions_in(status: RuntimeStatus) -> RuntimeConditions {
    let mut conditions = RuntimeConditions::default();
    for condition in status.conditions {
        let place = match condition.r#type.as_str() {
            "RuntimeReady" => &mut conditions.runtime,
            "NetworkReady" => &mut conditions.network,
            _ => continue,
        };
        *place = Some(RuntimeCondition {
            status: condition.status,
            reason: condition.reason,
            message: condition.message,
        });
    }
    conditions
}

/// containerd puts its running configuration as JSON under `config`: 1.7 and 2.x say `enableCDI`. A
/// runtime that does not say so may drop CDI names silently, so it counts as one that has no CDI.
fn cdi_in(info: &BTreeMap<String, String>) -> bool {
    let config = info
        .get("config")
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let says = |key| {
        config
            .as_ref()
            .and_then(|config| config.get(key))
            .and_then(Value::as_bool)
    };
    says("enableCDI")
        .or_else(|| says("enable_cdi"))
        .unwrap_or(false)
}

#[cfg(test)]
mod tests;
