//! Wires everything, waits for the signal to end, drains.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_api::{NoObjects, follow_files};
use agent_cri::CriRuntime;
use agent_host::{Capacity, CgroupVersion, LocalHost, NetworkAsker, NodeKeyring, RootLock, Tree};
use agent_loops::ports::SourceSnapshot;
use agent_loops::{Agent, Clock, Doors, Source, Telling};
use anyhow::{Context, bail};
use base_daemon::{Chain, Drain, Readiness, bind_unix, spawn};
use gpu_cdi::Site;
use gpu_keeper::{Keeper, KeeperSettings};
use gpu_probe::{Probe, ProbeSettings};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::cluster::{Cluster, serve_api};
use crate::devices::DeskDevices;
use crate::serve::{NodeApi, Place};
use crate::settings::Settings;
use crate::{PROBE, notices};

/// Time for actions in flight when the agent is told to end; a container that is being created must
/// not be left half made. A stop with a long grace period goes on in the runtime.
const DRAIN: Duration = Duration::from_secs(10);

/// Runs until a signal says that it is enough.
pub(crate) fn run(settings: Settings) -> anyhow::Result<()> {
    if !agent_host::is_root() {
        bail!("gpulet must run as root: it mounts volumes and makes cgroups");
    }
    tracing::info!(
        version = crate::version::VERSION,
        node = settings.node,
        "gpulet starts"
    );
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let node = &settings.configuration.node;
    agent_host::set_oom_score(node.oom_score_adj);
    agent_host::set_open_files(u64::try_from(node.max_open_files).unwrap_or(1_000_000));
    // Everything waits for somebody else nearly all the time: two workers are enough, and the
    // blocking threads are those for mounts, cgroups and files of pods that start side by side.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(16)
        .thread_keep_alive(Duration::from_secs(1))
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let outcome = runtime.block_on(live(&settings));
    // A blocking call on a hung mount must not keep the process alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

async fn live(settings: &Settings) -> anyhow::Result<()> {
    // Before anything is touched.
    let _lock = RootLock::take(&settings.flags.root_dir).await?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be waited for")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be waited for")?;
    let (telling, readiness) = (Telling::new(Clock::system()), Readiness::default());
    let drain = Drain::default();
    let (probe, keeper) = gpus(settings);
    notices::relay(&keeper, &telling);
    let cluster = Cluster::open(settings, &telling).await?;
    let capacity = Capacity::of_host();
    let runtime = Arc::new(runtime(settings, &telling, &capacity)?);
    let doors = doors(settings, cluster.as_ref(), &runtime, &keeper, capacity)?;
    let (sources, statics) = sources(settings, cluster.as_ref());
    let agent = agent_loops::start(
        doors.clone(),
        settings.loops(),
        sources,
        &telling,
        &readiness,
        &drain,
    );
    let membership = match cluster {
        Some(cluster) => {
            let around = (&telling, &readiness, &drain);
            let membership = cluster.join(settings, &agent, &doors, statics, around)?;
            let around = (&readiness, &drain);
            serve_api(settings, &membership, &agent, &runtime, around).await?;
            Some(membership)
        }
        None => None,
    };
    serve(settings, &agent, &telling, &keeper, &readiness, &drain)?;
    healthz(settings, &readiness, &drain).await?;
    // Both arms only wait: nothing is lost when the other one comes first.
    let name = tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    };
    tracing::info!(signal = name, "gpulet ends; containers go on");
    if !drain.finish(DRAIN).await {
        tracing::warn!(
            "some actions did not end in time; they are found out about at the next start"
        );
    }
    drop((agent, membership));
    probe.stop().await;
    Ok(())
}

/// The GPU column: probe child, and the owner of the GPUs.
fn gpus(settings: &Settings) -> (Probe, Keeper) {
    let flags = &settings.flags;
    let mut probing = ProbeSettings::for_this_program(PROBE);
    probing.library.clone_from(&flags.nvml_library);
    let site = Site {
        driver_root: flags.driver_root.clone(),
        dev_root: flags.dev_root.clone(),
        ..Site::host(hook())
    };
    // With the driver on the host itself the dynamic loader knows best, and LD_LIBRARY_PATH counts.
    if site.driver_root != Path::new("/") {
        probing.search = gpu_cdi::library_folders(&site.driver_root);
    }
    probing.dev = flags.dev_root.join("dev");
    let (probe, reports) = gpu_probe::start(probing);
    let keeping = KeeperSettings {
        journal: settings.state().join("gpus.json"),
        cdi_folder: flags.cdi_dir.clone(),
        site,
        boot: std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default(),
    };
    let keeper = Keeper::start(keeping, gpu_keeper::forward_to(probe.clone()), reports);
    (probe, keeper)
}

