#![allow(clippy::unwrap_used, clippy::expect_used)]

mod unified;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use agent_core::PodUid;
use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::Tree;
use crate::cgroup::{
    Capacity, CgroupDriver, CgroupError, CgroupSettings, CgroupVersion, detect, driver,
};
use crate::facts::is_root;
use crate::testing::skip;

/// A tree below a root cgroup of its own in the real hierarchies of cgroup v1, gone when dropped.
struct Bed {
    root: String,
    hierarchies: Vec<(String, PathBuf)>,
    driver: Arc<dyn CgroupDriver>,
}

impl Bed {
    /// `None`, and told, where this machine has no cgroup v1 that we may write.
    fn new(test: &str) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        if !is_root() {
            skip(test, "making cgroups needs root");
            return None;
        }
        let version = match detect() {
            Ok(version @ CgroupVersion::V1 { .. }) => version,
            Ok(_) => {
                skip(test, "this machine runs cgroup v2");
                return None;
            }
            Err(error) => {
                skip(test, &error.to_string());
                return None;
            }
        };
        let CgroupVersion::V1 { hierarchies } = version.clone() else {
            unreachable!()
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Some(Self {
            root: format!("gpulet-test-{}-{number}", std::process::id()),
            hierarchies: hierarchies.into_iter().collect(),
            driver: driver("cgroupfs", version, false).unwrap(),
        })
    }

    fn settings(&self) -> CgroupSettings {
        CgroupSettings {
            root: format!("/{}", self.root),
            ..CgroupSettings::default()
        }
    }

    fn tree_with(&self, settings: CgroupSettings) -> Tree {
        let capacity = Capacity {
            cpus: 4,
            memory: 8 << 30,
            pids: 1000,
            hugepages: Capacity::of_host().hugepages,
        };
        let tree = Tree::new(Arc::clone(&self.driver), settings, capacity);
        tree.start().unwrap();
        tree
    }

    fn tree(&self) -> Tree {
        self.tree_with(self.settings())
    }

    fn folder(&self, hierarchy: &str, name: &str) -> PathBuf {
        let (_, root) = self
            .hierarchies
            .iter()
            .find(|(found, _)| found == hierarchy)
            .unwrap();
        root.join(&self.root).join(name)
    }

    fn value(&self, hierarchy: &str, name: &str, file: &str) -> String {
        fs::read_to_string(self.folder(hierarchy, name).join(file))
            .unwrap()
            .trim()
            .to_owned()
    }

    /// Hierarchies in which a cgroup is.
    fn places(&self, name: &str) -> usize {
        let mut roots: Vec<&PathBuf> = self.hierarchies.iter().map(|(_, root)| root).collect();
        roots.sort();
        roots.dedup();
        roots
            .into_iter()
            .filter(|root| root.join(&self.root).join(name).is_dir())
            .count()
    }
}

impl Drop for Bed {
    /// Without the code that is tested here.
    fn drop(&mut self) {
        fn remove(folder: &Path) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    remove(&entry.path());
                }
            }
            let _ = fs::remove_dir(folder);
        }
        for (_, root) in &self.hierarchies {
            remove(&root.join(&self.root));
        }
        assert!(
            thread::panicking() || self.places("") == 0,
            "cgroups are left"
        );
    }
}

/// A process in a cgroup, ended when dropped.
struct Process(Child);

