//! Status: here for the one question that no other call answers, whether CDI is on.

use std::collections::BTreeMap;

use agent_core::Fail;
use proto::cri::StatusRequest;
use serde_json::Value;

use crate::connection::Connection;
use crate::fail::Verb;

const VERB: Verb = Verb {
    name: "Status",
    reason: "RuntimeUnavailable",
};

/// Whether the runtime resolves CDI device names; also remembered in the connection.
pub(crate) async fn cdi(connection: &Connection) -> Result<bool, Fail> {
    let request = connection.request(StatusRequest { verbose: true });
    let response = connection
        .answer(VERB, connection.runtime().status(request))
        .await?;
    let cdi = cdi_in(&response.info);
    connection.set_cdi(Some(cdi));
    Ok(cdi)
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
