//! The door itself: each call of the port is one piece of blocking work off the async threads.

mod settings;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::{ContainerId, ContainerName, Fail, PodUid};
use agent_loops::ports::{
    ContainerInstance, Host, LogOwner, PreparedContainer, PreparedPod, References, WantedPod,
};
use async_trait::async_trait;
use base_daemon::Chain;
use rustix::fs::{FlockOperation, flock};

use crate::cgroup::Tree;
use crate::layout::{Layout, make_folder, make_log_folder};
use crate::logs;
use crate::pod;
use crate::user_namespace::UserNamespaces;
use crate::volume::{self, Making};

pub use settings::{HostSettings, OpenError};

/// Where log collectors look for links, if logs are where they expect them.
const LOG_LINKS: &str = "/var/log/containers";
const STOCK_LOGS: &str = "/var/log/pods";
const MOUNT_PROGRAM: &str = "mount";

/// This host.
#[derive(Clone, Debug)]
pub struct LocalHost {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    settings: HostSettings,
    layout: Layout,
    tree: Tree,
    user_namespaces: UserNamespaces,
    /// Folder for links to logs, if there are any.
    links: Option<PathBuf>,
    /// Mounts file systems of other machines; looked for in `PATH`.
    mount_program: PathBuf,
}

impl LocalHost {
    /// Makes the folders and cgroups that all pods share.
    pub fn open(settings: HostSettings, tree: Tree) -> Result<Self, OpenError> {
        let layout = Layout::new(settings.root.clone(), settings.pod_logs.clone());
        layout.make_shared().map_err(|source| OpenError::Folders {
            root: settings.root.clone(),
            source,
        })?;
        tree.start()?;
        let links = (settings.pod_logs == Path::new(STOCK_LOGS)).then(|| LOG_LINKS.into());
        Ok(Self {
            inner: Arc::new(Inner {
                user_namespaces: UserNamespaces::new(layout.pods(), settings.user_namespaces),
                settings,
                layout,
                tree,
                links,
                mount_program: MOUNT_PROGRAM.into(),
            }),
        })
    }

    /// Runs blocking work. A panic in it is a failure of that call alone.
    async fn work<T: Send + 'static>(
        &self,
        reason: &'static str,
        work: impl FnOnce(&Inner) -> Result<T, Fail> + Send + 'static,
    ) -> Result<T, Fail> {
        let inner = Arc::clone(&self.inner);
        let outcome = tokio::task::spawn_blocking(move || work(&inner)).await;
        outcome.unwrap_or_else(|error| {
            Err(Fail::retry(reason, format!("host work broke off: {error}")))
        })
    }
}

#[async_trait]
impl Host for LocalHost {
    async fn prepare_pod(
        &self,
        pod: &WantedPod,
        references: &Arc<References>,
    ) -> Result<PreparedPod, Fail> {
        let (pod, references) = (pod.clone(), Arc::clone(references));
        self.work("FailedMount", move |inner| {
            inner.prepare_pod(&pod, &references)
        })
        .await
    }

    async fn prepare_container(
        &self,
        instance: ContainerInstance<'_>,
    ) -> Result<PreparedContainer, Fail> {
        let (pod, container) = (instance.pod.clone(), instance.container.clone());
        let (prepared, ips) = (instance.prepared.clone(), instance.ips.to_vec());
        let (references, attempt) = (Arc::clone(instance.references), instance.attempt);
        self.work(CONFIG, move |inner| {
            inner.prepare_container(ContainerInstance {
                pod: &pod,
                prepared: &prepared,
                container: &container,
                attempt,
                ips: &ips,
                references: &references,
            })
        })
        .await
    }

    async fn clean_pod(&self, uid: &PodUid) -> Result<(), Fail> {
        let uid = uid.clone();
        self.work(CLEAN, move |inner| inner.clean_pod(&uid)).await
    }

    async fn leftovers(&self) -> Result<BTreeSet<PodUid>, Fail> {
        self.work(CLEAN, |inner| inner.leftovers()).await
    }

    async fn termination_message(
        &self,
        pod: &WantedPod,
        container: &ContainerName,
        attempt: u32,
        failed: bool,
    ) -> Result<String, Fail> {
        let (pod, container) = (pod.clone(), container.clone());
        self.work(MESSAGE, move |inner| {
            inner.termination_message(&pod, &container, attempt, failed)
        })
        .await
    }

