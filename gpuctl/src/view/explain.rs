//! Why a pod is where it is.

use super::Screen;
use super::cell::{Cell, Tone};
use super::events::event;
use super::grid::{Grid, Narrow, left, right};
use super::pods::{devices, status};
use super::sheet::{INDENT, Sheet, heading};
use super::words;
use crate::record::{Event, Gpu, Pod};

const STEPS: &[Narrow] = &[
    Narrow::Drop("IMAGE"),
    Narrow::Shorten("CONTAINER", 20),
    Narrow::Shorten("REASON", 18),
    Narrow::Drop("KIND"),
    Narrow::Drop("EXIT"),
    Narrow::Drop("SINCE"),
];

const DEVICE_STEPS: &[Narrow] = &[
    Narrow::Drop("CDI NAME"),
    Narrow::Shorten("CONTAINER", 16),
    Narrow::Drop("RESOURCE"),
    Narrow::Shorten("DEVICE", 13),
];

/// Why a pod runs, waits or was refused.
pub(crate) fn pod(pod: &Pod, events: &[Event], gpus: &[Gpu], screen: &Screen) -> String {
    let mut sheet = Sheet::default();
    sheet.line("Pod", Cell::new(pod.full_name(), Tone::Strong));
    sheet.line("Verdict", Cell::new(pod.verdict(), status(pod).tone));
    sheet.line(
        "Life",
        format!("{}, phase {}", pod.life, words::text(&pod.phase)),
    );
    sheet.maybe("Started", words::when(pod.started_at, screen));
    sheet.line("GPUs", devices(pod, gpus));
    sheet.line("Addresses", pod.ips.join(", "));
    sheet.line(
        "From",
        if pod.source.is_empty() {
            "no source wants it"
        } else {
            &pod.source
        },
    );
    sheet.line("UID", pod.uid.as_str());
    let mut text = sheet.draw(screen);
    text += &steps(pod, screen);
    text += &containers(pod, screen);
    text += &held(pod, gpus, screen);
    text + &last_events(events, gpus, screen)
}

fn steps(pod: &Pod, screen: &Screen) -> String {
    if pod.steps.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}", heading("What the agent does about it", screen));
    for step in &pod.steps {
        let why = if step.why.is_empty() {
            String::new()
        } else {
            format!(", because {}", step.why)
        };
        text += &Cell::from(format!("{}{why}", step.action)).paragraph_at(INDENT, screen);
    }
    text
}

fn containers(pod: &Pod, screen: &Screen) -> String {
    if pod.containers.is_empty() {
        return String::new();
    }
    let mut grid = Grid::set_in(&[
        left("CONTAINER"),
        left("KIND"),
        left("STATE"),
        left("REASON"),
        left("READY"),
        right("RESTARTS"),
        right("EXIT"),
        right("SINCE"),
        left("IMAGE"),
    ]);
    for container in &pod.containers {
        let tone = match container.state.as_str() {
            "running" => Tone::Good,
            "waiting" => Tone::Warning,
            _ if container.exit_code.unwrap_or(0) != 0 => Tone::Bad,
            _ => Tone::Faint,
        };
        grid.row(vec![
            container.name.as_str().into(),
            container.kind.as_str().into(),
            Cell::new(container.state.as_str(), tone),
            words::text(&container.reason).into(),
            if container.ready { "yes" } else { "no" }.into(),
            container.restart_count.into(),
            words::or_nothing(container.exit_code).into(),
            words::or_nothing(container.since.map(|since| since.age(screen.now))).into(),
            words::text(&container.image).into(),
        ]);
    }
    let mut text = format!(
        "\n{}{}",
        heading("Containers", screen),
        grid.draw(screen, STEPS)
    );
    for container in pod
        .containers
        .iter()
        .filter(|container| !container.message.is_empty())
    {
        let line = format!("{}: {}", container.name, container.message);
        text += &Cell::new(line, Tone::Warning).paragraph_at(INDENT, screen);
    }
    text
}

fn held(pod: &Pod, gpus: &[Gpu], screen: &Screen) -> String {
    let mut grid = Grid::set_in(&[
        left("CONTAINER"),
        left("GPU"),
        left("HEALTH"),
        left("DEVICE"),
        left("RESOURCE"),
        left("CDI NAME"),
    ]);
    let mut any = false;
    for container in &pod.containers {
        for device in &container.devices {
            any = true;
            let gpu = gpus.iter().find(|gpu| {
                gpu.uuid == device.id || gpu.mig_devices.iter().any(|mig| mig.uuid == device.id)
            });
            grid.row(vec![
                container.name.as_str().into(),
                words::or_nothing(gpu.map(|gpu| gpu.index)).into(),
                gpu.map_or(words::NOTHING.into(), words::health),
                device.id.as_str().into(),
                device.resource.as_str().into(),
                words::text(&device.cdi_name).into(),
            ]);
        }
    }
    match any {
        true => format!(
            "\n{}{}",
            heading("Devices", screen),
            grid.draw(screen, DEVICE_STEPS)
        ),
        false => String::new(),
    }
}

fn last_events(events: &[Event], gpus: &[Gpu], screen: &Screen) -> String {
    let title = format!("\n{}", heading("Last events", screen));
    if events.is_empty() {
        let none = "none that the agent still keeps";
        return title + &Cell::new(none, Tone::Faint).paragraph_at(INDENT, screen);
    }
    title
        + &events
            .iter()
            .map(|each| event(each, gpus, screen))
            .collect::<String>()
}
