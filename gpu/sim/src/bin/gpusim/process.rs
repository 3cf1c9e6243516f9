//! Processes on GPUs.

use nvidia_ml::{Gpu, Process, ProcessKind, State};

use crate::arguments::{Kind, ProcessAdd, ProcessCommand, ProcessRemove};
use crate::failure::Failure;
use crate::target;

/// Lets processes appear or go.
pub(crate) fn process(state: &mut State, command: ProcessCommand) -> Result<String, Failure> {
    match command {
        ProcessCommand::Add(options) => add(state, &options),
        ProcessCommand::Remove(options) => remove(state, &options),
    }
}

fn add(state: &mut State, options: &ProcessAdd) -> Result<String, Failure> {
    let kind = match options.kind {
        Kind::Compute => ProcessKind::Compute,
        Kind::Graphics => ProcessKind::Graphics,
        Kind::Mps => ProcessKind::Mps,
    };
    let gpus = target::change(state, &options.gpu, |gpu| {
        check_place(gpu, options)?;
        gpu.processes.push(Process {
            pid: options.pid,
            kind,
            used_memory: options.memory,
            gpu_instance: options.place.gi,
            compute_instance: options.place.ci,
        });
        gpu.memory.used = gpu.memory.used.saturating_add(options.memory);
        Ok(())
    })?;
    Ok(format!(
        "{gpus}: process {} uses {} bytes",
        options.pid, options.memory
    ))
}

/// On a GPU in MIG mode a process is in an instance that exists.
fn check_place(gpu: &Gpu, options: &ProcessAdd) -> Result<(), Failure> {
    let Some(wanted) = options.place.gi else {
        return Ok(());
    };
    let mut instances = gpu.mig.iter().flat_map(|mig| &mig.instances);
    let instance = instances.find(|instance| instance.id == wanted);
    let exists =
        |id: u32| instance.is_some_and(|found| found.compute.iter().any(|one| one.id == id));
    if instance.is_some() && options.place.ci.is_none_or(exists) {
        return Ok(());
    }
    let message = format!(
        "GPU {} has no such MIG instance; `gpusim show` lists them",
        gpu.minor
    );
    Err(Failure::WrongState(message))
}

fn remove(state: &mut State, options: &ProcessRemove) -> Result<String, Failure> {
    let mut removed = 0;
    let gpus = target::change(state, &options.gpu, |gpu| {
        let (gone, left): (Vec<Process>, Vec<Process>) = gpu
            .processes
            .iter()
            .partition(|process| process.pid == options.pid);
        gpu.processes = left;
        removed += gone.len();
        for process in gone {
            gpu.memory.used = gpu.memory.used.saturating_sub(process.used_memory);
        }
        Ok(())
    })?;
    if removed == 0 {
        return Err(Failure::WrongState(format!(
            "{gpus}: no process {}",
            options.pid
        )));
    }
    Ok(format!("{gpus}: process {} is gone", options.pid))
}
