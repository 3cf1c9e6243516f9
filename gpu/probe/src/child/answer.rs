//! Answers to questions, by calls into NVML.

use std::path::PathBuf;
use std::sync::OnceLock;

use gpu_model::{GpuUuid, TopologyLevel};
use gpu_nvml::{Fault, Gpu, Library, Unreadable};

use crate::wire::{Answer, Failure, Question};

/// What every thread needs to answer.
#[derive(Debug)]
pub(super) struct Access {
    /// Set once it is open; nothing is asked before.
    pub(super) library: OnceLock<Library>,
    pub(super) sysfs: PathBuf,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault {
            detail: fault.to_string(),
            code: fault.code.0,
        }
    }
}

impl From<Unreadable> for Failure {
    fn from(unreadable: Unreadable) -> Self {
        match unreadable {
            Unreadable::Fault(fault) => fault.into(),
            Unreadable::Garbage(_) => Self::Garbage(unreadable.to_string()),
        }
    }
}

impl Access {
    /// Answers. May hang.
    pub(super) fn answer(&self, question: Question) -> Result<Answer, Failure> {
        let library = self.library()?;
        match question {
            Question::Count => Ok(Answer::Count(library.driver()?, library.count()?)),
            Question::Facts(index) => {
                let facts = library.gpu(index)?.facts(index, &self.sysfs)?;
                Ok(Answer::Facts(Box::new(facts)))
            }
            Question::Reading(index, gpu) => {
                Ok(Answer::Reading(Box::new(self.gpu(index, &gpu)?.reading()?)))
            }
            Question::Levels(indices) => levels(library, &indices),
        }
    }

    /// The GPU at an index, if it is this one.
    pub(super) fn gpu(&self, index: u32, expected: &GpuUuid) -> Result<Gpu<'_>, Failure> {
        let gpu = self.library()?.gpu(index)?;
        if gpu.uuid()? == *expected {
            Ok(gpu)
        } else {
            Err(Failure::Moved)
        }
    }

    fn library(&self) -> Result<&Library, Failure> {
        self.library.get().ok_or(Failure::Moved)
    }
}

/// Levels are the same both ways, so each pair is asked once.
fn levels(library: &Library, indices: &[u32]) -> Result<Answer, Failure> {
    let gpus = indices
        .iter()
        .map(|index| library.gpu(*index))
        .collect::<Result<Vec<_>, _>>()?;
    let mut levels = vec![vec![TopologyLevel::Internal; gpus.len()]; gpus.len()];
    for (row, first) in gpus.iter().enumerate() {
        for (column, second) in gpus.iter().enumerate().skip(row + 1) {
            let level = first.level(second)?;
            for (row, column) in [(row, column), (column, row)] {
                if let Some(place) = levels.get_mut(row).and_then(|row| row.get_mut(column)) {
                    *place = level;
                }
            }
        }
    }
    Ok(Answer::Levels(levels))
}
