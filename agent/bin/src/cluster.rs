//! The node's half of a cluster: everything between this agent and an API server, wired.
//!
//! Without `--kubeconfig` there is none of it, and the agent runs what its manifest folder says.

mod server;
mod views;

use std::sync::Arc;

use agent_api::{
    ApiObjects, ApiPods, Connection, ConnectionSettings, EventSettings, MirrorInputs, NodeFlags,
    NodeInputs, NodeSettings, ObjectSettings, OfferFacts, Rate, RunningNode, StatusInputs,
};
use agent_core::NodeOffer;
use agent_host::LocalMachine;
use agent_loops::ports::{Objects, ServiceAccounts, SourceSnapshot};
use agent_loops::{Agent, Clock, Doors, Source, Telling};
use anyhow::{Context, bail};
use base_daemon::{Drain, Readiness, spawn};
use k8s_openapi::api::core::v1::Node;
use tokio::sync::watch;

use crate::settings::Settings;
use crate::version::VERSION;

pub(crate) use server::serve_api;
pub(crate) use views::Views;

/// The connection, and what the agent's tasks need of it before they start.
pub(crate) struct Cluster {
    connection: Connection,
    objects: Arc<ApiObjects>,
    pods: watch::Sender<Option<SourceSnapshot>>,
    offer: watch::Sender<Option<Arc<NodeOffer>>>,
}

/// What goes on while the agent runs. Dropping it ends the node's tasks.
pub(crate) struct Membership {
    pub(crate) connection: Connection,
    pub(crate) views: Views,
    _node: RunningNode,
}

impl Cluster {
    /// Reads the kubeconfig. Nothing is asked of the API server yet. `None`: this node has none.
    pub(crate) async fn open(
        settings: &Settings,
        telling: &Telling,
    ) -> anyhow::Result<Option<Self>> {
        let flags = &settings.flags;
        let Some(kubeconfig) = flags.kubeconfig.clone() else {
            return Ok(None);
        };
        let server = &settings.configuration.node;
        let connection = Connection::open(ConnectionSettings {
            kubeconfig,
            bootstrap: flags.bootstrap_kubeconfig.clone(),
            cert_dir: flags.cert_dir.clone(),
            node: settings.node.clone(),
            rotate: server.rotate_certificates,
            rate: Rate {
                per_second: f64::from(server.kube_api_qps),
                burst: u32::try_from(server.kube_api_burst).unwrap_or(0),
            },
            version: VERSION.to_owned(),
        })
        .await?;
        let detection = &settings.configuration.pods.change_detection;
        let objects = ApiObjects::new(
            connection.client(),
            ObjectSettings::new(&settings.node, detection),
            telling.clock,
        );
        Ok(Some(Self {
            connection,
            objects: Arc::new(objects),
            pods: watch::Sender::new(None),
            offer: watch::Sender::new(None),
        }))
    }

    /// Door to the objects that manifests refer to.
    pub(crate) fn objects(&self) -> Arc<dyn Objects> {
        Arc::clone(&self.objects) as Arc<dyn Objects>
    }

    /// Door to the ServiceAccounts of pods.
    pub(crate) fn accounts(&self) -> Arc<dyn ServiceAccounts> {
        Arc::clone(&self.objects) as Arc<dyn ServiceAccounts>
    }

    /// What this node offers, once it is registered.
    pub(crate) fn offer(&self) -> watch::Receiver<Option<Arc<NodeOffer>>> {
        self.offer.subscribe()
    }

    /// The pods that are bound to this node.
    pub(crate) fn source(&self) -> Source {
        Source {
            name: "api",
            snapshots: self.pods.subscribe(),
        }
    }

