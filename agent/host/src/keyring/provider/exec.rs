//! Runs a provider's program: the request on its standard input, the answer on its standard output.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::config::{ProviderConfig, ProviderError};
use super::duration;

/// Time for one run (Kubernetes 1.37).
const LIMIT: Duration = Duration::from_secs(60);
/// Most bytes of an answer that are read: many times what logins need.
const ANSWER: u64 = 10 << 20;
/// Most bytes of standard error that are told.
const COMPLAINT: u64 = 1 << 10;

/// A provider's program. Equal requests at the same time run it once.
pub(super) struct Program {
    path: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    api_version: String,
    permits: Arc<Semaphore>,
    limit: Duration,
    // A plain lock: held for map operations. Weak: a run that nobody waits for any more is killed.
    running: Mutex<HashMap<Request, WeakShared<Run>>>,
}

type Run = BoxFuture<'static, Result<Arc<Response>, Arc<ExecError>>>;

/// What the program is asked.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) image: String,
    /// Empty: not in the name of a ServiceAccount.
    pub(super) token: String,
    pub(super) annotations: BTreeMap<String, String>,
}

/// `CredentialProviderResponse`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Response {
    api_version: String,
    kind: String,
    pub(super) cache_key_type: CacheKeyType,
    cache_duration: Option<String>,
    pub(super) auth: Option<BTreeMap<String, Auth>>,
}

/// What other images an answer is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum CacheKeyType {
    Image,
    Registry,
    Global,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Auth {
    #[serde(default)]
    pub(super) username: String,
    #[serde(default)]
    pub(super) password: String,
}

/// Why there is no answer. Never says what the answer held.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExecError {
    #[error("{path} cannot be run")]
    Run {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} did not end within {} s and was killed", LIMIT.as_secs())]
    Late { path: PathBuf },
    #[error("{path} ended with {status}: {complaint}")]
    Failed {
        path: PathBuf,
        status: std::process::ExitStatus,
        complaint: String,
    },
    #[error("{path} did not answer with a CredentialProviderResponse of {api_version}")]
    Answer { path: PathBuf, api_version: String },
}

impl Response {
    /// How long the answer is good; `None`: as long as the configuration says.
    pub(super) fn good_for(&self) -> Option<Duration> {
        // One that cannot be read, or below zero, is good for nothing.
        let text = self.cache_duration.as_deref()?;
        Some(duration::parse(text).unwrap_or_default())
    }

    /// A password in it is this token.
    pub(super) fn echoes(&self, token: &str) -> bool {
        let mut auths = self.auth.iter().flatten();
        auths.any(|(_, auth)| auth.password == token)
    }
}

impl Program {
    pub(super) fn find(
        folder: &Path,
        config: &ProviderConfig,
        permits: Arc<Semaphore>,
    ) -> Result<Self, ProviderError> {
        let path = folder.join(&config.name);
        if !path.is_file() || access(&path, Access::EXEC_OK).is_err() {
            return Err(ProviderError::Provider {
                name: config.name.clone(),
                message: format!("{} is no program", path.display()),
            });
        }
        let variables = config.env.iter();
        Ok(Self {
            path,
            args: config.args.clone(),
            env: variables
                .map(|each| (each.name.clone(), each.value.clone()))
                .collect(),
            api_version: config.api_version.clone(),
            permits,
            limit: LIMIT,
            running: Mutex::default(),
        })
    }

    /// The answer of a run that is under way for the same request, or of a new one.
    pub(super) fn ask(&self, request: Request) -> Shared<Run> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(run) = running.get(&request).and_then(WeakShared::upgrade)
            && run.peek().is_none()
        {
            return run;
        }
        let run = self.run(&request).boxed().shared();
        running.retain(|_, run| run.upgrade().is_some());
        if let Some(weak) = run.downgrade() {
            running.insert(request, weak);
        }
        run
    }

    fn run(
        &self,
        request: &Request,
    ) -> impl Future<Output = Result<Arc<Response>, Arc<ExecError>>> + Send + 'static {
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            .envs(self.env.iter().cloned())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let input = message(request, &self.api_version);
        let (path, api_version) = (self.path.clone(), self.api_version.clone());
        let (permits, limit) = (Arc::clone(&self.permits), self.limit);
        async move {
            // The semaphore is never closed.
            let _permit = permits.acquire_owned().await.ok();
            let output = match timeout(limit, run(command, input)).await {
                Ok(Ok(output)) => output,
                Ok(Err(source)) => return Err(Arc::new(ExecError::Run { path, source })),
                Err(_) => return Err(Arc::new(ExecError::Late { path })),
            };
            if !output.status.success() {
                return Err(Arc::new(ExecError::Failed {
                    path,
                    status: output.status,
                    complaint: output.complaint,
                }));
            }
            let response = serde_json::from_slice::<Response>(&output.answer).ok();
            let right = |response: &Response| {
                response.kind == "CredentialProviderResponse" && response.api_version == api_version
            };
            match response.filter(right) {
                Some(response) => Ok(Arc::new(response)),
                None => Err(Arc::new(ExecError::Answer { path, api_version })),
            }
        }
    }
}

struct Output {
    status: std::process::ExitStatus,
    answer: Vec<u8>,
    complaint: String,
}

async fn run(mut command: Command, input: Vec<u8>) -> io::Result<Output> {
    let mut child = command.spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut answer, mut complaint) = (Vec::new(), Vec::new());
    // Side by side: a program may answer before it has read everything.
    let written = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its request may know what to answer all the same.
            drop(stdin.write_all(&input).await);
        }
    };
    let answered = async {
        if let Some(stdout) = stdout {
            stdout.take(ANSWER).read_to_end(&mut answer).await?;
        }
        Ok::<(), io::Error>(())
    };
    let complained = async {
        if let Some(mut stderr) = stderr {
            (&mut stderr)
                .take(COMPLAINT)
                .read_to_end(&mut complaint)
                .await?;
            tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await?;
        }
        Ok::<(), io::Error>(())
    };
    let ((), answered, complained, status) =
        tokio::join!(written, answered, complained, child.wait());
    answered?;
    complained?;
    Ok(Output {
        status: status?,
        answer,
        complaint: String::from_utf8_lossy(&complaint).trim().to_owned(),
    })
}

fn message(request: &Request, api_version: &str) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Message<'a> {
        kind: &'static str,
        api_version: &'a str,
        image: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        service_account_token: &'a str,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        service_account_annotations: &'a BTreeMap<String, String>,
    }
    let message = Message {
        kind: "CredentialProviderRequest",
        api_version,
        image: &request.image,
        service_account_token: &request.token,
        service_account_annotations: &request.annotations,
    };
    // Texts always turn into JSON; without a request the program says what it misses.
    serde_json::to_vec(&message).unwrap_or_default()
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
