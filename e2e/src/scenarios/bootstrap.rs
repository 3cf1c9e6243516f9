//! From a bootstrap token to a rotated certificate. The node joins by the token, works without it, and renews its
//! certificate, which lasts for less than a minute here, while a pod runs and heartbeats go on. Its serving certificate
//! is the cluster's as soon as somebody approves it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{
    CSR, Cluster, ClusterSetup, Component, HOSTNAME, Join, LEASE, NODE, POD, SECRET, User, api_pod,
    condition, staying_containers, until,
};
use serde_json::{Value, json};

mod serving;

/// How long certificates last. Kubernetes 1.37 renews them after 70 to 90 % of it, which leaves 5 s.
const LIFETIME: Duration = Duration::from_secs(50);
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const TOKEN_USER: &str = "system:bootstrap:e2etok";
const NODE_USER: &str = "system:node:node";
const HEARTBEAT: &str = "kube-node-lease/node";
/// The agent asks for its next certificate after nine tenths of the first one's life, and needs some time for it.
const RENEWAL_LIMIT: Duration = Duration::from_secs(70);

pub(super) async fn run() -> Result<()> {
    let setup = ClusterSetup {
        join: Join::Bootstrap,
        kubelet: json!({
            "nodeLeaseDurationSeconds": 8,
            "serverTLSBootstrap": true,
            "tlsCertFile": null,
            "tlsPrivateKeyFile": null,
        }),
        flags: vec![(
            Component::ControllerManager,
            format!("--cluster-signing-duration={}s", LIFETIME.as_secs()),
        )],
        ..ClusterSetup::plain()?
    };
    let mut cluster = Cluster::start(setup).await?;
    let joined = Instant::now();
    let first = requested(&cluster, TOKEN_USER).await?;
    ensure!(first == 1, "{first} requests by the token");
    let certificate = Certificate::current(&cluster)?;
    certificate.is_well_kept()?;
    kubeconfig_is_complete(&cluster).await?;
    token_is_dispensable(&cluster).await?;
    let before = cluster.node.cri().running("stays", "main").await?.id;
    serving::is_approved(&cluster).await?;

    let next = rotated(&cluster, &certificate, joined).await?;
    let after = cluster.node.cri().running("stays", "main").await?.id;
    ensure!(before == after, "the pod's container is another one");
    restarted(&mut cluster, &next).await?;
    ensure!(requested(&cluster, TOKEN_USER).await? == 1);
    cluster.finish().await
}

/// The file that `kubelet-client-current.pem` leads to.
struct Certificate {
    link: PathBuf,
    file: PathBuf,
    text: String,
}

impl Certificate {
    fn current(cluster: &Cluster) -> Result<Certificate> {
        Certificate::read(&pki(cluster).join("kubelet-client-current.pem"))
    }

    fn read(link: &Path) -> Result<Certificate> {
        let file = fs::canonicalize(link).with_context(|| format!("{}", link.display()))?;
        let text = fs::read_to_string(&file)?;
        let link = link.to_owned();
        Ok(Certificate { link, file, text })
    }

    /// Certificate and key in one file that only root may read, beside the link to it.
    fn is_well_kept(&self) -> Result<()> {
        let about = fs::symlink_metadata(&self.link)?;
        ensure!(about.is_symlink(), "{} is not a link", self.link.display());
        let about = fs::metadata(&self.file)?;
        let mode = about.permissions().mode() & 0o7777;
        ensure!(mode == 0o600 && about.uid() == 0, "its mode is {mode:o}");
        let name = self
            .file
            .file_name()
            .context("no name")?
            .to_string_lossy()
            .into_owned();
        let link = self
            .link
            .file_name()
            .context("no name")?
            .to_string_lossy()
            .into_owned();
        let stem = link.trim_end_matches("current.pem");
        ensure!(
            name.starts_with(stem) && name.ends_with(".pem"),
            "its name is {name}"
        );
        ensure!(
            self.file.parent()
                == self
                    .link
                    .parent()
                    .map(fs::canonicalize)
                    .transpose()?
                    .as_deref()
        );
        let at = |word: &str| self.text.find(word);
        let certificate = at("-----BEGIN CERTIFICATE-----").context("no certificate")?;
        let key = at("PRIVATE KEY-----").context("no key")?;
        ensure!(certificate < key, "the key stands first");
        Ok(())
    }
}

fn pki(cluster: &Cluster) -> PathBuf {
    cluster.node.footprint().data_folder().join("pki")
}

