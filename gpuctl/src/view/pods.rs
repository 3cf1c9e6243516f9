//! All pods and the GPUs they hold.

use super::Screen;
use super::cell::{Cell, Tone};
use super::grid::{Grid, Narrow, left, right};
use super::sheet::{INDENT, heading};
use super::words;
use crate::record::{Gpu, Machine, Pod};

/// Half a reason is none: where it does not fit beside the rest, it goes below.
const STEPS: &[Narrow] = &[
    Narrow::Drop("WHY"),
    Narrow::Shorten("NAME", 28),
    Narrow::Shorten("STATUS", 18),
    Narrow::Drop("RESTARTS"),
    Narrow::Shorten("NAMESPACE", 12),
    Narrow::Shorten("NAME", 24),
    Narrow::Drop("AGE"),
    Narrow::Shorten("NAME", 16),
];

/// All pods.
pub(crate) fn pods(pods: &[Pod], machine: &Machine, screen: &Screen) -> String {
    if pods.is_empty() {
        return Cell::from(none(machine)).paragraph(screen);
    }
    let mut grid = Grid::new(&[
        left("NAMESPACE"),
        left("NAME"),
        right("READY"),
        left("STATUS"),
        right("RESTARTS"),
        left("GPUS"),
        right("AGE"),
        left("WHY"),
        left("IP").wide(),
        left("UID").wide(),
        left("SOURCE").wide(),
    ]);
    for pod in pods {
        let main = || {
            pod.containers
                .iter()
                .filter(|container| container.kind != "init")
        };
        let ready = main().filter(|container| container.ready).count();
        let restarts: u32 = pod
            .containers
            .iter()
            .map(|container| container.restart_count)
            .sum();
        grid.row(vec![
            pod.namespace.as_str().into(),
            pod.name.as_str().into(),
            format!("{ready}/{}", main().count()).into(),
            status(pod),
            restarts.into(),
            devices(pod, &machine.gpus).into(),
            words::or_nothing(pod.started_at.map(|since| since.age(screen.now))).into(),
            why(pod).into(),
            words::text(&pod.ips.join(",")).into(),
            words::text(&pod.uid).into(),
            words::text(&pod.source).into(),
        ]);
    }
    let beside = grid.fits(screen);
    let table = grid.draw(screen, STEPS);
    if beside {
        table
    } else {
        table + &reasons(pods, screen)
    }
}

/// Why there are none: an agent that starts has not heard of them yet.
fn none(machine: &Machine) -> String {
    match &machine.node {
        Some(node) if !node.not_ready.is_empty() => {
            let waits = node.not_ready.join(", ");
            format!("no pods are known yet: the agent starts and waits for {waits}")
        }
        _ => "no pods on this node: no source wants any and the runtime has none".to_owned(),
    }
}

fn reasons(pods: &[Pod], screen: &Screen) -> String {
    let mut text = String::new();
    for pod in pods {
        let why = why(pod);
        if !why.is_empty() {
            text += &format!("\n{}", heading(&pod.full_name(), screen));
            text += &Cell::from(why).paragraph_at(INDENT, screen);
        }
    }
    text
}

/// One word, as `kubectl get pods` has it: the reason of the pod, else of a container that waits or
/// failed, else the phase.
pub(super) fn status(pod: &Pod) -> Cell {
    let word = match pod.stuck() {
        _ if pod.life == "stopping" || pod.life == "cleaning" => "Terminating",
        _ if !pod.reason.is_empty() => &pod.reason,
        Some(container) if pod.phase != "Succeeded" => &container.reason,
        _ => &pod.phase,
    };
    let tone = match pod.phase.as_str() {
        "Failed" => Tone::Bad,
        "Succeeded" => Tone::Faint,
        "Running" if word == "Running" => Tone::Good,
        _ => Tone::Warning,
    };
    Cell::new(words::text(word), tone)
}

/// Indices of its GPUs; what is none of this node's GPUs is counted by resource.
pub(super) fn devices(pod: &Pod, gpus: &[Gpu]) -> String {
    let mut indices: Vec<u32> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for device in pod.devices() {
        let owner = gpus.iter().find(|gpu| {
            let is_part = |mig: &crate::record::MigDevice| mig.uuid == device.id;
            gpu.uuid == device.id || gpu.mig_devices.iter().any(is_part)
        });
        match owner {
            Some(gpu) => indices.push(gpu.index),
            None => others.push(format!("{}={}", device.resource, device.id)),
        }
    }
    indices.sort_unstable();
    let indices = indices.iter().map(ToString::to_string);
    let all: Vec<String> = indices.chain(others).collect();
    words::text(&all.join(","))
}

/// Why it is not simply running.
fn why(pod: &Pod) -> String {
    let told = || pod.containers.iter().map(|container| &container.message);
    let texts = std::iter::once(&pod.message).chain(told());
    let told = texts.into_iter().find(|text| !text.is_empty());
    let step = || {
        pod.steps
            .first()
            .map(|step| format!("{}: {}", step.action, step.why))
    };
    let waits = pod.life == "waiting" || pod.life == "stopping";
    told.cloned()
        .or_else(|| step().filter(|_| waits))
        .unwrap_or_default()
}
