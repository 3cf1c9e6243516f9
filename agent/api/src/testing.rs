//! An API server in memory, for tests.
//!
//! It keeps objects by collection (`/api/v1/namespaces/default/secrets`), lists, gives and watches them
//! with field selectors, and records what it was asked. Whatever else it shall answer is scripted.

mod body;
mod store;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;

use body::Answer;
use store::Store;

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The query as it was sent, with its escapes.
    pub(crate) query: String,
    pub(crate) body: Value,
}

impl Asked {
    /// Whether it is a watch.
    pub(crate) fn is_watch(&self) -> bool {
        self.query.contains("watch=true")
    }
}

type Script = Box<dyn FnMut(&Asked) -> (u16, Value) + Send>;

/// The server. Clones are the same one.
#[derive(Clone)]
pub(crate) struct FakeApi {
    state: Arc<Mutex<State>>,
    asked: Arc<watch::Sender<usize>>,
}

#[derive(Default)]
struct State {
    store: Store,
    is_down: bool,
    /// Answers that are given once each, before anything else.
    once: VecDeque<(Method, String, u16, Value)>,
    always: Vec<(Method, String, Script)>,
    asked: Vec<Asked>,
}

impl FakeApi {
    /// A server without objects.
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            asked: Arc::new(watch::Sender::new(0)),
        }
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        Client::new(Service(self.clone()), "default")
    }

    /// Puts an object into a collection, or another in its place; watches hear of it.
    pub(crate) fn put(&self, collection: &str, object: Value) {
        self.state().store.put(collection, object);
    }

    /// Takes an object away; watches hear of it.
    pub(crate) fn remove(&self, collection: &str, name: &str) {
        self.state().store.remove(collection, name);
    }

    /// Answers the next request of a method and path with a status and a body.
    pub(crate) fn once(&self, method: Method, path: &str, code: u16, body: Value) {
        let once = (method, path.to_owned(), code, body);
        self.state().once.push_back(once);
    }

    /// Answers all requests of a method and path.
    pub(crate) fn always(
        &self,
        method: Method,
        path: &str,
        script: impl FnMut(&Asked) -> (u16, Value) + Send + 'static,
    ) {
        let always = (method, path.to_owned(), Box::new(script) as Script);
        self.state().always.push(always);
    }

    /// Away: requests fail and watches break. Back: everything is as it was.
    pub(crate) fn set_down(&self, is_down: bool) {
        let mut state = self.state();
        state.is_down = is_down;
        if is_down {
            state.store.break_watches();
        }
    }

    /// Watches that somebody listens to.
    pub(crate) fn open_watches(&self) -> usize {
        self.state().store.open_watches()
    }

    /// What was asked at a path so far.
    pub(crate) fn asked(&self, path: &str) -> Vec<Asked> {
        let state = self.state();
        let all = state.asked.iter();
        all.filter(|asked| asked.path == path).cloned().collect()
    }

    /// Waits until so many requests came in at a path.
    pub(crate) async fn wait_asked(&self, path: &str, count: usize) {
        let mut asked = self.asked.subscribe();
        let enough = asked.wait_for(|_| self.asked(path).len() >= count);
        let _ = enough.await;
    }

    fn answer(&self, asked: Asked) -> Result<Response<Answer>, Down> {
        let mut state = self.state();
        state.asked.push(asked.clone());
        if state.is_down {
            return Err(Down);
        }
        let fits = |method: &Method, path: &str| *method == asked.method && path == asked.path;
        let once = state.once.iter();
        let mut once = once.enumerate().filter(|(_, it)| fits(&it.0, &it.1));
        if let Some((index, _)) = once.next()
            && let Some((_, _, code, body)) = state.once.remove(index)
        {
            return Ok(response(code, &body));
        }
        let mut always = state.always.iter_mut();
        if let Some((_, _, script)) = always.find(|it| fits(&it.0, &it.1)) {
            let (code, body) = script(&asked);
            return Ok(response(code, &body));
        }
        if asked.method != Method::GET {
            return Ok(response(405, &failure(405, "nothing is scripted for this")));
        }
        if asked.is_watch() {
            let answer = Answer::events(state.store.watch(&asked));
            return Ok(Response::new(answer));
        }
        let (code, body) = state.store.get(&asked);
        Ok(response(code, &body))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A `Status` as the API server sends it.
pub(crate) fn failure(code: u16, message: &str) -> Value {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        _ => "",
    };
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message,
    })
}

fn response(code: u16, body: &Value) -> Response<Answer> {
    let mut response = Response::new(Answer::whole(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).expect("a status");
    response
}

/// No connection.
#[derive(Debug, thiserror::Error)]
#[error("connection refused")]
struct Down;

struct Service(FakeApi);

impl tower::Service<Request<Body>> for Service {
    type Response = Response<Answer>;
    type Error = Down;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Answer>, Down>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Down>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let api = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(|_| Down)?.to_bytes();
            let answer = api.answer(Asked {
                method: parts.method,
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            });
            api.asked.send_modify(|count| *count += 1);
            answer
        })
    }
}
