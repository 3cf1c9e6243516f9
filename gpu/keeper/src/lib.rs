//! The key cabinet: the one owner of what GPUs there are, how well they are, and who holds them.
//!
//! In: reports of the probe, asks of the desks ([`Keeper::hold`], [`Keeper::release`]), and once after a start
//! what the runtime shows ([`Keeper::adopt`]). Out: grants and refusals, a snapshot of everything
//! ([`GpuSnapshot`]) whenever it changed, a counter that moves when a refusal might turn into a grant, notices of
//! faults, recoveries and refusals, the CDI document, and a journal.
//!
//! - A grant is on disk before it is answered. One exclusive device never has two holders.
//! - Nothing is granted before adoption; what the runtime shows outranks a journal that lacks it.
//! - No GPU is asked anything while somebody waits for a grant: grants come from what is known already.
//! - No lock, no polling: one task, woken by messages and by deadlines that are computed.
//! - Nothing here knows gRPC, Kubernetes objects or resource names.

mod adopt;
mod blocking;
mod clock;
mod documents;
mod driver;
mod effects;
mod health;
mod hold;
mod journal;
mod keeper;
mod notice;
mod openness;
mod probe;
mod refusal;
mod report;
mod snapshot;
mod state;
mod task;

pub use adopt::{Observed, Seen};
pub use driver::{driver_reason, driver_words};
pub use hold::Grant;
pub use keeper::{Keeper, KeeperSettings};
pub use notice::{Notice, Subject};
pub use probe::{ProbeAsk, forward_to};
pub use refusal::Refusal;
pub use snapshot::{GpuHolder, GpuSnapshot, GpuView, Problem};
