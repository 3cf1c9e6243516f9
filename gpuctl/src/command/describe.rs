//! `gpuctl describe gpu`

use gpu_model::PciAddress;
use serde::Serialize;

use super::{Context, Done};
use crate::exit::{CommandError, Exit};
use crate::record::{Driver, Gpu, Machine, Origin};
use crate::view;

#[derive(Serialize)]
struct Description<'a> {
    source: Origin,
    driver: &'a Driver,
    gpu: &'a Gpu,
}

pub(super) async fn run(context: &Context, name: &str) -> Done {
    let machine = context.source.machine().await;
    let gpu = find(&machine, name)?;
    let record = Description {
        source: machine.source,
        driver: &machine.driver,
        gpu,
    };
    context
        .output
        .show(&record, |screen| view::gpu(gpu, &machine.driver, screen))?;
    Ok(if gpu.is_read() {
        Exit::Fine
    } else {
        Exit::Partial
    })
}

/// The GPU with this name; one that only begins so if there is no other.
fn find<'a>(machine: &'a Machine, name: &str) -> Result<&'a Gpu, CommandError> {
    let gpus = &machine.gpus;
    if let Some(gpu) = gpus.iter().find(|gpu| is_named(gpu, name)) {
        return Ok(gpu);
    }
    let starts = |gpu: &&Gpu| name.len() > 4 && gpu.uuid.starts_with(name);
    let mut candidates = gpus.iter().filter(starts);
    match (candidates.next(), candidates.next()) {
        (Some(gpu), None) => Ok(gpu),
        (Some(_), Some(_)) => {
            let text = format!("several GPUs have a UUID that begins with {name}: give more of it");
            Err(CommandError::NotFound(text))
        }
        (None, _) => Err(CommandError::NotFound(unknown(machine, name))),
    }
}

fn is_named(gpu: &Gpu, name: &str) -> bool {
    let index = name.parse() == Ok(gpu.index);
    let serial = !gpu.serial.is_empty() && gpu.serial == name;
    let uuid = !gpu.uuid.is_empty() && gpu.uuid == name;
    index
        || serial
        || uuid
        || has_address(gpu, name)
        || gpu.mig_devices.iter().any(|mig| mig.uuid == name)
}

/// Accepts what `lspci`, sysfs and NVML write: with four, eight or no digits of the domain.
fn has_address(gpu: &Gpu, name: &str) -> bool {
    let address = |text: &str| text.parse::<PciAddress>().ok();
    let wanted = address(name).or_else(|| address(&format!("0000:{name}")));
    wanted.is_some() && wanted == address(&gpu.pci)
}

fn unknown(machine: &Machine, name: &str) -> String {
    let indices: Vec<String> = machine
        .gpus
        .iter()
        .map(|gpu| gpu.index.to_string())
        .collect();
    match indices.is_empty() {
        true if !machine.driver.is_ready() => {
            format!("no GPU {name}: {}", machine.driver.detail)
        }
        true => format!("no GPU {name}: this node has none"),
        false => format!(
            "no GPU {name}: this node has {}; gpuctl list shows all their names",
            indices.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests;
