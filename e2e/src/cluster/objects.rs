//! Objects of the API server as JSON: made, read, deleted, and waited for by watching them.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use futures::TryStreamExt;
use http::{Method, Request};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::{Value, json};
use tokio::time::timeout_at;

use super::kind::{EVENT, Kind, POD, split};

/// A pod's start is seconds, a rolling update of several pods the most of a minute on a loaded machine.
const LIMIT: Duration = Duration::from_secs(120);
/// An API server that does not answer may be one that a scenario stopped.
const PAUSE: Duration = Duration::from_millis(200);

/// The API server's objects, as the administrator sees them. Names are `name`, in the namespace `default`, or
/// `namespace/name`.
#[derive(Clone)]
pub struct Objects {
    client: Client,
    limit: Duration,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Objects").finish_non_exhaustive()
    }
}

impl Objects {
    pub(super) fn new(client: Client) -> Objects {
        Objects {
            client,
            limit: LIMIT,
        }
    }

    /// The same, with another limit for each wait.
    pub fn within(&self, limit: Duration) -> Objects {
        Objects {
            limit,
            ..self.clone()
        }
    }

    /// One object.
    ///
    /// # Errors
    /// When there is none, or the API server does not answer.
    pub async fn get(&self, kind: Kind, name: &str) -> Result<Value> {
        self.call(Method::GET, &kind.path_of(name), None).await
    }

    /// Objects in all namespaces by label selector, all of them when it is empty.
    pub async fn list(&self, kind: Kind, labels: &str) -> Result<Vec<Value>> {
        let whole = self
            .call(Method::GET, &by_labels(kind, labels), None)
            .await?;
        Ok(items(&whole))
    }

    /// Creates the object, or changes it to what is said here (server-side apply). Its kind must stand in `Kind::of`.
    pub async fn apply(&self, object: &Value) -> Result<Value> {
        let kind = Kind::of(object)?;
        let text = |key: &str| object["metadata"][key].as_str();
        let name = text("name").context("an object to apply has a name")?;
        let namespace = text("namespace").unwrap_or("default");
        let path = kind.path_of(&format!("{namespace}/{name}"));
        let path = format!("{path}?fieldManager=e2e&force=true");
        self.call(
            Method::PATCH,
            &path,
            Some(("application/apply-patch+yaml", object)),
        )
        .await
        .with_context(|| format!("applying {namespace}/{name}"))
    }

    /// Changes a part of an object (merge patch: null removes).
    pub async fn patch(&self, kind: Kind, name: &str, change: &Value) -> Result<Value> {
        let body = Some(("application/merge-patch+json", change));
        self.call(Method::PATCH, &kind.path_of(name), body).await
    }

    /// Asks for an object's deletion, with its own grace period.
    pub async fn delete(&self, kind: Kind, name: &str) -> Result<()> {
        let options = json!({ "propagationPolicy": "Background" });
        let body = Some(("application/json", &options));
        self.call(Method::DELETE, &kind.path_of(name), body)
            .await
            .map(drop)
    }

    /// Text that the API server answers to a GET, such as of `/readyz`.
    pub async fn text(&self, path: &str) -> Result<String> {
        let request = Request::get(path).body(Vec::new())?;
        Ok(self.client.request_text(request).await?)
    }

