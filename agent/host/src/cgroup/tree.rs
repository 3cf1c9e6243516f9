//! The kubepods tree: `kubepods` for all pods, `burstable` and `besteffort` in it, `pod<uid>` below
//! these. Names are the stock kubelet's, since a node is taken over with pods running.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use agent_core::{PodUid, QosClass, Quantity, cpu_shares};
use base_daemon::Chain;
use k8s_openapi::api::core::v1::Pod;
use tracing::{debug, info, warn};

use super::requests::{class, pod_requests};
use super::stray;
use super::{
    Amounts, Capacity, CgroupDriver, CgroupError, CgroupSettings, Limits, capacity, convert, limits,
};

/// What huge pages of the classes are limited to: nothing that a machine could reach.
const UNBOUNDED: u64 = 1 << 62;

/// The tree on this host.
#[derive(Debug)]
pub struct Tree {
    driver: Arc<dyn CgroupDriver>,
    settings: CgroupSettings,
    capacity: Capacity,
    /// Name of the cgroup that all pods live in.
    pods: String,
    /// The limits of that cgroup are in force.
    enforced: AtomicBool,
    /// CPU requests of burstable pods: together they are the weight of `burstable`.
    burstable: Mutex<BTreeMap<PodUid, Quantity>>,
}

impl Tree {
    /// A tree that is not made yet.
    pub fn new(
        driver: Arc<dyn CgroupDriver>,
        settings: CgroupSettings,
        capacity: Capacity,
    ) -> Self {
        let pods = match settings.root.trim_matches('/') {
            "" => "kubepods".to_owned(),
            root => format!("{root}/kubepods"),
        };
        let (enforced, burstable) = (AtomicBool::default(), Mutex::default());
        Self {
            driver,
            settings,
            capacity,
            pods,
            enforced,
            burstable,
        }
    }

    /// Makes the tree, takes up the pods that are in it, and enforces what is kept for the node
    /// itself. Repeatable.
    pub fn start(&self) -> Result<(), CgroupError> {
        if !self.settings.per_qos {
            return Ok(());
        }
        self.driver.create(&self.pods)?;
        self.enforce();
        for class in [QosClass::Burstable, QosClass::BestEffort] {
            let cgroup = self.class_name(class);
            self.driver.create(&cgroup)?;
            let sizes = self.capacity.hugepages.keys();
            let limits = Limits {
                cpu_shares: (class == QosClass::BestEffort).then_some(convert::MIN_SHARES),
                hugepages: sizes.map(|size| (*size, UNBOUNDED)).collect(),
                no_memory_protection: true,
                ..Limits::default()
            };
            self.driver.set(&cgroup, &limits)?;
        }
        let found = self.burstable_pods()?;
        self.weigh(|pods| *pods = found)?;
        let settings = &self.settings;
        self.reserve(
            "system-reserved",
            &settings.system_cgroup,
            &settings.system_reserved,
        )?;
        self.reserve(
            "kube-reserved",
            &settings.kube_cgroup,
            &settings.kube_reserved,
        )?;
        info!(cgroup = %self.pods, "cgroups for pods are ready");
        Ok(())
    }

    /// Limits all pods together. cgroup v1 refuses a memory limit below what they use already; so
    /// this never stops anything, and is tried again when a pod comes or goes.
    fn enforce(&self) {
        if self.enforced.load(Ordering::Relaxed) {
            return;
        }
        match self.driver.set(&self.pods, &self.for_all_pods()) {
            Ok(()) => self.enforced.store(true, Ordering::Relaxed),
            Err(error) => {
                let error = Chain(&error);
                warn!(cgroup = %self.pods, %error, "the limit for all pods together is not in force yet");
            }
        }
    }

    /// What all pods together may use: what is not kept for the node, or everything.
    fn for_all_pods(&self) -> Limits {
        let kept = [&self.settings.system_reserved, &self.settings.kube_reserved];
        let enforced = self.settings.enforce.iter().any(|word| word == "pods");
        let reserved: &[&Amounts] = if enforced { &kept } else { &[] };
        let amount = |name: &str| self.capacity.less(name, reserved);
        let whole = |name: &str| u64::try_from(amount(name).value()).unwrap_or(0);
        let sizes = self.capacity.hugepages.keys();
        let hugepages = sizes.map(|size| (*size, whole(&capacity::hugepages_name(*size))));
        Limits {
            cpu_shares: Some(cpu_shares(amount("cpu"))),
            // A figure that could not be read limits nothing.
            memory: Some(whole("memory")).filter(|bytes| *bytes > 0),
            pids: Some(whole("pid")).filter(|count| *count > 0),
            hugepages: hugepages.collect(),
            no_memory_protection: true,
            ..Limits::default()
        }
    }

    /// Limits a cgroup of the operating system to what is reserved for it, if that is enforced.
    fn reserve(&self, word: &str, cgroup: &str, reserved: &Amounts) -> Result<(), CgroupError> {
        let listed = |word: &str| self.settings.enforce.iter().any(|item| item == word);
        let all = listed(word);
        if !all && !listed(&format!("{word}-compressible")) {
            return Ok(());
        }
        let name = cgroup.trim_matches('/');
        if !self.driver.exists(name) {
            return Err(CgroupError::Missing(cgroup.to_owned()));
        }
        let whole = |name: &str| {
            let amount = reserved.get(name).filter(|_| all)?;
            u64::try_from(amount.value())
                .ok()
                .filter(|amount| *amount > 0)
        };
        let limits = Limits {
            cpu_shares: reserved.get("cpu").map(|cpu| cpu_shares(*cpu)),
            memory: whole("memory"),
            pids: whole("pid"),
            ..Limits::default()
        };
        self.driver.set(name, &limits)
    }