impl Process {
    fn new() -> Self {
        let mut command = Command::new("sleep");
        Self(
            command
                .arg("600")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn pod(requests: serde_json::Value, limits: serde_json::Value) -> Pod {
    let resources = json!({"requests": requests, "limits": limits});
    serde_json::from_value(json!({"spec": {"containers": [{"name": "c", "resources": resources}]}}))
        .unwrap()
}

fn burstable(cpu: &str) -> Pod {
    pod(json!({"cpu": cpu}), json!({}))
}

fn uid(text: &str) -> PodUid {
    PodUid::new(text)
}

#[test]
fn a_pod_has_its_cgroup_in_every_hierarchy() {
    let Some(bed) = Bed::new("a_pod_has_its_cgroup_in_every_hierarchy") else {
        return;
    };
    let settings = CgroupSettings {
        pod_pids: Some(77),
        ..bed.settings()
    };
    let tree = bed.tree_with(settings);
    let both = json!({"cpu": "1500m", "memory": "64Mi"});
    let parent = tree.prepare(&uid("g1"), &pod(both.clone(), both)).unwrap();
    assert_eq!(parent, format!("/{}/kubepods/podg1", bed.root));
    let name = "kubepods/podg1";
    assert_eq!(bed.places(name), bed.places(""), "not in every hierarchy");
    assert_eq!(bed.value("cpu", name, "cpu.shares"), "1536");
    assert_eq!(bed.value("cpu", name, "cpu.cfs_period_us"), "100000");
    assert_eq!(bed.value("cpu", name, "cpu.cfs_quota_us"), "150000");
    assert_eq!(
        bed.value("memory", name, "memory.limit_in_bytes"),
        (64 << 20).to_string()
    );
    assert_eq!(bed.value("pids", name, "pids.max"), "77");
    let cpus = fs::read_to_string("/sys/fs/cgroup/cpuset/cpuset.cpus").unwrap();
    assert_eq!(bed.value("cpuset", name, "cpuset.cpus"), cpus.trim());
    assert_ne!(bed.value("cpuset", name, "cpuset.mems"), "");
    // Again, as after a restart in the middle.
    fs::remove_dir(bed.folder("pids", name)).unwrap();
    let both = json!({"cpu": "1500m", "memory": "64Mi"});
    tree.prepare(&uid("g1"), &pod(both.clone(), both)).unwrap();
    assert_eq!(bed.value("pids", name, "pids.max"), "77");
    tree.remove(&uid("g1")).unwrap();
    assert_eq!(bed.places(name), 0);
    tree.remove(&uid("g1")).unwrap();
}

#[test]
fn classes_have_their_weight() {
    let Some(bed) = Bed::new("classes_have_their_weight") else {
        return;
    };
    let tree = bed.tree();
    let weight = |class: &str| bed.value("cpu", &format!("kubepods/{class}"), "cpu.shares");
    assert_eq!(
        (weight("burstable"), weight("besteffort")),
        ("2".into(), "2".into())
    );
    for (name, cpu) in [("b1", "100m"), ("b2", "1"), ("b3", "100m")] {
        let parent = tree.prepare(&uid(name), &burstable(cpu)).unwrap();
        assert_eq!(
            parent,
            format!("/{}/kubepods/burstable/pod{name}", bed.root)
        );
    }
    let parent = tree
        .prepare(&uid("e1"), &pod(json!({}), json!({})))
        .unwrap();
    assert_eq!(parent, format!("/{}/kubepods/besteffort/pode1", bed.root));
    assert_eq!(
        bed.value("cpu", "kubepods/besteffort/pode1", "cpu.shares"),
        "2"
    );
    // 1.2 CPUs together: the sum is converted, not the sum of what each was rounded to.
    assert_eq!(weight("burstable"), "1228");
    tree.remove(&uid("b2")).unwrap();
    assert_eq!(weight("burstable"), "204");
    // Another agent takes the tree over and nobody prepares its pods again.
    let tree = bed.tree();
    let taken_over: i64 = weight("burstable").parse().unwrap();
    assert!((200..=204).contains(&taken_over), "{taken_over}");
    tree.prepare(&uid("b4"), &burstable("1")).unwrap();
    let more: i64 = weight("burstable").parse().unwrap();
    assert!((1224..=1228).contains(&more), "{more}");
    let expected = ["b1", "b3", "b4", "e1"].map(uid);
    assert_eq!(tree.pods().unwrap(), BTreeSet::from(expected.clone()));
    expected.iter().for_each(|uid| tree.remove(uid).unwrap());
    assert_eq!(weight("burstable"), "2");
}

#[test]
fn all_pods_together_get_what_is_not_reserved() {
    let Some(bed) = Bed::new("all_pods_together_get_what_is_not_reserved") else {
        return;
    };
    let amounts = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(name, amount)| ((*name).to_owned(), amount.parse().unwrap()))
            .collect()
    };
    let settings = CgroupSettings {
        system_reserved: amounts(&[("cpu", "500m"), ("memory", "1Gi"), ("pid", "100")]),
        kube_reserved: amounts(&[("cpu", "500m"), ("memory", "1Gi"), ("pid", "50")]),
        ..bed.settings()
    };
    let tree = bed.tree_with(settings.clone());
    let limit = |file: &str| match file.split_once('.') {
        Some((controller, _)) => bed.value(controller, "kubepods", file),
        None => unreachable!(),
    };
    assert_eq!(limit("cpu.shares"), "3072");
    assert_eq!(limit("memory.limit_in_bytes"), (6_u64 << 30).to_string());
    assert_eq!(limit("pids.max"), "850");
    assert_eq!(tree.memory_of(&pod(json!({}), json!({}))), 6 << 30);
    assert_eq!(
        tree.memory_of(&pod(json!({}), json!({"memory": "1Gi"}))),
        1 << 30
    );
    bed.tree_with(CgroupSettings {
        enforce: vec!["none".into()],
        ..settings.clone()
    });
    assert_eq!(
        (limit("cpu.shares"), limit("pids.max")),
        ("4096".into(), "1000".into())
    );

    let name = format!("{}/system", bed.root);
    let enforce = vec!["pods".to_owned(), "system-reserved".to_owned()];
    let settings = CgroupSettings {
        enforce,
        system_cgroup: format!("/{name}"),
        ..settings
    };
    let capacity = Capacity {
        cpus: 4,
        memory: 8 << 30,
        pids: 1000,
        ..Capacity::default()
    };
    let tree = Tree::new(Arc::clone(&bed.driver), settings, capacity);
    let error = tree.start().unwrap_err();
    assert!(
        matches!(&error, CgroupError::Missing(cgroup) if cgroup.ends_with("/system")),
        "{error}"
    );
    bed.driver.create(&name).unwrap();
    tree.start().unwrap();
    assert_eq!(bed.value("cpu", "system", "cpu.shares"), "512");
    assert_eq!(
        bed.value("memory", "system", "memory.limit_in_bytes"),
        (1 << 30).to_string()
    );
    assert_eq!(bed.value("pids", "system", "pids.max"), "100");
}

#[test]
fn a_limit_below_what_pods_use_stops_nothing() {
    let Some(bed) = Bed::new("a_limit_below_what_pods_use_stops_nothing") else {
        return;
    };
    let tree = bed.tree();
    let process = Process::new();
    // A moved process does not bring its memory along, so it has to make some.
    tree.prepare(&uid("e1"), &pod(json!({}), json!({})))
        .unwrap();
    let procs = bed
        .folder("memory", "kubepods/besteffort/pode1")
        .join("cgroup.procs");
    fs::write(&procs, process.id().to_string()).unwrap();
    let script = format!(
        "echo $$ > {} && head -c 8m /dev/zero | tail -c 8m | sleep 600",
        procs.display()
    );
    let mut eater = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let used = || {
        bed.value("memory", "kubepods", "memory.usage_in_bytes")
            .parse::<u64>()
            .unwrap()
    };
    let start = Instant::now();
    while used() < 6 << 20 {
        assert!(start.elapsed().as_secs() < 30, "no memory is used");
        thread::yield_now();
    }
    let capacity = Capacity {
        cpus: 4,
        memory: 64 << 10,
        pids: 1000,
        ..Capacity::default()
    };
    let small = Tree::new(Arc::clone(&bed.driver), bed.settings(), capacity);
    small.start().unwrap();
    let limit = bed.value("memory", "kubepods", "memory.limit_in_bytes");
    assert_eq!(
        limit,
        (8_u64 << 30).to_string(),
        "the kernel took the limit"
    );
    let pids = bed.driver.pids(&format!("{}/kubepods", bed.root)).unwrap();
    for pid in pids {
        let pid = nix::unistd::Pid::from_raw(pid);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
    }
    eater.wait().unwrap();
    drop(process);
    let start = Instant::now();
    while small.remove(&uid("e1")).is_err() {
        assert!(start.elapsed().as_secs() < 30, "its processes do not end");
        thread::yield_now();
    }
}

#[test]
fn what_outlived_its_containers_is_killed_and_nothing_else() {
    let Some(bed) = Bed::new("what_outlived_its_containers_is_killed_and_nothing_else") else {
        return;
    };
    let tree = bed.tree();
    tree.prepare(&uid("b1"), &burstable("1")).unwrap();
    tree.prepare(&uid("b2"), &burstable("1")).unwrap();
    // In one hierarchy only, below the pod's cgroup: as a container that its runtime lost track of.
    let (stray, other) = (Process::new(), Process::new());
    for (pod, process) in [("podb1", &stray), ("podb2", &other)] {
        let container = bed.folder("freezer", &format!("kubepods/burstable/{pod}/container"));
        fs::create_dir(&container).unwrap();
        fs::write(container.join("cgroup.procs"), process.id().to_string()).unwrap();
    }
    tree.remove(&uid("b1")).unwrap();
    assert_eq!(bed.places("kubepods/burstable/podb1"), 0);
    assert!(tree.pods().unwrap().contains(&uid("b2")));
    let alive =
        |process: &Process| nix::sys::signal::kill(nix::unistd::Pid::from_raw(process.id()), None);
    alive(&other).unwrap();
    drop((stray, other));
    tree.remove(&uid("b2")).unwrap();
}

#[test]
fn leftovers_in_any_hierarchy_are_found_and_removed() {
    let Some(bed) = Bed::new("leftovers_in_any_hierarchy_are_found_and_removed") else {
        return;
    };
    let tree = bed.tree();
    tree.prepare(&uid("b1"), &burstable("1")).unwrap();
    for hierarchy in ["cpu", "memory", "freezer"] {
        fs::remove_dir(bed.folder(hierarchy, "kubepods/burstable/podb1")).unwrap();
    }
    // What a runtime has left behind, deep below.
    let deep = bed.folder("devices", "kubepods/besteffort/podgone/container/a/b/c");
    fs::create_dir_all(deep).unwrap();
    fs::create_dir(bed.folder("pids", "kubepods/something")).unwrap();
    let tree = bed.tree();
    assert_eq!(
        tree.pods().unwrap(),
        BTreeSet::from([uid("b1"), uid("gone")])
    );
    tree.remove(&uid("b1")).unwrap();
    tree.remove(&uid("gone")).unwrap();
    assert_eq!(tree.pods().unwrap(), BTreeSet::new());
    assert_eq!(bed.places("kubepods/besteffort/podgone"), 0);
}

#[test]
fn a_tree_that_somebody_removed_grows_again() {
    let Some(bed) = Bed::new("a_tree_that_somebody_removed_grows_again") else {
        return;
    };
    let tree = bed.tree();
    bed.driver.remove(&bed.root).unwrap();
    tree.remove(&uid("b1")).unwrap();
    tree.prepare(&uid("b1"), &burstable("1")).unwrap();
    assert_eq!(bed.value("cpu", "kubepods/burstable", "cpu.shares"), "1024");
    tree.remove(&uid("b1")).unwrap();
}

#[test]
fn without_classes_pods_have_no_cgroups() {
    let Some(bed) = Bed::new("without_classes_pods_have_no_cgroups") else {
        return;
    };
    let tree = bed.tree_with(CgroupSettings {
        per_qos: false,
        ..bed.settings()
    });
    assert_eq!(tree.prepare(&uid("b1"), &burstable("1")).unwrap(), "");
    assert_eq!(tree.pods().unwrap(), BTreeSet::new());
    tree.remove(&uid("b1")).unwrap();
    assert_eq!(bed.places("kubepods"), 0);
}

#[test]
fn a_pods_cgroup_is_made_in_a_few_milliseconds() {
    let Some(bed) = Bed::new("a_pods_cgroup_is_made_in_a_few_milliseconds") else {
        return;
    };
    let tree = bed.tree();
    let mut times: Vec<_> = (0..20)
        .map(|number| {
            let start = Instant::now();
            tree.prepare(&uid(&format!("b{number}")), &burstable("100m"))
                .unwrap();
            start.elapsed()
        })
        .collect();
    times.sort();
    (0..20).for_each(|number| tree.remove(&uid(&format!("b{number}"))).unwrap());
    // Generous: other tests use the machine, too. Polling or a process started would be far slower.
    assert!(times[10].as_millis() < 50, "{times:?}");
}