    /// Any call, with a body and its content type.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value> {
        let mut request = Request::builder().method(method.clone()).uri(path);
        let mut bytes = Vec::new();
        if let Some((kind, value)) = body {
            request = request.header("Content-Type", kind);
            bytes = value.to_string().into_bytes();
        }
        let answer = self.client.request(request.body(bytes)?);
        answer.await.with_context(|| format!("{method} {path}"))
    }

    /// Watches one object until `look` answers `Ok`. An `Err` means "not yet" and says what is missing.
    ///
    /// # Errors
    /// After the limit: what was still missing, and the object's status as it was last seen.
    pub async fn until<T>(
        &self,
        kind: Kind,
        name: &str,
        mut look: impl FnMut(&Value) -> Result<T>,
    ) -> Result<T> {
        let (_, own) = split(name);
        let path = format!("{}?fieldSelector=metadata.name={own}", kind.folder_of(name));
        self.watch(&path, &format!("{} {name}", kind.plural), |objects| {
            look(objects.first().context("there is none")?)
        })
        .await
    }

    /// Watches the objects of a kind in all namespaces, by label selector, until `look` answers `Ok`.
    ///
    /// # Errors
    /// As for `until`.
    pub async fn until_all<T>(
        &self,
        kind: Kind,
        labels: &str,
        look: impl FnMut(&[Value]) -> Result<T>,
    ) -> Result<T> {
        let what = format!("{} {labels}", kind.plural);
        self.watch(&by_labels(kind, labels), &what, look).await
    }

    /// Waits until the object is not there.
    pub async fn gone(&self, kind: Kind, name: &str) -> Result<()> {
        let (_, own) = split(name);
        let path = format!("{}?fieldSelector=metadata.name={own}", kind.folder_of(name));
        self.watch(
            &path,
            &format!("the end of {} {name}", kind.plural),
            |objects| {
                ensure!(objects.is_empty(), "it is there");
                Ok(())
            },
        )
        .await
    }

    /// Waits until a pod is Running and all its containers are ready; gives the pod.
    pub async fn ready(&self, pod: &str) -> Result<Value> {
        self.until(POD, pod, |pod| {
            let conditions = pod["status"]["conditions"].as_array();
            let ready = conditions
                .into_iter()
                .flatten()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
            ensure!(ready, "it is not ready");
            Ok(pod.clone())
        })
        .await
    }

    /// Waits until a pod has this phase; gives the pod.
    pub async fn phase(&self, pod: &str, phase: &str) -> Result<Value> {
        self.until(POD, pod, |pod| {
            ensure!(pod["status"]["phase"] == phase, "it is not {phase}");
            Ok(pod.clone())
        })
        .await
    }

    /// Waits for an event about an object (`name` or `namespace/name`) with this reason, whose message has `word` in it;
    /// gives the message.
    pub async fn told(&self, name: &str, reason: &str, word: &str) -> Result<String> {
        let (_, own) = split(name);
        let about = format!("involvedObject.name={own},reason={reason}");
        let about = about.replace(',', "%2C").replace('=', "%3D");
        let path = format!("{}?fieldSelector={about}", EVENT.folder_of(name));
        self.watch(
            &path,
            &format!("an event {reason} about {name}"),
            |events| {
                let messages = events.iter().filter_map(|event| event["message"].as_str());
                let mut found = messages.filter(|message| message.contains(word));
                let message = found
                    .next()
                    .with_context(|| format!("none says {word:?}"))?;
                Ok(message.to_owned())
            },
        )
        .await
    }

    async fn watch<T>(
        &self,
        path: &str,
        what: &str,
        mut look: impl FnMut(&[Value]) -> Result<T>,
    ) -> Result<T> {
        let end = Instant::now() + self.limit;
        let mut last = Last {
            missing: anyhow!("nothing was seen"),
            objects: Vec::new(),
        };
        loop {
            let round = self.watch_once(path, &mut last, &mut look);
            match timeout_at(end.into(), round).await {
                Ok(Ok(Some(fact))) => return Ok(fact),
                // The watch ended, as every watch does after some minutes.
                Ok(Ok(None)) => {}
                Ok(Err(error)) => {
                    last.missing = error;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(_) => {}
            }
            if Instant::now() >= end {
                let seconds = self.limit.as_secs_f32();
                let seen: Vec<String> = last.objects.iter().map(summary).collect();
                let seen = seen.join("\n");
                let said = format!("waited {seconds:.0} s for {what}; last seen: {seen}");
                return Err(last.missing).context(said);
            }
        }
    }

    /// One list and the watch that goes on from it.
    async fn watch_once<T>(
        &self,
        path: &str,
        last: &mut Last,
        look: &mut impl FnMut(&[Value]) -> Result<T>,
    ) -> Result<Option<T>> {
        let list = self.call(Method::GET, path, None).await?;
        let mut objects: BTreeMap<String, Value> = items(&list)
            .into_iter()
            .map(|object| (uid(&object), object))
            .collect();
        let version = list["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default();
        let path = format!("{path}{}watch=true&resourceVersion={version}", joint(path));
        let request = Request::get(path).body(Vec::new())?;
        let mut events = None;
        loop {
            last.objects = objects.values().cloned().collect();
            match look(&last.objects) {
                Ok(fact) => return Ok(Some(fact)),
                Err(missing) => last.missing = missing,
            }
            if events.is_none() {
                let request = request.clone();
                events = Some(Box::pin(
                    self.client.request_events::<Value>(request).await?,
                ));
            }
            let Some(stream) = events.as_mut() else {
                return Ok(None);
            };
            match pin!(stream).try_next().await? {
                None => return Ok(None),
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                    objects.insert(uid(&object), object);
                }
                Some(WatchEvent::Deleted(object)) => drop(objects.remove(&uid(&object))),
                Some(WatchEvent::Bookmark(_)) => {}
                Some(WatchEvent::Error(status)) => return Err(anyhow!("{status:?}")),
            }
        }
    }
}

/// What was known when a wait ended.
struct Last {
    missing: anyhow::Error,
    objects: Vec<Value>,
}

fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn by_labels(kind: Kind, labels: &str) -> String {
    // Selectors of tests need no other escape.
    let labels = labels.replace(',', "%2C").replace('=', "%3D");
    format!("{}?labelSelector={labels}", kind.everywhere())
}

fn joint(path: &str) -> char {
    if path.contains('?') { '&' } else { '?' }
}

/// A failure's reader wants the status, and what the object is.
fn summary(object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let deleted = &object["metadata"]["deletionTimestamp"];
    format!("{name} (deleted: {deleted}): {}", object["status"])
}