    async fn remove_logs(
        &self,
        pod: &LogOwner,
        instance: Option<(&ContainerName, u32)>,
    ) -> Result<(), Fail> {
        let pod = pod.clone();
        let instance = instance.map(|(container, attempt)| (container.clone(), attempt));
        self.work(LOGS, move |inner| inner.remove_logs(&pod, instance))
            .await
    }

    async fn link_log(
        &self,
        pod: &LogOwner,
        container: &ContainerName,
        attempt: u32,
        id: &ContainerId,
    ) -> Result<(), Fail> {
        // Without collectors there is nothing to do, and no thread to do it on.
        let Some(folder) = self.inner.links.clone() else {
            return Ok(());
        };
        let (pod, container, id) = (pod.clone(), container.clone(), id.clone());
        self.work("FailedLogLink", move |inner| {
            let log = inner.layout.log(&pod, &container, attempt);
            logs::link(&folder, &pod, &container, &id, &log)
                .map_err(|error| Fail::retry("FailedLogLink", format!("link to {log:?}: {error}")))
        })
        .await
    }

    async fn rotate_log(
        &self,
        pod: &LogOwner,
        container: &ContainerName,
        attempt: u32,
    ) -> Result<bool, Fail> {
        let (pod, container) = (pod.clone(), container.clone());
        self.work(LOGS, move |inner| {
            let log = inner.layout.log(&pod, &container, attempt);
            logs::rotate(&log, inner.settings.logs)
                .map_err(|error| Fail::retry(LOGS, format!("log {}: {error}", log.display())))
        })
        .await
    }
}

/// Reasons as the stock kubelet shows them, where it has one.
const CONFIG: &str = "CreateContainerConfigError";
const CLEAN: &str = "FailedCleanUp";
const MESSAGE: &str = "FailedTerminationMessage";
const LOGS: &str = "FailedLogMaintenance";

impl Inner {
    fn prepare_pod(
        &self,
        wanted: &WantedPod,
        references: &References,
    ) -> Result<PreparedPod, Fail> {
        let (uid, pod) = (&wanted.want.uid, &*wanted.manifest);
        let log_directory = self.layout.pod_logs(&owner(wanted));
        let _only = self.only_one(uid)?;
        make_log_folder(&log_directory).map_err(no_folder(&log_directory))?;
        let cgroup_parent = self
            .tree
            .prepare(uid, pod)
            .map_err(|error| error.fail("FailedCreatePodContainer"))?;
        let own_users = pod
            .spec
            .as_ref()
            .is_some_and(|spec| spec.host_users == Some(false));
        let user_namespace = own_users.then(|| self.user_namespaces.of_pod(&self.layout.pod(uid)));
        let user_namespace = user_namespace.transpose().map_err(|error| {
            let message = format!("user namespace: {}", Chain(&error));
            Fail::retry("FailedCreatePodContainer", message)
        })?;
        let making = Making {
            layout: &self.layout,
            tree: &self.tree,
            uid,
            pod,
            references,
            mount_program: &self.mount_program,
        };
        let volumes = volume::make_all(making).map_err(|error| error.fail("FailedMount"))?;
        let resolv_conf = &self.settings.resolv_conf;
        let resolver = pod::resolver(resolv_conf).map_err(|error| {
            let message = format!(
                "resolvConf {} cannot be read: {error}",
                resolv_conf.display()
            );
            Fail::retry("DNSConfigForming", message)
        })?;
        Ok(PreparedPod {
            log_directory,
            cgroup_parent,
            volumes: volumes.paths,
            resolver,
            stale: volumes.stale,
            user_namespace,
        })
    }

    fn prepare_container(
        &self,
        instance: ContainerInstance<'_>,
    ) -> Result<PreparedContainer, Fail> {
        let ContainerInstance {
            pod: wanted,
            prepared,
            container: name,
            attempt,
            ips,
            references,
        } = instance;
        let pod = &*wanted.manifest;
        let container = pod::container(pod, name)
            .ok_or_else(|| Fail::permanent(CONFIG, format!("the pod has no container {name}")))?;
        let container = &*container;
        let _only = self.only_one(&wanted.want.uid)?;
        let logs = self.layout.container_logs(&owner(wanted), name);
        make_log_folder(&logs)
            .map_err(|error| Fail::retry(CONFIG, format!("{}: {error}", logs.display())))?;
        let preparing = pod::Preparing {
            layout: &self.layout,
            tree: &self.tree,
            cluster_domain: &self.settings.cluster_domain,
            uid: &wanted.want.uid,
            pod,
            prepared,
            container,
            attempt,
            ips,
            references,
        };
        let mounts = pod::container_mounts(preparing).map_err(|error| error.fail(CONFIG))?;
        Ok(PreparedContainer {
            mounts,
            file_values: pod::file_values(container, prepared),
        })
    }

