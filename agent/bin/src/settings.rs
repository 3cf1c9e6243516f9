//! From flags and configuration to what each door has to know.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use agent_api::{FileSourceSettings, KubeletConfiguration, Layers};
use agent_core::{Quantity, Rules};
use agent_cri::{Allocatable, NodeSettings};
use agent_host::{
    Amounts, Capacity, CgroupSettings, CgroupVersion, HostSettings, KeyringSettings, LogLimits,
    UserNamespaceSettings,
};
use anyhow::{Context, bail};

use crate::flags::Flags;

/// Everything that was set, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) configuration: KubeletConfiguration,
    pub(crate) flags: Flags,
    pub(crate) node: String,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) verbosity: u8,
    pub(crate) warnings: Vec<String>,
    /// No state of an earlier life of this node is in the root folder.
    pub(crate) fresh: bool,
}

/// Reads and checks everything. Starts nothing and changes nothing.
pub(crate) fn load(flags: &Flags) -> anyhow::Result<Settings> {
    let loaded = agent_api::load(&layers(flags))?;
    let mut warnings = loaded.warnings;
    warnings.extend(ignored_flags(flags));
    let logging = &loaded.configuration.logs.logging;
    let configured = u8::try_from(logging.verbosity.clamp(0, 10)).unwrap_or(0);
    Ok(Settings {
        node: agent_host::node_name(flags.hostname_override.as_deref())
            .context("the node has no name; give it one with --hostname-override")?,
        addresses: addresses(flags)?,
        verbosity: configured.max(flags.verbosity),
        configuration: loaded.configuration,
        flags: flags.clone(),
        warnings,
        fresh: !flags.root_dir.join("gpulet").exists(),
    })
}

/// Where the configuration comes from.
pub(crate) fn layers(flags: &Flags) -> Layers {
    Layers {
        file: flags.config.clone(),
        drop_ins: flags.config_dir.clone(),
        flags: flags.overlay.clone(),
    }
}

/// A warning about flags without effect, if there are any.
pub(crate) fn ignored_flags(flags: &Flags) -> Option<String> {
    let names = flags.ignored.join(", --");
    (!names.is_empty()).then(|| format!("flags that have no effect in this version: --{names}"))
}

/// Addresses of this node, primary first: the flag, else the address that the default route uses.
/// A machine without a route has none, and its host-network pods show the loopback address.
fn addresses(flags: &Flags) -> anyhow::Result<Vec<IpAddr>> {
    match &flags.node_ip {
        Some(text) => {
            let first = text.split(',').next().unwrap_or_default();
            let address: IpAddr = first
                .parse()
                .with_context(|| format!("--node-ip {text:?} is no address"))?;
            // Kubernetes: the unspecified address of a family means its default route.
            match address.is_unspecified() {
                true => Ok(vec![routed().unwrap_or(Ipv4Addr::LOCALHOST.into())]),
                false => Ok(vec![address]),
            }
        }
        None => Ok(vec![routed().unwrap_or(Ipv4Addr::LOCALHOST.into())]),
    }
}