    /// Starts everything that talks to the API server. `statics`: sources of static pods.
    pub(crate) fn join(
        self,
        settings: &Settings,
        agent: &Agent,
        doors: &Doors,
        statics: Vec<watch::Receiver<Option<SourceSnapshot>>>,
        around: (&Telling, &Readiness, &Drain),
    ) -> anyhow::Result<Membership> {
        let (telling, readiness, drain) = around;
        let connection = self.connection;
        // Heartbeats and events do not wait behind the work of pods; events have a rate of their own.
        let apart = || connection.client_with(Rate::UNLIMITED);
        let maintained = connection.clone().maintain(drain.guard());
        drop(spawn("client certificate", maintained));
        let node_settings = node_settings(settings)?;
        let machine = LocalMachine::new(
            settings.flags.root_dir.clone(),
            node_settings.asked_addresses(),
            node_settings.name_to_resolve(),
        );
        let inputs = NodeInputs {
            client: apart()?,
            runtime: Arc::clone(&doors.runtime),
            watch: agent.runtime.clone(),
            devices: Arc::clone(&doors.devices),
            machine: Arc::new(machine),
        };
        let node = agent_api::start_node(inputs, node_settings, telling, readiness, drain.guard());
        let (objects, seen) = watch::channel(Arc::<ApiPods>::default());
        let facts = OfferFacts {
            unsafe_sysctls: settings.configuration.pods.allowed_unsafe_sysctls.clone(),
            app_armor: std::path::Path::new("/sys/module/apparmor").exists(),
        };
        let views = Views::start(
            node.node.clone(),
            agent.runtime.clone(),
            seen.clone(),
            (self.offer, facts),
            telling.clock,
        );
        let tasks = PodTasks {
            connection: &connection,
            node: settings.node.clone(),
            registered: node.node.clone(),
            views: &views,
            seen,
            clock: telling.clock,
        };
        tasks.start(agent, statics, (self.pods, objects));
        let events = agent_api::write_events(
            apart()?,
            EventSettings::new(&settings.configuration, &settings.node),
            telling.events.clone(),
            telling.clock,
            (node.node.clone(), agent.pods.clone()),
            drain.guard(),
        );
        drop(spawn("events", events));
        Ok(Membership {
            connection,
            views,
            _node: node,
        })
    }
}

/// What the tasks about pods share.
struct PodTasks<'a> {
    connection: &'a Connection,
    node: String,
    registered: watch::Receiver<Option<Arc<Node>>>,
    views: &'a Views,
    seen: watch::Receiver<Arc<ApiPods>>,
    clock: Clock,
}

impl PodTasks<'_> {
    fn start(
        self,
        agent: &Agent,
        statics: Vec<watch::Receiver<Option<SourceSnapshot>>>,
        (pods, objects): (
            watch::Sender<Option<SourceSnapshot>>,
            watch::Sender<Arc<ApiPods>>,
        ),
    ) {
        let (name, ready) = (self.node.clone(), self.connection.clone());
        let registered = self.registered;
        drop(spawn("pods of the API", async move {
            // Kubernetes 1.37: nobody is admitted before the Node object is known.
            ready.credentialed().await;
            views::known(registered).await;
            agent_api::follow_pods(ready.client(), name, pods, objects).await;
        }));
        let statuses = StatusInputs {
            board: agent.pods.clone(),
            objects: self.seen.clone(),
            node: self.views.facts(),
            clock: self.clock,
        };
        let statuses = agent_api::write_statuses(self.connection.client(), statuses);
        drop(spawn("statuses", statuses));
        let mirrors = MirrorInputs {
            statics,
            board: agent.pods.clone(),
            objects: self.seen,
            node_uid: self.views.node_uid(),
        };
        let mirrors = agent_api::keep_mirrors(self.connection.client(), self.node, mirrors);
        drop(spawn("mirrors", mirrors));
    }
}

fn node_settings(settings: &Settings) -> anyhow::Result<NodeSettings> {
    let flags = &settings.flags;
    let labels = flags.node_labels.iter().map(|label| {
        let (key, value) = label.split_once('=').unwrap_or((label, ""));
        (key.to_owned(), value.to_owned())
    });
    let version = agent_host::detect().context("the cgroup version of this host")?;
    let flags = NodeFlags {
        name: settings.node.clone(),
        hostname: settings.node.clone(),
        node_ip: flags.node_ip.clone().unwrap_or_default(),
        node_labels: labels.collect(),
        register_with_taints: flags.register_with_taints.clone(),
        external_cloud_provider: flags.cloud_provider == "external",
        version: VERSION.to_owned(),
        cgroup_v1: matches!(version, agent_host::CgroupVersion::V1 { .. }),
        fresh: settings.fresh,
    };
    match NodeSettings::new(&settings.configuration, &flags) {
        Ok(settings) => Ok(settings),
        Err(problems) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            bail!("{}", problems.join("; "))
        }
    }
}
