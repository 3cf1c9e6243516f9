//! Puts together what one pod refers to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use agent_core::{Fail, Time};
use agent_loops::ports::{PodCertificate, ProjectedSource, References, Token, WantedPod};
use futures::future::join_all;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::PersistentVolume;
use kube::{Api, Resource};

use super::ApiObjects;
use crate::objects::follow::{Follows, Object, Query};
use crate::objects::names::Names;
use crate::objects::record::Record;
use crate::objects::services;
use crate::request::{RequestFailure, within};

/// Age at which objects that are not watched are worth another question. Kubernetes 1.37: the pod's
/// sync period, about as long.
const REREAD: Duration = Duration::from_secs(60);

type Named<K> = BTreeMap<String, Result<Arc<K>, Fail>>;

impl ApiObjects {
    /// Everything, asked for side by side.
    pub(super) async fn answer(&self, record: &Record) -> Result<References, Fail> {
        let names = &record.names;
        let (secrets, config_maps, claims, tokens, trust_bundles, certificates, services, handler) = tokio::join!(
            self.named(&self.secrets, "secret", record, &names.secrets),
            self.named(&self.config_maps, "configmap", record, &names.config_maps),
            self.claims(record),
            self.tokens(record),
            self.trust(record),
            self.certificates(record),
            self.services(record),
            self.handler(names),
        );
        let services = services?;
        let (tokens, token_due) = tokens;
        let (certificates, certificate_due) = certificates;
        let rereads = self.get && !(names.secrets.is_empty() && names.config_maps.is_empty());
        let reread = rereads.then(|| self.clock.now().plus(REREAD));
        Ok(References {
            secrets,
            config_maps,
            claims,
            tokens,
            trust_bundles,
            certificates,
            services,
            runtime_handler: handler,
            refresh_at: [token_due, certificate_due, reread]
                .into_iter()
                .flatten()
                .min(),
        })
    }

    /// A static pod names no objects, and waits for no Services; but it sees those that are known.
    pub(super) fn of_static(&self, pod: &WantedPod) -> References {
        let links = Names::of(&pod.manifest).service_links;
        let namespace = &pod.want.name.namespace;
        let variables = self.services.peek(&Query::default(), |found| {
            services::variables(found, namespace, links)
        });
        References {
            services: variables.unwrap_or_default(),
            ..References::default()
        }
    }