/// How many requests of the agent for a client certificate there are by this user; all of them are approved and signed.
async fn requested(cluster: &Cluster, user: &str) -> Result<usize> {
    let requests = cluster.objects().list(CSR, "").await?;
    let ours = |request: &&Value| {
        request["spec"]["signerName"] == CLIENT_SIGNER && request["spec"]["username"] == user
    };
    let ours: Vec<&Value> = requests.iter().filter(ours).collect();
    for request in &ours {
        ensure!(request["status"]["certificate"].is_string(), "{request}");
        condition(request, "Approved", "True")?;
        let mut usages: Vec<_> = request["spec"]["usages"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        usages.sort_by_key(Value::to_string);
        ensure!(usages == ["client auth", "digital signature"], "{usages:?}");
    }
    Ok(ours.len())
}

/// The kubeconfig that the agent wrote leads to the certificate, says nothing of the token, and is the node's.
async fn kubeconfig_is_complete(cluster: &Cluster) -> Result<()> {
    let path = cluster.node.footprint().data_folder().join("kubelet.conf");
    let mode = fs::metadata(&path)?.permissions().mode() & 0o7777;
    ensure!(mode == 0o600, "the kubeconfig's mode is {mode:o}");
    let node = cluster.kubectl.with_kubeconfig(&path);
    let config = node.json(&["config", "view", "--raw"]).await?;
    let given = cluster
        .kubectl
        .with_kubeconfig(&cluster.plane.kubeconfig(User::Bootstrap));
    let given = given.json(&["config", "view", "--raw"]).await?;
    let here = |config: &Value| config["clusters"][0]["cluster"].clone();
    for field in ["server", "certificate-authority-data"] {
        ensure!(
            here(&config)[field] == here(&given)[field],
            "{field}: {config}"
        );
    }
    let user = &config["users"][0]["user"];
    let current = pki(cluster)
        .join("kubelet-client-current.pem")
        .display()
        .to_string();
    ensure!(
        *user == json!({ "client-certificate": current, "client-key": current }),
        "the user is {user}"
    );
    let context = &config["contexts"][0];
    ensure!(context["name"] == config["current-context"], "{config}");
    ensure!(
        context["context"]["user"] == config["users"][0]["name"],
        "{config}"
    );
    let me = node.json(&["auth", "whoami"]).await?;
    let me = &me["status"]["userInfo"];
    ensure!(me["username"] == NODE_USER, "{me}");
    ensure!(
        me["groups"].to_string().contains("\"system:nodes\""),
        "{me}"
    );
    Ok(())
}

/// The token is deleted, and its kubeconfig as well; a pod starts all the same.
async fn token_is_dispensable(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    objects
        .delete(SECRET, "kube-system/bootstrap-token-e2etok")
        .await?;
    let file = cluster.plane.kubeconfig(User::Bootstrap);
    let token = cluster.kubectl.with_kubeconfig(&file);
    until("the end of the token", RENEWAL_LIMIT, async || {
        let output = token.output(&["auth", "whoami"], "").await?;
        ensure!(!output.status.success(), "the token is still good");
        Ok(())
    })
    .await?;
    let pod = api_pod("stays", json!({ "containers": staying_containers() }));
    objects.apply(&pod).await?;
    objects.ready("stays").await.map(drop)
}

/// Waits for the next certificate and until the first one has run out. Meanwhile no renewal of the lease is late, and
/// the node stays Ready.
async fn rotated(cluster: &Cluster, first: &Certificate, joined: Instant) -> Result<Certificate> {
    let link = first.link.clone();
    let objects = cluster.objects().within(RENEWAL_LIMIT + LIFETIME);
    let waiting = until("the next certificate", RENEWAL_LIMIT, async || {
        let current = Certificate::read(&link)?;
        ensure!(current.file != first.file, "it is the first one");
        Ok(current)
    });
    let mut renewed = (Value::Null, Instant::now());
    let mut longest = Duration::ZERO;
    let beating = objects.until(LEASE, HEARTBEAT, |lease| {
        let at = &lease["spec"]["renewTime"];
        if *at != renewed.0 {
            longest = longest.max(renewed.1.elapsed());
            renewed = (at.clone(), Instant::now());
        }
        // The first certificate was there before the node was.
        ensure!(
            joined.elapsed() > LIFETIME,
            "the first certificate is still good"
        );
        Ok(())
    });
    let (next, beaten) = tokio::join!(waiting, beating);
    beaten?;
    let next = next?;
    next.is_well_kept()?;
    ensure!(next.text != first.text, "it is the same certificate");
    ensure!(
        requested(cluster, NODE_USER).await? >= 1,
        "nobody asked for it"
    );
    ensure!(
        longest < Duration::from_secs(8),
        "the lease ran out: {longest:?}"
    );
    let node = objects.get(NODE, HOSTNAME).await?;
    condition(&node, "Ready", "True")?;
    let pod = objects.get(POD, "stays").await?;
    condition(&pod, "Ready", "True")?;
    Ok(next)
}

/// The agent starts with the certificate that it got last, without any token.
async fn restarted(cluster: &mut Cluster, last: &Certificate) -> Result<()> {
    fs::remove_file(cluster.plane.kubeconfig(User::Bootstrap))?;
    let before = cluster.node.cri().running("stays", "main").await?.id;
    cluster.node.agent.stop().await?;
    let lease = cluster.objects().get(LEASE, HEARTBEAT).await?;
    cluster.node.start_agent().await?;
    cluster
        .objects()
        .until(LEASE, HEARTBEAT, |new| {
            ensure!(
                new["spec"]["renewTime"] != lease["spec"]["renewTime"],
                "no heartbeat"
            );
            Ok(())
        })
        .await?;
    // It may have rotated once more, but not because of the start.
    let now = Certificate::current(cluster)?;
    ensure!(now.link == last.link);
    now.is_well_kept()?;
    let pod = api_pod("late", json!({ "containers": staying_containers() }));
    cluster.objects().apply(&pod).await?;
    cluster.objects().ready("late").await?;
    let after = cluster.node.cri().running("stays", "main").await?.id;
    ensure!(before == after, "the pod's container is another one");
    Ok(())
}