    /// Makes a pod's cgroup with its limits. Gives its name as the runtime takes it as a parent.
    pub(crate) fn prepare(&self, uid: &PodUid, pod: &Pod) -> Result<String, CgroupError> {
        if !self.settings.per_qos {
            // The runtime's own default.
            return Ok(String::new());
        }
        self.enforce();
        let class = class(pod);
        let name = self.pod_name(uid, class);
        let page_sizes: Vec<u64> = self.capacity.hugepages.keys().copied().collect();
        let rules = limits::Rules {
            quota: self.settings.quota,
            period: self.settings.quota_period,
            pids: self.settings.pod_pids,
            page_sizes: &page_sizes,
        };
        self.driver.create(&name)?;
        self.driver.set(&name, &limits::of_pod(pod, rules))?;
        debug!(%uid, cgroup = %name, "cgroup of the pod is ready");
        if class == QosClass::Burstable {
            let request = pod_requests(pod).get("cpu").copied().unwrap_or_default();
            self.weigh(|pods| {
                pods.insert(uid.clone(), request);
            })?;
        }
        Ok(self.driver.runtime_name(&name))
    }

    /// Removes a pod's cgroup, of whatever class it was. Processes in it are no container's any more
    /// and are killed; one that does not end is an error that names it, and then the cgroup stays.
    pub(crate) fn remove(&self, uid: &PodUid) -> Result<(), CgroupError> {
        if !self.settings.per_qos {
            return Ok(());
        }
        for class in [
            QosClass::Guaranteed,
            QosClass::Burstable,
            QosClass::BestEffort,
        ] {
            let cgroup = self.pod_name(uid, class);
            stray::kill(|| self.driver.pids(&cgroup))?;
            let pids = self.driver.pids(&cgroup)?;
            if !pids.is_empty() {
                return Err(CgroupError::Busy { cgroup, pids });
            }
            self.driver.remove(&cgroup)?;
        }
        self.enforce();
        self.weigh(|pods| {
            pods.remove(uid);
        })
    }

    /// Pods that have a cgroup, also those that are half removed.
    pub(crate) fn pods(&self) -> Result<BTreeSet<PodUid>, CgroupError> {
        let mut uids = BTreeSet::new();
        if self.settings.per_qos {
            for class in [
                QosClass::Guaranteed,
                QosClass::Burstable,
                QosClass::BestEffort,
            ] {
                uids.extend(self.pods_of(class)?);
            }
        }
        Ok(uids)
    }

    fn pods_of(&self, class: QosClass) -> Result<impl Iterator<Item = PodUid>, CgroupError> {
        let children = self.driver.children(&self.class_name(class))?;
        let uid = |name: String| name.strip_prefix("pod").map(PodUid::new);
        Ok(children
            .into_iter()
            .filter_map(uid)
            .filter(|uid| !uid.as_str().is_empty()))
    }

    /// CPU requests of the burstable pods that are there, as near as their weight tells: an earlier
    /// agent made them, and while they run nobody prepares them again.
    fn burstable_pods(&self) -> Result<BTreeMap<PodUid, Quantity>, CgroupError> {
        let mut pods = BTreeMap::new();
        for uid in self.pods_of(QosClass::Burstable)? {
            let name = self.pod_name(&uid, QosClass::Burstable);
            // One that is half removed has no weight any more.
            if self.driver.exists(&name) {
                let shares = self.driver.cpu_shares(&name)?;
                pods.insert(uid, Quantity::milli(shares.saturating_mul(1000) / 1024));
            }
        }
        Ok(pods)
    }

    /// Most memory that a pod can use, in bytes: its own limit if it has one, else what pods have.
    pub(crate) fn memory_of(&self, pod: &Pod) -> u64 {
        let rules = limits::Rules {
            quota: false,
            period: self.settings.quota_period,
            pids: None,
            page_sizes: &[],
        };
        let node = u64::try_from(self.allocatable("memory").value()).unwrap_or(0);
        limits::of_pod(pod, rules)
            .memory
            .map_or(node, |pod| pod.min(node))
    }

    /// What of a resource is for pods.
    pub(crate) fn allocatable(&self, name: &str) -> Quantity {
        self.capacity.less(
            name,
            &[&self.settings.system_reserved, &self.settings.kube_reserved],
        )
    }

    /// Guaranteed pods are right below the cgroup of all pods.
    fn class_name(&self, class: QosClass) -> String {
        match class {
            QosClass::Guaranteed => self.pods.clone(),
            QosClass::Burstable => format!("{}/burstable", self.pods),
            QosClass::BestEffort => format!("{}/besteffort", self.pods),
        }
    }

    fn pod_name(&self, uid: &PodUid, class: QosClass) -> String {
        format!("{}/pod{uid}", self.class_name(class))
    }

    /// Changes the book of burstable pods, and the weight of their cgroup with it.
    fn weigh(
        &self,
        change: impl FnOnce(&mut BTreeMap<PodUid, Quantity>),
    ) -> Result<(), CgroupError> {
        // Held over the write, so that the last change is also the last one written.
        let mut pods = self
            .burstable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        change(&mut pods);
        let sum = pods
            .values()
            .copied()
            .fold(Quantity::default(), Quantity::plus);
        let limits = Limits {
            cpu_shares: Some(cpu_shares(sum)),
            ..Limits::default()
        };
        let name = self.class_name(QosClass::Burstable);
        // Somebody may have tidied up an empty tree.
        self.driver.create(&name)?;
        self.driver.set(&name, &limits)
    }
}

#[cfg(test)]
mod tests;
