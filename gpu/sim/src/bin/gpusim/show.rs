//! Showing a machine.

use nvidia_ml::{Effect, Gpu, State, Store, Target};
use serde_json::{Value, json};

use crate::arguments::Output;
use crate::failure::Failure;
use crate::say;

/// Prints the machine.
pub(crate) fn show(store: &Store, output: Output) -> Result<(), Failure> {
    let state = store.load()?;
    match output {
        Output::Table => say(&table(&state)),
        Output::Json => println!("{}", serde_json::to_string_pretty(&document(&state)?)?),
    }
    Ok(())
}

/// The whole state, marked as simulated.
fn document(state: &State) -> Result<Value, Failure> {
    let mut document = json!({ "simulated": true });
    if let (Value::Object(document), Value::Object(values)) =
        (&mut document, serde_json::to_value(state)?)
    {
        document.extend(values);
    }
    Ok(document)
}

fn table(state: &State) -> String {
    let node = &state.node;
    let mut lines = vec![format!(
        "{} seed {}, driver {}, nvmlInit answers {}{}",
        node.profile,
        node.seed,
        node.driver_version,
        node.init_code,
        if node.locked {
            ", library lock held"
        } else {
            ""
        },
    )];
    lines.extend(state.gpus.iter().map(line));
    lines.extend(state.faults.iter().map(|fault| {
        let place = match fault.target {
            Target::Node => "node".to_owned(),
            Target::Gpu(minor) => format!("GPU {minor}"),
        };
        let effect = match fault.effect {
            Effect::Hang { until: None } => "hangs".to_owned(),
            Effect::Hang { until: Some(end) } => format!("hangs until Unix time {end} ms"),
            Effect::Delay { milliseconds } => format!("takes {milliseconds} ms longer"),
            Effect::Fail { code, times: None } => format!("fails with {code}"),
            Effect::Fail {
                code,
                times: Some(times),
            } => format!("fails with {code}, {times} times"),
        };
        format!("fault: {} on {place} {effect}", fault.call)
    }));
    lines.extend(
        state
            .events
            .recent
            .iter()
            .rev()
            .take(10)
            .rev()
            .map(|event| {
                format!(
                    "event {}: GPU {} type {:#x} data {}",
                    event.sequence, event.gpu, event.kind, event.data
                )
            }),
    );
    lines.join("\n")
}

fn line(gpu: &Gpu) -> String {
    let condition = match (gpu.present, gpu.lost, gpu.recovery_action) {
        (false, _, _) => "removed".to_owned(),
        (true, true, _) => "lost".to_owned(),
        (true, false, Some(action)) if action != 0 => format!("recovery action {action}"),
        (true, false, _) => "ok".to_owned(),
    };
    let instances = gpu.mig.as_ref().map_or(0, |mig| mig.instances.len());
    let mig = if gpu.in_mig_mode() {
        format!(", MIG {instances} instances")
    } else {
        String::new()
    };
    format!(
        "GPU {} {} {} {} NUMA {}, {} of {} MiB, {} C, {} processes{mig}: {condition}",
        gpu.minor,
        gpu.name,
        gpu.uuid,
        gpu.pci.address,
        gpu.numa_node,
        gpu.memory.used >> 20,
        gpu.memory.total >> 20,
        gpu.temperature.gpu,
        gpu.processes.len(),
    )
}
