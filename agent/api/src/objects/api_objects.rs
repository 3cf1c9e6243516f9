//! Objects of a node with an API server.

mod answer;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_core::{Fail, PodUid};
use agent_loops::Clock;
use agent_loops::ports::{ObjectChanges, Objects, References, WantedPod};
use async_trait::async_trait;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::Client;
use kube::core::DynamicObject;
use tokio::sync::watch;

use super::certificates::CertificateSource;
use super::changes::Changes;
use super::follow::{Follows, Query};
use super::kinds;
use super::names::Names;
use super::record::Record;
use super::tokens::TokenSource;

/// Stands for the next pod of the node, which refers to Services, too, and would wait for them: once
/// read they stay watched, as on the stock kubelet. No pod's UID is empty.
const NEXT: &str = "";

/// How objects are kept fresh.
#[derive(Clone, Debug)]
pub struct ObjectSettings {
    /// Name of this node.
    pub node: Arc<str>,
    /// `configMapAndSecretChangeDetectionStrategy` is `Get`: secrets and ConfigMaps are read at every
    /// question instead of being watched. `Cache` is served by watches as well: they are never staler
    /// than a cache with a lifetime.
    pub get: bool,
}

impl ObjectSettings {
    /// Settings for a node, from `configMapAndSecretChangeDetectionStrategy`.
    pub fn new(node: &str, change_detection: &str) -> Self {
        Self {
            node: Arc::from(node),
            get: change_detection == "Get",
        }
    }
}

/// Objects that manifests refer to, read from the API server.
pub struct ApiObjects {
    pub(super) client: Client,
    clock: Clock,
    get: bool,
    changes: Arc<Changes>,
    secrets: Follows<Secret>,
    config_maps: Follows<ConfigMap>,
    runtime_classes: Follows<RuntimeClass>,
    services: Follows<Service>,
    trust_bundles: Follows<DynamicObject>,
    token_source: TokenSource,
    certificate_source: CertificateSource,
    // A plain lock: held while names are compared, never over an await.
    pods: Mutex<BTreeMap<PodUid, Record>>,
}

impl ApiObjects {
    /// Asks nothing before the first pod does. Belongs into a runtime: watches are tasks.
    pub fn new(client: Client, settings: ObjectSettings, clock: Clock) -> Self {
        let changes = Arc::new(Changes::default());
        let version = Arc::default();
        let requests = kinds::certificate_requests(&client, Arc::clone(&version));
        let changed = || Arc::clone(&changes);
        Self {
            clock,
            get: settings.get,
            secrets: Follows::new(kinds::secrets(&client), changed()),
            config_maps: Follows::new(kinds::config_maps(&client), changed()),
            runtime_classes: Follows::new(kinds::runtime_classes(&client), changed()),
            services: Follows::new(kinds::services(&client), changed()),
            trust_bundles: Follows::new(kinds::trust_bundles(&client), changed()),
            token_source: TokenSource {
                client: client.clone(),
                clock,
                changes: changed(),
            },
            certificate_source: CertificateSource {
                client: client.clone(),
                clock,
                changes: changed(),
                requests: Arc::new(Follows::new(requests, changed())),
                version,
                node: settings.node,
            },
            client,
            changes,
            pods: Mutex::default(),
        }
    }

    /// What is kept for the pod; begins and ends watches if its manifest is another one than before.
    pub(super) fn record(&self, pod: &WantedPod) -> Record {
        let uid = &pod.want.uid;
        let mut pods = self.pods();
        let known = pods.get(uid);
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.manifest, &pod.manifest)) {
            return known.clone();
        }
        let record = known.map_or_else(|| Record::new(pod), |known| known.renewed(pod));
        self.changes.begin(uid);
        let before = known.map(|known| Arc::clone(&known.names));
        // First the new ones: what both refer to is not interrupted.
        self.refer(&record, uid);
        if let Some(before) = before {
            self.release(&record, &before, Some(&record.names), uid);
        }
        pods.insert(uid.clone(), record.clone());
        record
    }

    fn refer(&self, record: &Record, uid: &PodUid) {
        let (names, namespace) = (&record.names, &*record.pod.namespace);
        for uid in [uid, &PodUid::new(NEXT)] {
            self.services.refer(&Query::default(), uid);
        }
        if !self.get {
            for name in &names.secrets {
                let query = Query::named(Some(namespace), name);
                self.secrets.refer(&query, uid);
            }
            for name in &names.config_maps {
                let query = Query::named(Some(namespace), name);
                self.config_maps.refer(&query, uid);
            }
        }
        if let Some(name) = &names.runtime_class {
            self.runtime_classes.refer(&Query::named(None, name), uid);
        }
        for ask in names.trust.values() {
            if let Ok(Some(query)) = &ask.query {
                self.trust_bundles.refer(query, uid);
            }
        }
        if !names.certificates.is_empty() {
            let source = &self.certificate_source;
            source.requests.refer(&source.query(), uid);
        }
    }

    /// Ends what `names` refer to and `but` do not. `but` is `None` when the pod is gone.
    fn release(&self, record: &Record, names: &Names, but: Option<&Names>, uid: &PodUid) {
        let namespace = &*record.pod.namespace;
        for name in &names.secrets {
            if but.is_none_or(|but| !but.secrets.contains(name)) {
                self.secrets
                    .release(&Query::named(Some(namespace), name), uid);
            }
        }
        for name in &names.config_maps {
            if but.is_none_or(|but| !but.config_maps.contains(name)) {
                self.config_maps
                    .release(&Query::named(Some(namespace), name), uid);
            }
        }
        // Volumes and the RuntimeClass of a pod cannot be changed.
        if but.is_some() {
            return;
        }
        self.services.release(&Query::default(), uid);
        if let Some(name) = &names.runtime_class {
            self.runtime_classes.release(&Query::named(None, name), uid);
        }
        for ask in names.trust.values() {
            if let Ok(Some(query)) = &ask.query {
                self.trust_bundles.release(query, uid);
            }
        }
        let source = &self.certificate_source;
        source.requests.release(&source.query(), uid);
    }

    fn pods(&self) -> MutexGuard<'_, BTreeMap<PodUid, Record>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Objects for ApiObjects {
    async fn references(&self, pod: &WantedPod) -> Result<Arc<References>, Fail> {
        if pod.want.is_static {
            return Ok(Arc::new(self.of_static(pod)));
        }
        let record = self.record(pod);
        self.answer(&record).await.map(Arc::new)
    }

    fn changes(&self) -> watch::Receiver<ObjectChanges> {
        self.changes.subscribe()
    }

    async fn forget(&self, uid: &PodUid) {
        let mut pods = self.pods();
        if let Some(record) = pods.remove(uid) {
            self.release(&record, &record.names, None, uid);
        }
        self.changes.forget(uid);
    }
}

impl fmt::Debug for ApiObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiObjects")
            .field("secrets", &self.secrets)
            .field("config_maps", &self.config_maps)
            .field("pods", &self.pods().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
