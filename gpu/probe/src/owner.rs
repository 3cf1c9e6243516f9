//! The task that owns the child: it does what the monitor decides.

use std::future::pending;
use std::io;
use std::time::Duration;

use gpu_model::{GpuUuid, ProbeReport};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use crate::monitor::{Effect, LibraryPlaces, Monitor};
use crate::outbox::Outbox;
use crate::process::{self, ChildProcess, Living, Started};
use crate::settings::ProbeSettings;
use crate::signs::Signs;
use crate::wire::{self, FromChild, ToChild};

/// Reports on their way. What waits beyond these is kept in the outbox, where newer replaces older.
const REPORTS: usize = 16;

/// Wishes on their way: they are taken at once.
const WISHES: usize = 16;

/// Messages of the child on their way. When the owner is slow, the child's own queue fills up next.
const MESSAGES: usize = 16;

/// Requests are small and few, so they always fit into the socket's buffer, unless the child has read
/// nothing for long. Then its heartbeat fails, too.
const WRITE_DEADLINE: Duration = Duration::from_secs(1);

/// Between the end of the child's stream and its exit status.
const END_DEADLINE: Duration = Duration::from_secs(1);

/// What the holder of a probe may ask for.
#[derive(Debug)]
enum Wish {
    Rescan,
    Read(GpuUuid),
    Stop(oneshot::Sender<()>),
}

/// Handle of a running probe. When the last one is dropped, or nobody takes reports any more, it stops.
#[derive(Clone, Debug)]
pub struct Probe {
    wishes: mpsc::Sender<Wish>,
}

impl Probe {
    /// Looks at all GPUs now. What changed is reported.
    pub async fn rescan(&self) {
        self.wish(Wish::Rescan).await;
    }

    /// Reads one GPU now. Its reading is reported, unless it does not answer.
    pub async fn read(&self, gpu: GpuUuid) {
        self.wish(Wish::Read(gpu)).await;
    }

    /// Ends it. The child has been killed when this returns, also when it hung.
    pub async fn stop(&self) {
        let (done, wait) = oneshot::channel();
        self.wish(Wish::Stop(done)).await;
        // An error means that it has ended already.
        let _ = wait.await;
    }

    async fn wish(&self, wish: Wish) {
        if self.wishes.send(wish).await.is_err() {
            tracing::debug!("the probe has ended");
        }
    }
}

/// Starts a probe. Must be called in a tokio runtime.
pub fn start(settings: ProbeSettings) -> (Probe, mpsc::Receiver<ProbeReport>) {
    let (wishes, take_wishes) = mpsc::channel(WISHES);
    let (reports, take_reports) = mpsc::channel(REPORTS);
    let owner = Owner::new(settings, take_wishes, reports);
    drop(base_daemon::spawn("gpu-probe", owner.run()));
    (Probe { wishes }, take_reports)
}

#[derive(Debug)]
struct Owner {
    settings: ProbeSettings,
    monitor: Monitor,
    outbox: Outbox,
    wishes: mpsc::Receiver<Wish>,
    reports: mpsc::Sender<ProbeReport>,
    living: Living,
    child: Option<Connection>,
}

/// The child there is.
#[derive(Debug)]
struct Connection {
    // Dropping it kills the child.
    _process: ChildProcess,
    requests: OwnedWriteHalf,
    messages: mpsc::Receiver<FromChild>,
    ended: oneshot::Receiver<String>,
    reader: JoinHandle<Result<(), base_daemon::Panicked>>,
}

/// Something that happened.
#[derive(Debug)]
enum Happened {
    Heard(FromChild),
    Ended(String),
    Wished(Wish),
    Taken,
    Sign,
    Time,
    Over,
}

impl Owner {
    fn new(
        settings: ProbeSettings,
        wishes: mpsc::Receiver<Wish>,
        reports: mpsc::Sender<ProbeReport>,
    ) -> Self {
        let places = LibraryPlaces {
            file: settings.library.clone(),
            folders: settings.search.clone(),
            sysfs: settings.sysfs.clone(),
        };
        Self {
            monitor: Monitor::new(now(), places),
            settings,
            outbox: Outbox::default(),
            wishes,
            reports,
            living: Living::default(),
            child: None,
        }
    }

