//! Everything that a node puts on the machine, found by the node's name alone: to show that nothing is left, and to
//! take away what a broken run left.
//!
//! A node named N owns the folders /tmp/N and /run/N, the network namespace N, the cgroup /N of every hierarchy, and
//! the processes that carry its mark, sit in its cgroup or in its namespace. Whoever made it holds a lock on
//! /run/N/owner for as long as it lives, so that the node of a dead owner is known whatever its process id is now.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};

use crate::netns;

/// The variable that marks every process of a node; its value is the node's name.
pub const MARK: &str = "GPULET_E2E_NODE";
/// How long killed processes may take to be gone: the kernel frees a container's memory and namespaces first.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A node's name and what can be derived from it.
#[derive(Debug, Clone)]
pub struct Footprint {
    name: String,
}

impl Footprint {
    /// The footprint of the node `name`, which need not exist.
    pub fn of(name: &str) -> Footprint {
        Footprint {
            name: name.to_owned(),
        }
    }

    /// Makes both folders and takes the owner's lock. The node counts as abandoned once the returned file is closed.
    pub fn claim(&self) -> Result<File> {
        fs::create_dir_all(self.run_folder())?;
        let owner = File::create(self.run_folder().join("owner"))?;
        flock(&owner, FlockOperation::NonBlockingLockExclusive)
            .with_context(|| format!("the node {} belongs to a living process", self.name))?;
        fs::create_dir_all(self.data_folder())?;
        Ok(owner)
    }

    /// The node's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sockets and containerd's state: short paths, for a socket's may have 107 bytes.
    pub fn run_folder(&self) -> PathBuf {
        Path::new("/run").join(&self.name)
    }

    /// Everything else.
    pub fn data_folder(&self) -> PathBuf {
        Path::new("/tmp").join(&self.name)
    }

    /// What of the node is on the machine now, one line a thing.
    pub fn traces(&self) -> Vec<String> {
        let mut traces = Vec::new();
        traces.extend(self.processes().into_iter().map(|pid| {
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            format!("process {pid}: {}", line.replace('\0', " "))
        }));
        let paths = |kind: &str, paths: Vec<PathBuf>| {
            paths
                .into_iter()
                .map(|path| format!("{kind} {}", path.display()))
                .collect::<Vec<_>>()
        };
        traces.extend(paths("mount", self.mounts()));
        traces.extend(paths("cgroup", self.cgroups()));
        traces.extend(paths("log link", self.log_links()));
        let rest = [
            netns::path(&self.name),
            self.run_folder(),
            self.data_folder(),
        ];
        traces.extend(paths(
            "left",
            rest.into_iter().filter(|path| path.exists()).collect(),
        ));
        traces
    }

    /// Takes everything away by force: processes first, then what they held.
    ///
    /// # Errors
    /// What could not be removed.
    pub fn remove(&self) -> Result<()> {
        self.kill_all();
        for mount in self.mounts() {
            unmount(&mount, UnmountFlags::DETACH)
                .with_context(|| format!("unmounting {}", mount.display()))?;
        }
        for cgroup in self.cgroups() {
            remove_cgroup(&cgroup)?;
        }
        if netns::path(&self.name).exists() {
            netns::delete(&self.name)?;
        }
        for path in self.log_links().into_iter().chain(self.shim_sockets()) {
            fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
        }
        for folder in [self.data_folder(), self.run_folder()] {
            if folder.exists() {
                fs::remove_dir_all(&folder)
                    .with_context(|| format!("removing {}", folder.display()))?;
            }
        }
        Ok(())
    }

    /// Process ids of the node, found by mark, cgroup and network namespace. Zombies hold nothing and do not count.
    pub fn processes(&self) -> Vec<i32> {
        let mark = format!("{MARK}={}", self.name).into_bytes();
        let cgroup = format!(":/{}", self.name);
        let netns = fs::metadata(netns::path(&self.name))
            .map(|file| file.ino())
            .ok();
        let me = std::process::id().to_string();
        let ours = |pid: &str| {
            let file = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            // A process without a command line is a kernel thread or a zombie.
            if pid == me || file("cmdline").is_empty() {
                return false;
            }
            let in_netns = || {
                let own = fs::metadata(format!("/proc/{pid}/ns/net"))
                    .map(|file| file.ino())
                    .ok();
                netns.is_some() && own == netns
            };
            file("environ")
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark)
                || String::from_utf8_lossy(&file("cgroup"))
                    .lines()
                    .any(|line| {
                        line.find(&cgroup).is_some_and(|at| {
                            let rest = line.get(at + cgroup.len()..).unwrap_or_default();
                            rest.is_empty() || rest.starts_with('/')
                        })
                    })
                || in_netns()
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        let pids = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        pids.filter(|pid| ours(pid))
            .filter_map(|pid| pid.parse().ok())
            .collect()
    }

