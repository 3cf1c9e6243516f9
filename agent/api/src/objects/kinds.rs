//! How each kind of object is followed.

use std::future::ready;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceSpec};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DynamicObject, GroupVersion};
use kube::{Api, Client};
use tokio::sync::OnceCell;

use super::follow::{FollowedKind, Open, Tell};
use crate::request::{RequestFailure, within};

/// Secrets of a namespace.
pub(super) fn secrets(client: &Client) -> FollowedKind<Secret> {
    FollowedKind {
        open: namespaced(client),
        trim: |_| (),
        is_final: |secret| secret.immutable == Some(true),
        tell: Tell::Changes,
    }
}

/// ConfigMaps of a namespace.
pub(super) fn config_maps(client: &Client) -> FollowedKind<ConfigMap> {
    FollowedKind {
        open: namespaced(client),
        trim: |_| (),
        is_final: |config_map| config_map.immutable == Some(true),
        tell: Tell::Changes,
    }
}

/// Services of all namespaces, without what no variable is made of. Running containers keep the
/// variables they were started with, so nobody hears of changes.
pub(super) fn services(client: &Client) -> FollowedKind<Service> {
    let client = client.clone();
    FollowedKind {
        open: Box::new(move |_| Box::pin(ready(Ok(Api::all(client.clone()))))),
        trim: |service| {
            service.metadata = ObjectMeta {
                name: service.metadata.name.take(),
                namespace: service.metadata.namespace.take(),
                resource_version: service.metadata.resource_version.take(),
                ..ObjectMeta::default()
            };
            service.status = None;
            service.spec = service.spec.take().map(|spec| ServiceSpec {
                cluster_ip: spec.cluster_ip,
                ports: spec.ports,
                ..ServiceSpec::default()
            });
        },
        is_final: |_| false,
        tell: Tell::FirstRead,
    }
}

/// RuntimeClasses.
pub(super) fn runtime_classes(client: &Client) -> FollowedKind<RuntimeClass> {
    let client = client.clone();
    FollowedKind {
        open: Box::new(move |_| Box::pin(ready(Ok(Api::all(client.clone()))))),
        trim: |_| (),
        is_final: |_| false,
        tell: Tell::Changes,
    }
}

/// ClusterTrustBundles.
pub(super) fn trust_bundles(client: &Client) -> FollowedKind<DynamicObject> {
    certificates_group(client, TRUST_BUNDLES, Arc::default(), Tell::Changes)
}

/// PodCertificateRequests. Whoever made a request waits for it; nobody else has to hear of it.
pub(super) fn certificate_requests(
    client: &Client,
    version: Arc<OnceCell<&'static str>>,
) -> FollowedKind<DynamicObject> {
    certificates_group(client, CERTIFICATE_REQUESTS, version, Tell::FirstRead)
}

/// Kind and plural name.
const TRUST_BUNDLES: (&str, &str) = ("ClusterTrustBundle", "clustertrustbundles");
/// Kind and plural name.
const CERTIFICATE_REQUESTS: (&str, &str) = ("PodCertificateRequest", "podcertificaterequests");
/// Versions, the preferred one first. Their fields are the same as far as they are used here.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// The API for making a certificate request.
pub(super) async fn certificate_request_api(
    client: Client,
    namespace: &str,
    version: &OnceCell<&'static str>,
) -> Result<(Api<DynamicObject>, ApiResource), RequestFailure> {
    let resource = served(&client, CERTIFICATE_REQUESTS, version).await?;
    Ok((Api::namespaced_with(client, namespace, &resource), resource))
}

fn certificates_group(
    client: &Client,
    kind: (&'static str, &'static str),
    version: Arc<OnceCell<&'static str>>,
    tell: Tell,
) -> FollowedKind<DynamicObject> {
    let client = client.clone();
    FollowedKind {
        open: Box::new(move |_| {
            let (client, version) = (client.clone(), Arc::clone(&version));
            Box::pin(async move {
                let resource = served(&client, kind, &version).await?;
                Ok(Api::all_with(client, &resource))
            })
        }),
        trim: |_| (),
        is_final: |_| false,
        tell,
    }
}

/// Finds out which version of a resource the API server serves.
async fn served(
    client: &Client,
    (kind, plural): (&'static str, &'static str),
    known: &OnceCell<&'static str>,
) -> Result<ApiResource, RequestFailure> {
    let find = async || {
        for version in VERSIONS {
            let group = format!("certificates.k8s.io/{version}");
            match within(client.list_api_group_resources(&group)).await {
                Ok(list) if list.resources.iter().any(|it| it.name == plural) => {
                    return Ok(version);
                }
                Ok(_) => {}
                Err(failure) if failure.is_missing() => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(RequestFailure::new(format!(
            "the API server serves no {plural} of certificates.k8s.io in v1 or v1beta1"
        )))
    };
    let version = known.get_or_try_init(find).await?;
    let version = GroupVersion::gv("certificates.k8s.io", version);
    Ok(ApiResource::from_gvk_with_plural(
        &version.with_kind(kind),
        plural,
    ))
}

fn namespaced<K>(client: &Client) -> Open<K>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Send
        + 'static,
{
    let client = client.clone();
    Box::new(move |namespace| {
        let namespace = namespace.unwrap_or_default();
        Box::pin(ready(Ok(Api::namespaced(client.clone(), namespace))))
    })
}