    async fn run(mut self) {
        let mut signs = Signs::watch(&self.settings);
        loop {
            self.act().await;
            match self.wait(&mut signs).await {
                Happened::Heard(message) => {
                    tracing::trace!(?message, "NVML");
                    self.monitor.heard(now(), message);
                }
                Happened::Ended(how) => {
                    self.child = None;
                    self.monitor.ended(now(), &how);
                }
                Happened::Wished(Wish::Rescan) => self.monitor.rescan(now()),
                Happened::Wished(Wish::Read(gpu)) => self.monitor.read(now(), &gpu),
                Happened::Wished(Wish::Stop(done)) => {
                    self.child = None;
                    let _ = done.send(());
                    return;
                }
                Happened::Taken => {}
                Happened::Sign => self.monitor.nudge(now()),
                Happened::Time => self.monitor.tick(now()),
                Happened::Over => return,
            }
        }
    }

    /// Waits for the next thing to happen. What the child said comes before the time: after a long pause
    /// of this process, its answers must not be taken for late. Every arm is safe to cancel.
    async fn wait(&mut self, signs: &mut Signs) -> Happened {
        let wake = self.monitor.wake().map(Instant::from_std);
        tokio::select! {
            biased;
            happened = listen(&mut self.child) => happened,
            wish = self.wishes.recv() => wish.map_or(Happened::Over, Happened::Wished),
            permit = self.reports.reserve(), if !self.outbox.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(report) = self.outbox.pop() {
                        permit.send(report);
                    }
                    Happened::Taken
                }
                Err(_) => Happened::Over,
            },
            () = self.reports.closed() => Happened::Over,
            () = signs.next() => Happened::Sign,
            () = async { match wake { Some(at) => sleep_until(at).await, None => pending().await } } =>
                Happened::Time,
        }
    }

    /// Does what the monitor has decided.
    async fn act(&mut self) {
        loop {
            let effects = self.monitor.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Start => self.start().await,
                    Effect::Kill => self.child = None,
                    Effect::Send(message) => self.send(&message).await,
                    Effect::Report(report) => self.outbox.push(report),
                }
            }
        }
    }

    async fn start(&mut self) {
        let started = process::start(&self.settings, &self.living).await;
        match started
            .map_err(|error| error.to_string())
            .and_then(|started| Connection::open(started).map_err(|error| error.to_string()))
        {
            Ok(connection) => {
                self.child = Some(connection);
                self.monitor.spawned(now());
            }
            Err(why) => self.monitor.ended(now(), &why),
        }
    }

    async fn send(&mut self, message: &ToChild) {
        let Some(child) = &mut self.child else { return };
        let written = match wire::encode(message) {
            Ok(frame) => timeout(WRITE_DEADLINE, child.requests.write_all(&frame))
                .await
                .unwrap_or_else(|_| {
                    Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "it reads no requests",
                    ))
                }),
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            // Half a frame may have been sent: this child is of no use any more.
            self.child = None;
            self.monitor.ended(now(), &error.to_string());
        }
    }
}

impl Connection {
    fn open(started: Started) -> io::Result<Self> {
        started.socket.set_nonblocking(true)?;
        let (answers, requests) = UnixStream::from_std(started.socket)?.into_split();
        let (sender, messages) = mpsc::channel(MESSAGES);
        Ok(Self {
            _process: started.process,
            requests,
            messages,
            ended: started.ended,
            reader: base_daemon::spawn("nvml-reader", read_all(answers, sender)),
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Reads messages until the stream ends or makes no sense.
async fn read_all(mut answers: OwnedReadHalf, messages: mpsc::Sender<FromChild>) {
    loop {
        match wire::read_async(&mut answers).await {
            Ok(message) => {
                if messages.send(message).await.is_err() {
                    return;
                }
            }
            Err(error) => {
                if error.kind() != io::ErrorKind::UnexpectedEof {
                    tracing::warn!(%error, "the NVML process says what makes no sense");
                }
                return;
            }
        }
    }
}

/// The next message of the child, or its end. Safe to cancel.
async fn listen(child: &mut Option<Connection>) -> Happened {
    let Some(child) = child else {
        return pending().await;
    };
    if let Some(message) = child.messages.recv().await {
        return Happened::Heard(message);
    }
    // The stream is over because the process is ending; how it ends is known a moment later.
    let how = timeout(END_DEADLINE, &mut child.ended).await;
    Happened::Ended(
        how.ok()
            .and_then(Result::ok)
            .unwrap_or_else(|| "its stream ended".to_owned()),
    )
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}