/// The program that CDI documents name as their hook: this one, by its path, since it runs later and
/// from the runtime.
fn hook() -> std::path::PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "/usr/bin/gpulet".into())
}

fn runtime(
    settings: &Settings,
    telling: &Telling,
    capacity: &Capacity,
) -> anyhow::Result<CriRuntime> {
    let version = agent_host::detect()?;
    let images = &settings.configuration.images;
    Ok(CriRuntime::new(
        &images.container_runtime_endpoint,
        images.runtime_request_timeout.span(),
        settings.runtime(capacity, &version)?,
        telling.clock,
    )?)
}

fn doors(
    settings: &Settings,
    cluster: Option<&Cluster>,
    runtime: &Arc<CriRuntime>,
    keeper: &Keeper,
    capacity: Capacity,
) -> anyhow::Result<Doors> {
    let version = agent_host::detect()?;
    let host = LocalHost::open(settings.host()?, tree(settings, version, capacity)?)?;
    Ok(Doors {
        runtime: Arc::clone(runtime) as _,
        host: Arc::new(host),
        devices: Arc::new(DeskDevices::new(keeper.clone())),
        asker: Arc::new(NetworkAsker::new().context("TLS for probes cannot be set up")?),
        objects: match cluster {
            Some(cluster) => cluster.objects(),
            None => Arc::new(NoObjects::default()),
        },
        offer: cluster.map_or_else(|| watch::channel(None).1, Cluster::offer),
        keyring: Arc::new(NodeKeyring::open(
            &settings.keyring(),
            cluster.map(Cluster::accounts),
        )?),
    })
}

fn tree(settings: &Settings, version: CgroupVersion, capacity: Capacity) -> anyhow::Result<Tree> {
    let resources = &settings.configuration.resources;
    let (name, fail_v1) = (&resources.cgroup_driver, resources.fail_cgroup_v1);
    let driver = agent_host::driver(name, version, fail_v1)?;
    Ok(Tree::new(driver, settings.cgroups()?, capacity))
}

/// Sources of pods, and those of static ones apart. Without a manifest folder there is one that has
/// nothing to say.
fn sources(
    settings: &Settings,
    cluster: Option<&Cluster>,
) -> (Vec<Source>, Vec<watch::Receiver<Option<SourceSnapshot>>>) {
    let (sender, snapshots) = watch::channel(None);
    match settings.files() {
        Some(files) => drop(spawn("manifest files", follow_files(files, sender))),
        None => {
            if cluster.is_none() {
                tracing::warn!(
                    "neither --kubeconfig nor staticPodPath is set: this node runs no pods"
                );
            }
            sender.send_replace(Some(Default::default()));
        }
    }
    let statics = vec![snapshots.clone()];
    let files = Source {
        name: "file",
        snapshots,
    };
    let api = cluster.map(Cluster::source);
    ([Some(files), api].into_iter().flatten().collect(), statics)
}

/// The read-only interface for `gpuctl`.
fn serve(
    settings: &Settings,
    agent: &Agent,
    telling: &Telling,
    keeper: &Keeper,
    readiness: &Readiness,
    drain: &Drain,
) -> anyhow::Result<()> {
    let listener = bind_unix(
        &settings.flags.socket,
        settings.flags.socket_group.as_deref(),
    )?;
    let place = Place {
        node: settings.node.clone(),
        started_at: telling.clock.now(),
        endpoint: settings
            .configuration
            .images
            .container_runtime_endpoint
            .clone(),
        capacity: Capacity::of_host(),
    };
    let api = NodeApi::new(place, agent, telling, keeper, readiness);
    drop(spawn("gpulet.v1", api.serve(listener, drain.guard())));
    Ok(())
}

async fn healthz(settings: &Settings, readiness: &Readiness, drain: &Drain) -> anyhow::Result<()> {
    let Some((address, port)) = settings.healthz()? else {
        return Ok(());
    };
    match agent_http::serve_healthz(address, port, readiness.clone(), drain.guard()).await {
        Ok((address, serving)) => {
            tracing::info!(%address, "/healthz is served");
            drop(spawn("healthz", serving));
        }
        // Pods matter more than the answer about them.
        Err(error) => tracing::error!("{}", Chain(&error)),
    }
    Ok(())
}