    /// Mount points inside the node's folders, the innermost first.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let folders = [self.data_folder(), self.run_folder()];
        let mut mounts = mount_points(|_| true);
        mounts.retain(|mount| folders.iter().any(|folder| mount.starts_with(folder)));
        mounts.reverse();
        mounts
    }

    /// The node's cgroups in every hierarchy, the innermost first.
    pub fn cgroups(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for hierarchy in cgroup_hierarchies() {
            collect_folders(&hierarchy.join(&self.name), &mut found);
        }
        found
    }

    /// Links in /var/log/containers that lead to the node's logs.
    pub(crate) fn log_links(&self) -> Vec<PathBuf> {
        let links = fs::read_dir("/var/log/containers")
            .into_iter()
            .flatten()
            .flatten();
        let ours = |path: &PathBuf| {
            fs::read_link(path).is_ok_and(|target| target.starts_with(self.data_folder()))
        };
        links.map(|link| link.path()).filter(ours).collect()
    }

    /// Sockets of this node's shims. containerd keeps them in one folder for all its instances, whatever its state
    /// folder is, and writes their addresses beside each container's bundle.
    fn shim_sockets(&self) -> Vec<PathBuf> {
        let bundles = self
            .run_folder()
            .join("containerd/io.containerd.runtime.v2.task/k8s.io");
        let bundles = fs::read_dir(bundles).into_iter().flatten().flatten();
        let mut sockets = BTreeSet::new();
        for file in bundles.flat_map(|b| ["address", "bootstrap.json"].map(|f| b.path().join(f))) {
            let text = fs::read_to_string(file).unwrap_or_default();
            let address = text
                .split("unix://")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            sockets.extend(address.map(|path| PathBuf::from(path.trim())));
        }
        sockets.into_iter().filter(|path| path.exists()).collect()
    }

    /// Kills until nothing is left: what is being forked meanwhile is found in the next round.
    fn kill_all(&self) {
        let end = Instant::now() + KILL_LIMIT;
        loop {
            let processes = self.processes();
            if processes.is_empty() || Instant::now() > end {
                return;
            }
            for pid in processes.into_iter().filter_map(Pid::from_raw) {
                // An error means that it has ended meanwhile.
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::yield_now();
        }
    }
}

/// A cgroup stays busy for a moment after its last process was killed: the kernel has that still to bury.
pub(crate) fn remove_cgroup(cgroup: &Path) -> Result<()> {
    let end = Instant::now() + KILL_LIMIT;
    loop {
        match fs::remove_dir(cgroup) {
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < end => {
                std::thread::park_timeout(Duration::from_millis(5));
            }
            done => return done.with_context(|| format!("removing {}", cgroup.display())),
        }
    }
}

/// Removes every node whose name starts with `prefix` and whose owner is dead.
pub fn sweep(prefix: &str) -> Result<()> {
    for entry in fs::read_dir("/run")?.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !name.starts_with(prefix) {
            continue;
        }
        let footprint = Footprint::of(&name);
        if footprint.claim().is_ok() {
            footprint
                .remove()
                .with_context(|| format!("removing the abandoned node {name}"))?;
        }
    }
    Ok(())
}

/// Where the cgroup hierarchies are mounted.
pub(crate) fn cgroup_hierarchies() -> Vec<PathBuf> {
    mount_points(|kind| kind == "cgroup" || kind == "cgroup2")
}

/// Mount points of the kinds that `wanted` takes, in the order of mounting.
fn mount_points(wanted: fn(&str) -> bool) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut points = Vec::new();
    for line in table.lines() {
        let mut fields = line.split(' ').skip(1);
        if let (Some(point), Some(kind)) = (fields.next(), fields.next())
            && wanted(kind)
        {
            points.push(PathBuf::from(point.replace("\\040", " ")));
        }
    }
    points
}

fn collect_folders(folder: &Path, found: &mut Vec<PathBuf>) {
    if !folder.is_dir() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_folders(&entry.path(), found);
        }
    }
    found.push(folder.to_owned());
}
