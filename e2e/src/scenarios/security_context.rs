//! What a container is: its user and groups, its powers, what it shares, how it is named, and what it is told in
//! /etc and in its environment. Each pod looks at itself and says what it sees in its termination message, which has
//! to be exactly what the table says.
//!
//! AppArmor and user namespaces cannot be had on every machine (no AppArmor in the kernel, a runc that cannot map the ids
//! of mounts); what becomes of pods that ask for them there stands in `bad-pods`. Unmasked /proc needs a user namespace.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, ClusterSetup, POD, api_pod, container};
use futures::future::join_all;
use serde_json::{Value, json};

mod class;
mod names;
mod namespaces;
mod powers;
mod read_only;
mod told;
mod users;

/// An image whose user is a number.
const BY_NUMBER: &str = "localhost/by-number:1";
/// An image whose user is a name.
const BY_NAME: &str = "localhost/by-name:1";

pub(super) async fn run() -> Result<()> {
    let scratch = tempfile::tempdir().context("a folder for the node's resolv.conf")?;
    let resolver = scratch.path().join("resolv.conf");
    std::fs::write(&resolver, told::RESOLVER)?;
    let setup = ClusterSetup {
        kubelet: json!({
            "resolvConf": resolver,
            "allowedUnsafeSysctls": ["net.core.somaxconn"],
        }),
        ..ClusterSetup::plain()?
    };
    let cluster = Cluster::start(setup).await?;
    let objects = cluster.objects();
    objects.apply(&told::service()).await?;
    objects.apply(&class::runtime_class()).await?;
    for (image, user) in [(BY_NUMBER, "1234"), (BY_NAME, "user")] {
        let config = json!({ "Env": ["PATH=/bin"], "User": user });
        cluster.node.containerd.add_image(image, &config)?;
    }
    powers::write_profile(&cluster)?;

    let mut looks = users::looks();
    looks.extend(powers::looks()?);
    looks.extend(namespaces::looks()?);
    looks.extend(names::looks());
    looks.extend(told::looks());
    let (outcomes, read_only, class, users) = tokio::join!(
        join_all(looks.iter().map(|look| look.hold(&cluster))),
        read_only::check(&cluster),
        class::check(&cluster),
        users::stated(&cluster),
    );
    let names = looks.iter().map(|look| look.name.as_str());
    let outcomes = names.zip(outcomes).chain([
        ("recursive read-only mounts", read_only),
        ("RuntimeClass", class),
        ("user in the status", users),
    ]);
    let wrong: Vec<String> = outcomes
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    cluster.finish().await
}

/// A pod that looks at itself, and what it sees.
struct Look {
    name: String,
    spec: Value,
    sees: String,
}

impl Look {
    /// `line` runs as the pod's container `main`, whose fields `container` adds to, as `spec` does to the pod's.
    fn new(name: &str, line: &str, more: Value, spec: Value, sees: &str) -> Look {
        let line = format!("{{ {line}; }} > /dev/termination-log 2>&1");
        let mut whole = json!({
            "restartPolicy": "Never",
            "containers": [container("main", &line, more)],
        });
        let mut added = spec;
        let others = added["containers"].take();
        if let Some(containers) = whole["containers"].as_array_mut() {
            containers.extend(others.as_array().into_iter().flatten().cloned());
        }
        if let (Some(whole), Value::Object(mut added)) = (whole.as_object_mut(), added) {
            added.remove("containers");
            whole.extend(added);
        }
        Look {
            name: name.to_owned(),
            spec: whole,
            sees: sees.to_owned(),
        }
    }

    async fn hold(&self, cluster: &Cluster) -> Result<()> {
        let objects = cluster.objects();
        objects
            .apply(&api_pod(&self.name, self.spec.clone()))
            .await?;
        let saw = objects.until(POD, &self.name, |pod| {
            let all = pod["status"]["containerStatuses"].as_array();
            let mut all = all.into_iter().flatten();
            let main = all.find(|one| one["name"] == "main").context("no status")?;
            let ended = &main["state"]["terminated"];
            ensure!(ended.is_object(), "it has not ended: {main}");
            Ok(ended["message"].as_str().unwrap_or_default().to_owned())
        });
        let saw = saw.await?;
        let sees = &self.sees;
        ensure!(saw == *sees, "it saw\n{saw}\ninstead of\n{sees}");
        Ok(())
    }
}
