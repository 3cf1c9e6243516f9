//! A real registry on the node's loopback, with a password.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::footprint::MARK;
use crate::images;
use crate::node::Node;
use crate::process::Process;
use crate::wait;

const START_LIMIT: Duration = Duration::from_secs(30);

/// A registry at `Registry::HOST` that nobody may use without its user and password.
#[derive(Debug)]
pub struct Registry {
    process: Process,
    scratch: PathBuf,
}

impl Registry {
    /// How image names begin. containerd speaks HTTP without TLS to a registry on the loopback.
    pub const HOST: &str = "127.0.0.1:5000";
    /// The user.
    pub const USER: &str = "tester";
    /// The user's password, which must appear in no log.
    pub const PASSWORD: &str = "letmein";
    /// The password's bcrypt hash, of the least strength that a test can wait for.
    const HASH: &str = "$2b$04$jCRcDjmuxZ1TIAXbHMq/vOnip0Rtm4ROtnRrFxpc.VVWDdN5kn2Rm";

    /// Starts an empty one on the node.
    ///
    /// # Errors
    /// When `make setup` has not unpacked it, or it does not come up.
    pub async fn start(node: &Node) -> Result<Registry> {
        let scratch = node.scratch("registry")?;
        let passwords = scratch.join("htpasswd");
        fs::write(
            &passwords,
            format!("{}:{}\n", Registry::USER, Registry::HASH),
        )?;
        let configuration = json!({
            "version": "0.1",
            "log": { "level": "info" },
            "storage": {
                "filesystem": { "rootdirectory": scratch.join("data") },
                "delete": { "enabled": true },
            },
            "http": { "addr": Registry::HOST },
            "auth": { "htpasswd": { "realm": "e2e", "path": passwords } },
        });
        let file = scratch.join("config.yml");
        fs::write(&file, configuration.to_string())?;
        let netns = &node.containerd.how().netns;
        let mut command = netns.command(&node.bed().registry()?);
        command
            .arg("serve")
            .arg(file)
            .env(MARK, node.footprint().name());
        let log = node.log_file("registry");
        let mut process = Process::start("docker-registry", command, &log)?;
        let address = Registry::HOST.parse()?;
        wait::until("an answer of the registry", START_LIMIT, async || {
            process.alive()?;
            let said = netns.http_get(address, "/v2/").await?;
            ensure!(
                said.starts_with("HTTP/1.1 401"),
                "without a password it says {said}"
            );
            Ok(())
        })
        .await?;
        Ok(Registry { process, scratch })
    }

    /// Pushes the test image under `name` (as `team/tool:1`) with these files added (path without a slash in front, and
    /// text), and gives the whole name to pull it by. Other files make another image, under the same name if need be.
    /// The node's containerd does not keep it.
    pub fn push(&self, node: &Node, name: &str, files: &[(&str, &str)]) -> Result<String> {
        let image = format!("{}/{name}", Registry::HOST);
        let archive = images::with_files(&self.scratch, &image, files)?;
        let containerd = &node.containerd;
        containerd.ctr(&["images", "import", &archive.display().to_string()])?;
        let user = format!("{}:{}", Registry::USER, Registry::PASSWORD);
        let pushed = containerd.ctr(&["images", "push", "--plain-http", "--user", &user, &image]);
        containerd.ctr(&["images", "remove", "--sync", &image])?;
        pushed.map_err(|_| anyhow::anyhow!("ctr could not push {image}"))?;
        Ok(image)
    }

    /// A Secret of type `kubernetes.io/dockerconfigjson` with this password for the registry.
    pub fn secret(name: &str, password: &str) -> Value {
        let auth = STANDARD.encode(format!("{}:{password}", Registry::USER));
        let config = json!({ "auths": { (Registry::HOST): { "auth": auth } } });
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": name, "namespace": "default" },
            "type": "kubernetes.io/dockerconfigjson",
            "data": { ".dockerconfigjson": STANDARD.encode(config.to_string()) },
        })
    }

    /// Its access log so far: who asked for what, and how it was answered.
    pub fn log(&self, node: &Node) -> String {
        String::from_utf8_lossy(&fs::read(node.log_file("registry")).unwrap_or_default())
            .into_owned()
    }

    /// Ends it at once, as a registry that is down.
    pub fn stop(mut self) -> Result<()> {
        self.process
            .alive()
            .context("the registry was to run until now")?;
        self.process.kill();
        Ok(())
    }
}
