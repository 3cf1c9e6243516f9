//! Where the parts of a test bed lie on this machine: what `make setup` unpacked and what cargo built.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// A containerd series that the suite runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runtime {
    /// containerd 1.7: config version 2, CDI off unless asked for.
    V1_7,
    /// containerd 2.x: config version 3.
    V2,
}

impl Runtime {
    /// The series that `E2E_CONTAINERD` names (`1.7` or `2`); 2 when it is not set.
    pub fn from_env() -> Result<Runtime> {
        match env::var("E2E_CONTAINERD").as_deref() {
            Ok("1.7") => Ok(Runtime::V1_7),
            Ok("2") | Err(_) => Ok(Runtime::V2),
            Ok(other) => bail!("E2E_CONTAINERD is {other:?}; it takes 1.7 or 2"),
        }
    }

    /// The series as the cache and messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::V1_7 => "1.7",
            Runtime::V2 => "2",
        }
    }
}

/// Folders and programs of this machine's test bed.
#[derive(Debug, Clone)]
pub struct Bed {
    cache: PathBuf,
    target: PathBuf,
    workspace: PathBuf,
}

impl Bed {
    /// Finds the bed. The cache is `$GPULET_CACHE`, else `$XDG_CACHE_HOME/gpulet`, else `~/.cache/gpulet`; built
    /// programs are looked for in cargo's target folder, which is the one that this program itself lies in.
    ///
    /// # Errors
    /// When `make setup` has not run, or the machine is not usable as root.
    pub fn find() -> Result<Bed> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "the test bed makes namespaces, cgroups and device nodes: run it as root"
        );
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = env::var_os("GPULET_CACHE").map(PathBuf::from);
        let cache = cache
            .or_else(|| {
                let base = env::var_os("XDG_CACHE_HOME")
                    .map(PathBuf::from)
                    .or_else(home)?;
                Some(base.join("gpulet"))
            })
            .context("neither GPULET_CACHE nor HOME is set")?;
        ensure!(
            cache.join("cni").is_dir(),
            "no test bed in {}: run `make setup`",
            cache.display()
        );
        let program = env::current_exe().context("finding this program's own path")?;
        let target = program
            .ancestors()
            .nth(2)
            .context("this program lies in no folder")?
            .to_owned();
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = workspace
            .parent()
            .context("the crate lies in a workspace")?
            .to_owned();
        Ok(Bed {
            cache,
            target,
            workspace,
        })
    }

    /// A program of containerd's packages: `containerd`, `ctr`, or the folder of both when `name` is empty.
    pub fn containerd(&self, runtime: Runtime, name: &str) -> PathBuf {
        self.cache
            .join(format!("containerd-{}", runtime.name()))
            .join("usr/bin")
            .join(name)
    }

    /// The folder of the CNI plugins.
    pub fn cni_plugins(&self) -> PathBuf {
        self.cache.join("cni/usr/lib/cni")
    }

    /// The folder that Python finds `pynvml` in.
    pub fn python(&self) -> PathBuf {
        self.cache.join("python")
    }

    /// The gpulet under test: `$GPULET_BIN`, else the one that cargo built beside this program.
    pub fn gpulet(&self) -> Result<PathBuf> {
        self.built("GPULET_BIN", "gpulet")
    }

    /// The gpuctl under test: `$GPUCTL_BIN`, else the one that cargo built beside this program.
    pub fn gpuctl(&self) -> Result<PathBuf> {
        self.built("GPUCTL_BIN", "gpuctl")
    }

    /// A program of the control plane, or kubectl, or the stock kubelet, by its name. `K8S` chooses among the series
    /// that `make controlplane` has built; 1.37 when it is not set.
    ///
    /// # Errors
    /// When that series is not there.
    pub fn controlplane(&self, name: &str) -> Result<PathBuf> {
        let series = env::var("K8S").unwrap_or_default();
        let series = if series.is_empty() { "1.37" } else { &series };
        let folder = self.cache.join(format!("controlplane-{series}/current"));
        ensure!(
            folder.is_dir(),
            "no control plane in {}: run `make controlplane K8S={series}`",
            folder.display()
        );
        Ok(folder.join(name))
    }

    /// The program of the test registry.
    pub fn registry(&self) -> Result<PathBuf> {
        let program = self.cache.join("registry/usr/bin/docker-registry");
        ensure!(
            program.exists(),
            "no {}: run `scripts/setup registry`",
            program.display()
        );
        Ok(program)
    }

    /// The simulator's folder as `make sim` leaves it: `lib/libnvidia-ml.so.1` and `bin/gpusim`.
    pub fn simulator(&self) -> Result<PathBuf> {
        let folder = self.target.join("sim");
        ensure!(
            folder.join("lib/libnvidia-ml.so.1").exists(),
            "no simulator in {}: run `make sim`",
            folder.display()
        );
        Ok(folder)
    }

    /// Where test-time images are kept.
    pub fn images(&self) -> PathBuf {
        self.target.join("e2e/images")
    }

    /// Where a scenario's logs go: `$E2E_OUT` as the runner sets it, else a folder of its own.
    pub fn output(&self) -> PathBuf {
        env::var_os("E2E_OUT").map_or_else(|| self.target.join("e2e/alone"), PathBuf::from)
    }

    /// The root of the checkout that this program was built from.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Cargo's target folder.
    pub fn target(&self) -> &Path {
        &self.target
    }

    fn built(&self, variable: &str, name: &str) -> Result<PathBuf> {
        let beside = env::current_exe()
            .ok()
            .and_then(|me| Some(me.parent()?.join(name)));
        let path = env::var_os(variable)
            .map(PathBuf::from)
            .or(beside)
            .context("no own path")?;
        ensure!(
            path.exists(),
            "no {name} at {}: run `cargo build -p {name}`",
            path.display()
        );
        Ok(path)
    }
}