/// Source address of the default route. Connecting a datagram socket asks the kernel for the route
/// and sends nothing; the address is from the documentation range (RFC 5737).
fn routed() -> Option<IpAddr> {
    let socket = UdpSocket::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

impl Settings {
    /// Folder of the agent's own state files.
    pub(crate) fn state(&self) -> PathBuf {
        self.flags.root_dir.join("gpulet")
    }

    /// The manifest folder, if one is set.
    pub(crate) fn files(&self) -> Option<FileSourceSettings> {
        let pods = &self.configuration.pods;
        (!pods.static_pod_path.is_empty()).then(|| FileSourceSettings {
            path: pods.static_pod_path.clone().into(),
            node: self.node.clone(),
            period: pods.file_check_frequency.span(),
            record: self.state().join("manifests.json"),
        })
    }

    /// Settings of the owner tasks.
    pub(crate) fn loops(&self) -> agent_loops::Settings {
        let KubeletConfiguration {
            pods, images, logs, ..
        } = &self.configuration;
        let cap = pods.crash_loop_back_off.max_container_restart_period.span();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let width = match self.flags.start_width {
            None => agent_loops::Settings::default_start_slots(cores),
            // More than a node can hold: the bound never bites.
            Some(0) => usize::try_from(pods.max_pods).unwrap_or(110).max(1000),
            Some(width) => width,
        };
        agent_loops::Settings {
            // A cap below the stock base lowers the base too (Kubernetes 1.37).
            rules: Rules {
                backoff_base: cap.min(Duration::from_secs(10)),
                backoff_cap: cap,
                device_wait: self.flags.device_wait,
            },
            node_ips: self.addresses.clone(),
            start_slots: width,
            pulls: agent_loops::PullLimits {
                parallel: match images.max_parallel_image_pulls {
                    _ if images.one_pull_at_a_time() => Some(1),
                    limit => limit.and_then(|limit| usize::try_from(limit).ok()),
                },
                per_second: u32::try_from(images.registry_pull_qps).unwrap_or(0),
                burst: u32::try_from(images.registry_burst).unwrap_or(0),
            },
            log_interval: logs.container_log_monitor_interval.span(),
        }
    }

    /// Settings of the door to this host.
    pub(crate) fn host(&self) -> anyhow::Result<HostSettings> {
        let KubeletConfiguration {
            logs,
            network,
            pods,
            ..
        } = &self.configuration;
        let size: Quantity = logs
            .container_log_max_size
            .parse()
            .context("containerLogMaxSize")?;
        Ok(HostSettings {
            root: self.flags.root_dir.clone(),
            pod_logs: logs.pod_logs_dir.clone().into(),
            resolv_conf: network.resolv_conf.clone().into(),
            cluster_domain: network.cluster_domain.clone(),
            logs: LogLimits {
                max_size: u64::try_from(size.value()).ok(),
                max_files: usize::try_from(logs.container_log_max_files).unwrap_or(2),
            },
            user_namespaces: UserNamespaceSettings {
                ids_per_pod: u32::try_from(pods.user_namespaces.ids_per_pod)
                    .context("userNamespaces.idsPerPod")?,
                max_pods: u32::try_from(pods.max_pods).context("maxPods")?,
            },
        })
    }

    /// Settings of the credentials for registries.
    pub(crate) fn keyring(&self) -> KeyringSettings {
        let images = &self.configuration.images;
        KeyringSettings {
            root: self.flags.root_dir.clone(),
            home: std::env::home_dir(),
            verification: images.credentials_verification.clone(),
            allowlist: images.verification_allowlist.clone(),
            providers: self.flags.credential_providers.clone(),
        }
    }

    /// Settings of the pods' cgroups.
    pub(crate) fn cgroups(&self) -> anyhow::Result<CgroupSettings> {
        let KubeletConfiguration {
            resources, pods, ..
        } = &self.configuration;
        Ok(CgroupSettings {
            root: resources.cgroup_root.clone(),
            per_qos: resources.cgroups_per_qos,
            quota: resources.cpu_cfs_quota,
            quota_period: resources.cpu_cfs_quota_period.span(),
            pod_pids: u64::try_from(pods.pod_pids_limit).ok(),
            enforce: resources.enforce_node_allocatable.clone(),
            system_reserved: amounts(&resources.system_reserved, "systemReserved")?,
            kube_reserved: amounts(&resources.kube_reserved, "kubeReserved")?,
            system_cgroup: resources.system_reserved_cgroup.clone(),
            kube_cgroup: resources.kube_reserved_cgroup.clone(),
        })
    }

    /// Settings of the door to the runtime.
    pub(crate) fn runtime(
        &self,
        capacity: &Capacity,
        version: &CgroupVersion,
    ) -> anyhow::Result<NodeSettings> {
        let KubeletConfiguration {
            resources,
            pods,
            network,
            ..
        } = &self.configuration;
        let reserved = self.cgroups()?;
        let all = capacity.amounts();
        let left = |name: &str| {
            let whole = all.get(name).copied().unwrap_or_default();
            let kept = [&reserved.system_reserved, &reserved.kube_reserved];
            kept.iter()
                .filter_map(|kept| kept.get(name))
                .fold(whole, |left, kept| left.minus(*kept))
        };
        Ok(NodeSettings {
            cluster_dns: network.cluster_dns.clone(),
            cluster_domain: network.cluster_domain.clone(),
            host_ips: self.addresses.iter().map(ToString::to_string).collect(),
            seccomp_default: pods.seccomp_default,
            seccomp_root: self.flags.root_dir.join("seccomp"),
            cpu_quota: resources.cpu_cfs_quota,
            cpu_quota_period: resources.cpu_cfs_quota_period.span(),
            memory_capacity: i64::try_from(capacity.memory).unwrap_or(i64::MAX),
            allocatable: Allocatable {
                cpu: left("cpu"),
                memory: left("memory"),
                ephemeral_storage: left("ephemeral-storage"),
            },
            cgroup_v2: matches!(version, CgroupVersion::V2 { .. }),
            swap_accounting: false,
            single_process_oom_kill: resources.single_process_oom_kill.unwrap_or(false),
        })
    }

    /// Where `/healthz` is served; `None` switches it off.
    pub(crate) fn healthz(&self) -> anyhow::Result<Option<(IpAddr, u16)>> {
        let server = &self.configuration.server;
        let Ok(port) = u16::try_from(server.healthz_port) else {
            bail!("healthzPort {} is no port", server.healthz_port);
        };
        let address = &server.healthz_bind_address;
        let address = address
            .parse()
            .with_context(|| format!("healthzBindAddress {address:?} is no address"))?;
        Ok((port != 0).then_some((address, port)))
    }
}

fn amounts(texts: &BTreeMap<String, String>, field: &str) -> anyhow::Result<Amounts> {
    let parse = |(name, text): (&String, &String)| {
        let amount = text
            .parse()
            .with_context(|| format!("{field}.{name}: {text:?}"))?;
        Ok((name.clone(), amount))
    };
    texts.iter().map(parse).collect()
}
