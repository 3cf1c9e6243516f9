//! How a command ends.

use std::io;
use std::process::ExitCode;

use crate::output::note;
use crate::source::AgentError;

/// Exit codes. 2 is given by the parser of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: asked and answered.
    Fine,
    /// 1: something is wrong, or what was named does not exist.
    Problem,
    /// 3: only the agent could have told, and it does not answer.
    NoAgent,
    /// 4: part of what is shown could not be read.
    Partial,
}

/// Why a command has nothing to show.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}; {advice}", advice = .0.advice())]
    Agent(AgentError),
    #[error("the output cannot be written: {0}")]
    Write(#[from] io::Error),
}

impl From<AgentError> for CommandError {
    fn from(error: AgentError) -> Self {
        Self::Agent(error)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Problem => 1,
            Exit::NoAgent => 3,
            Exit::Partial => 4,
        })
    }
}

impl CommandError {
    /// Says it, and how the program ends.
    pub(crate) fn report(&self) -> Exit {
        match self {
            // Whoever read the output has seen enough: `gpuctl list | head -1`.
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => return Exit::Fine,
            _ => note(&self.to_string()),
        }
        match self {
            Self::Agent(_) => Exit::NoAgent,
            Self::NotFound(_) | Self::Write(_) => Exit::Problem,
        }
    }
}