    async fn named<K>(
        &self,
        follows: &Follows<K>,
        kind: &'static str,
        record: &Record,
        names: &std::collections::BTreeSet<String>,
    ) -> Named<K>
    where
        K: Object + Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let namespace = &*record.pod.namespace;
        let each = names.iter().map(async |name| {
            let found = if self.get {
                let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
                let found = within(api.get_opt(name)).await;
                found.map(|found| found.map(Arc::new)).map_err(Some)
            } else {
                let query = Query::named(Some(namespace), name);
                follows
                    .read(&query, |found| found.values().next().cloned())
                    .await
            };
            let found = match found {
                Ok(Some(object)) => Ok(object),
                Ok(None) => Err(Fail::gone(CONFIG, format!("{kind} {name:?} not found"))),
                Err(why) => Err(unread(kind, CONFIG, why)),
            };
            (name.clone(), found)
        });
        join_all(each).await.into_iter().collect()
    }

    async fn claims(&self, record: &Record) -> Named<PersistentVolume> {
        let each = record.names.claims.iter().map(async |(name, owned)| {
            let claims = &record.claims;
            let volume = claims
                .volume(&self.client, &record.manifest, name, *owned)
                .await;
            (name.clone(), volume)
        });
        join_all(each).await.into_iter().collect()
    }

    async fn tokens(
        &self,
        record: &Record,
    ) -> (BTreeMap<ProjectedSource, Result<Token, Fail>>, Option<Time>) {
        let each = record.names.tokens.iter().map(async |(source, ask)| {
            let token = record.tokens.token(ask, &record.pod, &self.token_source);
            (source.clone(), token.await)
        });
        earliest(join_all(each).await)
    }

    async fn certificates(
        &self,
        record: &Record,
    ) -> (
        BTreeMap<ProjectedSource, Result<Arc<PodCertificate>, Fail>>,
        Option<Time>,
    ) {
        let each = record.names.certificates.iter().map(async |(source, ask)| {
            let with = &self.certificate_source;
            let kept = &record.certificates;
            let certificate = kept.certificate(source, ask, &record.pod, with);
            (source.clone(), certificate.await)
        });
        earliest(join_all(each).await)
    }

    async fn trust(&self, record: &Record) -> BTreeMap<ProjectedSource, Result<Arc<str>, Fail>> {
        let each = record.names.trust.iter().map(async |(source, ask)| {
            let answer = match &ask.query {
                Err(fail) => Err(fail.clone()),
                Ok(None) => ask.answer(&BTreeMap::new()),
                Ok(Some(query)) => {
                    let bundles = &self.trust_bundles;
                    let answer = bundles.read(query, |found| ask.answer(found)).await;
                    answer
                        .unwrap_or_else(|why| Err(unread("ClusterTrustBundle", "FailedMount", why)))
                }
            };
            (source.clone(), answer)
        });
        join_all(each).await.into_iter().collect()
    }

    /// Without them no container may start: it would lack variables that it has a right to.
    async fn services(&self, record: &Record) -> Result<Vec<(String, String)>, Fail> {
        let (namespace, links) = (&record.pod.namespace, record.names.service_links);
        let query = Query::default();
        let variables = self
            .services
            .read(&query, |found| services::variables(found, namespace, links));
        variables.await.map_err(|why| {
            let mut text =
                "services have not yet been read at least once, cannot construct envvars"
                    .to_owned();
            if let Some(why) = why {
                text.push_str(&format!(": {why}"));
            }
            Fail::retry(CONFIG, text)
        })
    }

    async fn handler(&self, names: &Names) -> Option<Result<String, Fail>> {
        let name = names.runtime_class.as_ref()?;
        let query = Query::named(None, name);
        let found = self.runtime_classes.read(&query, |found| {
            found.values().next().map(|class| class.handler.clone())
        });
        Some(match found.await {
            Ok(Some(handler)) => Ok(handler),
            Ok(None) => Err(Fail::gone(
                SANDBOX,
                format!("runtimeclass.node.k8s.io {name:?} not found"),
            )),
            Err(why) => {
                let why = why.map_or_else(|| TIMED_OUT.to_owned(), |why| why.message);
                let text = format!("failed to lookup RuntimeClass {name}: {why}");
                Err(Fail::retry(SANDBOX, text))
            }
        })
    }
}

/// Reason of what a container cannot be configured without.
const CONFIG: &str = "CreateContainerConfigError";
/// Reason of what a sandbox cannot be made without.
const SANDBOX: &str = "FailedCreatePodSandBox";
/// What the stock kubelet says when the first read takes too long.
const TIMED_OUT: &str = "timed out waiting for the condition";

/// Not read yet: trying again helps.
fn unread(kind: impl fmt::Display, reason: &'static str, why: Option<RequestFailure>) -> Fail {
    let why = why.map_or_else(|| TIMED_OUT.to_owned(), |why| why.message);
    Fail::retry(reason, format!("failed to sync {kind} cache: {why}"))
}

/// Results by source, and the earliest of their times.
fn earliest<T>(
    results: Vec<(ProjectedSource, (T, Option<Time>))>,
) -> (BTreeMap<ProjectedSource, T>, Option<Time>) {
    let due = results.iter().filter_map(|(_, (_, due))| *due).min();
    let results = results
        .into_iter()
        .map(|(source, (result, _))| (source, result));
    (results.collect(), due)
}
