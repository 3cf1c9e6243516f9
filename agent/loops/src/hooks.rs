//! Runs lifecycle hooks of containers.

use std::time::Duration;

use agent_core::{ContainerId, Hook};

use crate::settings::Doors;

/// Runs one hook and says in words why it failed.
///
/// `limit` bounds the whole hook: a preStop hook runs inside the grace period.
pub(crate) async fn run(
    doors: &Doors,
    hook: &Hook,
    id: &ContainerId,
    ip: &str,
    limit: Duration,
) -> Result<(), String> {
    let late = || format!("it did not end within {limit:?}");
    tokio::time::timeout(limit, ask(doors, hook, id, ip, limit))
        .await
        .unwrap_or_else(|_| Err(late()))
}

async fn ask(
    doors: &Doors,
    hook: &Hook,
    id: &ContainerId,
    ip: &str,
    limit: Duration,
) -> Result<(), String> {
    match hook {
        Hook::Exec(command) => match doors.runtime.exec(id, command, limit).await {
            Ok(done) if done.code == 0 => Ok(()),
            Ok(done) => Err(format!(
                "command {:?} exited with {}: {}",
                command.join(" "),
                done.code,
                done.output.trim_end(),
            )),
            Err(fail) => Err(fail.message),
        },
        Hook::Http(get) => match doors.asker.http(get, ip, limit).await {
            // Kubernetes 1.37 does not look at the status: a hook has run when the request was answered.
            Ok(answer) if answer.answered => Ok(()),
            Ok(answer) => Err(answer.detail),
            Err(fail) => Err(fail.message),
        },
        Hook::Sleep(duration) => {
            tokio::time::sleep(*duration).await;
            Ok(())
        }
        Hook::Invalid => Err("invalid handler: a tcpSocket hook is not supported".to_owned()),
    }
}
