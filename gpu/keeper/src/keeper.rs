//! The handle that desks and the agent hold.

use std::path::PathBuf;
use std::sync::Arc;

use gpu_cdi::Site;
use gpu_model::{Ask, Owner, OwnerId, ProbeReport};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::adopt::Observed;
use crate::hold::Grant;
use crate::notice::Notice;
use crate::probe::ProbeAsk;
use crate::refusal::Refusal;
use crate::snapshot::GpuSnapshot;
use crate::task::Task;

/// Commands on their way. Pod starts are bounded well below; a sender that finds it full waits its turn.
const COMMANDS: usize = 64;
/// Notices that a slow reader may be behind; then it misses the oldest, and the snapshot still has the state.
const NOTICES: usize = 256;

/// What a keeper needs to know.
#[derive(Clone, Debug)]
pub struct KeeperSettings {
    /// File of the journal; its folder exists.
    pub journal: PathBuf,
    /// Folder for the CDI document, for instance `/var/run/cdi`.
    pub cdi_folder: PathBuf,
    /// Where the driver's files are, and the program that runs hooks.
    pub site: Site,
    /// Identity of this boot, from `/proc/sys/kernel/random/boot_id`: another one means that all GPUs were reset.
    pub boot: String,
}

/// Handle of the one owner of all GPUs. Cheap to clone; the owner ends when the last handle is dropped.
#[derive(Clone, Debug)]
pub struct Keeper {
    commands: mpsc::Sender<Command>,
    snapshots: watch::Receiver<Arc<GpuSnapshot>>,
    changes: watch::Receiver<u64>,
    notices: broadcast::Sender<Notice>,
}

/// What the owner task can be told.
#[derive(Debug)]
pub(crate) enum Command {
    Hold(
        Owner,
        Vec<Ask>,
        oneshot::Sender<Result<Vec<Grant>, Refusal>>,
    ),
    Release(OwnerId, oneshot::Sender<()>),
    Adopt(Vec<Observed>, oneshot::Sender<()>),
}

/// Where the owner task publishes.
#[derive(Debug)]
pub(crate) struct Outlets {
    pub(crate) snapshots: watch::Sender<Arc<GpuSnapshot>>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) notices: broadcast::Sender<Notice>,
}

impl Keeper {
    /// Starts the owner: reads its journal and takes reports from then on. Must be called in a tokio runtime.
    pub fn start(
        settings: KeeperSettings,
        asks: mpsc::Sender<ProbeAsk>,
        reports: mpsc::Receiver<ProbeReport>,
    ) -> Self {
        let (commands, take_commands) = mpsc::channel(COMMANDS);
        let (snapshots, see_snapshots) = watch::channel(Arc::default());
        let (changes, see_changes) = watch::channel(0);
        let (notices, _) = broadcast::channel(NOTICES);
        let outlets = Outlets {
            snapshots,
            changes,
            notices: notices.clone(),
        };
        let task = Task::new(settings, asks, outlets);
        drop(base_daemon::spawn(
            "gpu-keeper",
            task.run(take_commands, reports),
        ));
        Self {
            commands,
            snapshots: see_snapshots,
            changes: see_changes,
            notices,
        }
    }

    /// Holds devices for all containers of an owner, all or nothing; the grants come in the order of the asks. They
    /// are on disk when this returns. The same owner asking again gets the same devices.
    pub async fn hold(&self, owner: Owner, asks: Vec<Ask>) -> Result<Vec<Grant>, Refusal> {
        let (answer, wait) = oneshot::channel();
        let sent = self.commands.send(Command::Hold(owner, asks, answer)).await;
        let ended = || Refusal::wait("KeeperEnded", "the GPU keeper has ended; restart the agent");
        sent.map_err(|_| ended())?;
        wait.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Gives back everything an owner holds. Repeatable. Only when its containers are really gone.
    pub async fn release(&self, owner: OwnerId) {
        let (answer, wait) = oneshot::channel();
        if self
            .commands
            .send(Command::Release(owner, answer))
            .await
            .is_ok()
        {
            // An error means that the keeper ended meanwhile; its next life starts from the journal.
            let _ = wait.await;
        }
    }

    /// Takes in all living containers with devices, once after a start. Nothing is granted before. Containers
    /// that the journal knows are left as they are in it.
    pub async fn adopt(&self, observed: Vec<Observed>) {
        let (answer, wait) = oneshot::channel();
        if self
            .commands
            .send(Command::Adopt(observed, answer))
            .await
            .is_ok()
        {
            let _ = wait.await;
        }
    }

    /// Everything about the GPUs, the newest first. An answered command is in it.
    pub fn snapshots(&self) -> watch::Receiver<Arc<GpuSnapshot>> {
        self.snapshots.clone()
    }

    /// Moves whenever a refusal might turn into a grant, or into another refusal.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// Notices from now on.
    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }
}
