//! What the keeper asks of the probe.

use gpu_model::GpuUuid;
use gpu_probe::Probe;
use tokio::sync::mpsc;

/// Asks on their way. Some for each GPU of a large machine; what does not fit is dropped, because the
/// probe's slow poll reads every GPU anyway.
const ASKS: usize = 256;

/// A wish to look again, answered by reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeAsk {
    /// Scan all GPUs.
    Rescan,
    /// Read this one.
    Read(GpuUuid),
}

/// Takes asks for this probe, so that the keeper never waits for it.
pub fn forward_to(probe: Probe) -> mpsc::Sender<ProbeAsk> {
    let (asks, mut take) = mpsc::channel(ASKS);
    drop(base_daemon::spawn("gpu-asks", async move {
        while let Some(ask) = take.recv().await {
            match ask {
                ProbeAsk::Rescan => probe.rescan().await,
                ProbeAsk::Read(gpu) => probe.read(gpu).await,
            }
        }
    }));
    asks
}
