//! What parent and child say to each other, and how it is put on a socket.
//!
//! A frame is a length in four bytes, little endian, and a JSON document of that length. Both ends are
//! the same executable, so there is no version; a frame that cannot be read ends the child.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use gpu_model::{DriverFacts, DriverState, GpuEvent, GpuFacts, GpuUuid, Reading, TopologyLevel};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest frame. The longest that occurs is a reading with some thousand processes, about 200 KiB;
/// a length above this is a broken stream, and memory for it is never reserved.
const MAX_FRAME: usize = 1 << 20;

/// From the parent.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToChild {
    /// The first frame: load the library and initialise it.
    Open {
        /// This very library.
        file: Option<PathBuf>,
        /// Folders that are looked into before the loader's.
        folders: Vec<PathBuf>,
        /// Where sysfs is mounted.
        sysfs: PathBuf,
    },
    /// Are you there?
    Ping,
    /// Ask NVML.
    Ask {
        /// Comes back with the answer.
        id: u64,
        /// Do not wait for a call that hangs: leave its thread behind and take a new one.
        fresh: bool,
        /// What to ask.
        question: Question,
    },
    /// Relay the events of a GPU.
    Watch {
        /// Its index.
        index: u32,
        /// Its UUID.
        gpu: GpuUuid,
    },
    /// Stop that.
    Unwatch(GpuUuid),
}

/// Something to ask NVML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// Versions and the number of GPUs.
    Count,
    /// Facts of the GPU at an index.
    Facts(u32),
    /// A reading of the GPU at an index, if it is still this one.
    Reading(u32, GpuUuid),
    /// Levels between all pairs of GPUs at these indices.
    Levels(Vec<u32>),
}

/// A row of calls, one after the other, in one thread of the child. What hangs there holds up nothing
/// else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Lane {
    /// Calls that concern no GPU.
    Library,
    /// Calls that concern two GPUs, so that one that hangs does not hold up the other's lane.
    Pairs,
    /// Calls that concern the GPU at this index.
    Gpu(u32),
}

impl Question {
    /// The lane it belongs to.
    pub(crate) fn lane(&self) -> Lane {
        match self {
            Self::Count => Lane::Library,
            Self::Levels(_) => Lane::Pairs,
            Self::Facts(index) | Self::Reading(index, _) => Lane::Gpu(*index),
        }
    }
}

/// From the child.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum FromChild {
    /// The library is open, or why not.
    Opened(DriverState),
    /// I am here, and these calls have not returned yet.
    Pong(Vec<Busy>),
    /// Answer to the question with this id.
    Answer(u64, Result<Answer, Failure>),
    /// Events of this GPU come from now on.
    Watching(GpuUuid),
    /// They come no longer.
    Unwatched(GpuUuid, Failure),
    /// One came.
    Event(GpuEvent),
    /// More came than could be relayed.
    Missed,
}

/// A call that has not returned yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Busy {
    pub(crate) lane: Lane,
    /// The NVML function.
    pub(crate) call: String,
}

/// What NVML said.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Versions and the number of GPUs as the driver tells it, however absurd.
    Count(DriverFacts, u32),
    Facts(Box<GpuFacts>),
    Reading(Box<Reading>),
    /// Rows and columns in the order of the question.
    Levels(Vec<Vec<TopologyLevel>>),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Failure {
    /// A call failed.
    Fault {
        /// What failed and how, in words.
        detail: String,
        /// NVML return code.
        code: u32,
    },
    /// The GPU answers what cannot be.
    Garbage(String),
    /// Another GPU is at that index now, or none.
    Moved,
    /// Too many calls of this lane hang already.
    Stuck,
}

/// Puts a message on a stream.
pub(crate) fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)?;
    let length = frame.len() - 4;
    if length > MAX_FRAME {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the message is too long for a frame",
        ));
    }
    let length = u32::try_from(length).unwrap_or(0).to_le_bytes();
    for (place, byte) in frame.iter_mut().zip(length) {
        *place = byte;
    }
    Ok(frame)
}

/// Writes a message to a stream that blocks.
pub(crate) fn write<T: Serialize>(stream: &mut impl Write, message: &T) -> io::Result<()> {
    stream.write_all(&encode(message)?)
}

/// Reads a message from a stream that blocks.
pub(crate) fn read<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut content = vec![0; checked(length)?];
    stream.read_exact(&mut content)?;
    Ok(serde_json::from_slice(&content)?)
}

/// Reads a message. Not safe to cancel: half a frame would be lost.
pub(crate) async fn read_async<T: DeserializeOwned>(
    stream: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).await?;
    let mut content = vec![0; checked(length)?];
    stream.read_exact(&mut content).await?;
    Ok(serde_json::from_slice(&content)?)
}

fn checked(length: [u8; 4]) -> io::Result<usize> {
    usize::try_from(u32::from_le_bytes(length))
        .ok()
        .filter(|length| *length <= MAX_FRAME)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the frame is too long"))
}

#[cfg(test)]
mod tests;
