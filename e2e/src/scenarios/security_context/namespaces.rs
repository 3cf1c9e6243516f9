//! Namespaces that a pod's containers share with each other or with the node.

use anyhow::Result;
use e2e::{STAY, container};
use serde_json::json;

use super::Look;

pub(super) fn looks() -> Result<Vec<Look>> {
    let ipc = std::fs::read_link("/proc/self/ns/ipc")?;
    let own = std::process::id();
    let name = std::fs::read_to_string("/proc/self/comm")?;
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy();
    let partner = json!([container("partner", &format!("MARK=1; {STAY}"), json!({}))]);
    // The first process is the sandbox's, and the partner's is seen.
    let shared = "until grep -qa 'MARK=[1];' /proc/[0-9]*/cmdline 2>/dev/null; do sleep 0.1; done; \
                  cat /proc/1/comm";
    Ok(vec![
        Look::new(
            "shared-processes",
            shared,
            json!({}),
            json!({ "shareProcessNamespace": true, "containers": partner }),
            "pause\n",
        ),
        Look::new(
            "own-processes",
            "cat /proc/1/comm; ls -d /proc/[0-9]* | wc -l",
            json!({}),
            json!({}),
            "sh\n3\n",
        ),
        Look::new(
            "host-processes",
            &format!("cat /proc/{own}/comm"),
            json!({}),
            json!({ "hostPID": true }),
            &name,
        ),
        Look::new(
            "host-ipc",
            "readlink /proc/self/ns/ipc",
            json!({}),
            json!({ "hostIPC": true }),
            &format!("{}\n", ipc.display()),
        ),
        Look::new(
            "own-ipc",
            &format!(
                "test $(readlink /proc/self/ns/ipc) != '{}' && echo another",
                ipc.display()
            ),
            json!({}),
            json!({}),
            "another\n",
        ),
        Look::new(
            "host-network",
            "ip -4 -o address show uplink | grep -o '10[.]77[.]0[.]1/'; hostname",
            json!({}),
            json!({ "hostNetwork": true }),
            &format!("10.77.0.1/\n{machine}\n"),
        ),
    ])
}