    /// Makes the pod's folder and holds a lock on it. Containers of a pod are prepared side by side, and
    /// each may bring the pod's volumes up to date: two at once would take each other's files away.
    fn only_one(&self, uid: &PodUid) -> Result<File, Fail> {
        let path = self.layout.pod(uid);
        make_folder(&path).map_err(no_folder(&path))?;
        let held = || -> io::Result<File> {
            let folder = File::open(&path)?;
            flock(&folder, FlockOperation::LockExclusive)?;
            Ok(folder)
        };
        held().map_err(no_folder(&path))
    }

    fn clean_pod(&self, uid: &PodUid) -> Result<(), Fail> {
        if !is_one_name(uid.as_str()) {
            return Err(Fail::permanent(CLEAN, format!("{uid:?} is no pod UID")));
        }
        volume::remove_tree(&self.layout.pods(), uid.as_str())
            .map_err(|error| error.fail(CLEAN))?;
        self.tree.remove(uid).map_err(|error| error.fail(CLEAN))
    }

    fn leftovers(&self) -> Result<BTreeSet<PodUid>, Fail> {
        let folder = self.layout.pods();
        let failed = |error| Fail::retry(CLEAN, format!("{}: {error}", folder.display()));
        let mut uids = self.tree.pods().map_err(|error| error.fail(CLEAN))?;
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                uids.insert(PodUid::new(entry.file_name().to_string_lossy()));
            }
        }
        Ok(uids)
    }

    fn termination_message(
        &self,
        wanted: &WantedPod,
        name: &ContainerName,
        attempt: u32,
        failed: bool,
    ) -> Result<String, Fail> {
        let pod = &*wanted.manifest;
        let policy = pod::container(pod, name)
            .and_then(|container| container.termination_message_policy.clone());
        let fall_back = failed && policy.as_deref() == Some("FallbackToLogsOnError");
        let log = fall_back.then(|| self.layout.log(&owner(wanted), name, attempt));
        let folder = self.layout.container(&wanted.want.uid, name);
        pod::termination_message(&folder, attempt, pod, log.as_deref())
            .map_err(|error| Fail::retry(MESSAGE, format!("{}: {error}", folder.display())))
    }

    fn remove_logs(
        &self,
        owner: &LogOwner,
        instance: Option<(ContainerName, u32)>,
    ) -> Result<(), Fail> {
        let removed = || -> io::Result<()> {
            match &instance {
                Some((container, attempt)) => {
                    logs::remove_instance(&self.layout.log(owner, container, *attempt))?;
                    let folder = self.layout.container(&owner.uid, container);
                    pod::remove_termination_file(&folder, *attempt)?;
                }
                None => logs::remove_pod(&self.layout.pod_logs(owner))?,
            }
            match &self.links {
                Some(folder) => logs::remove_dangling(folder, owner),
                None => Ok(()),
            }
        };
        let folder = self.layout.pod_logs(owner);
        removed().map_err(|error| Fail::retry(LOGS, format!("{}: {error}", folder.display())))
    }
}

fn no_folder(path: &Path) -> impl FnOnce(io::Error) -> Fail {
    let path = path.display().to_string();
    move |error| Fail::retry("FailedMakePodDataDirectories", format!("{path}: {error}"))
}

fn owner(wanted: &WantedPod) -> LogOwner {
    let name = &wanted.want.name;
    LogOwner {
        namespace: name.namespace.to_string(),
        name: name.name.to_string(),
        uid: wanted.want.uid.clone(),
    }
}

/// A UID comes from a label of the runtime here, so it is not taken for a path without a look.
fn is_one_name(uid: &str) -> bool {
    !uid.is_empty() && uid != "." && uid != ".." && !uid.contains(['/', '\0'])
}

#[cfg(test)]
mod tests;
