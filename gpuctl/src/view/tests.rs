//! Every view as golden text at two widths: `UPDATE=1 cargo test -p gpuctl` writes the files anew.

use std::fs;
use std::path::Path;

use jiff::tz::TimeZone;

use super::Screen;
use crate::fixtures;
use crate::record::{CdiCheck, CdiFile, Event, Gpu, Machine, Moment, Pod, Verdict, Xid};
use crate::view;

type Draw = fn(&Screen) -> String;

/// All views by name.
const VIEWS: &[(&str, Draw)] = &[
    ("status", |screen| {
        view::status(&machine(), Some(&pods()), screen)
    }),
    ("status-without-pods", |screen| {
        view::status(&machine(), Some(&[]), screen)
    }),
    ("list", |screen| view::list(&machine(), screen)),
    ("describe-gpu-well", |screen| described(0, screen)),
    ("describe-gpu-lost", |screen| described(2, screen)),
    ("describe-gpu-mig", |screen| described(3, screen)),
    ("pods", |screen| view::pods(&pods(), &machine(), screen)),
    ("top", |screen| view::top(&machine(), screen)),
    ("topo", |screen| view::topo(&machine(), screen)),
    ("health", |screen| {
        view::health(&machine(), &Verdict::of(&machine()), screen)
    }),
    ("explain-pod-running", |screen| explained("train", screen)),
    ("explain-pod-waiting", |screen| {
        explained("evaluate", screen)
    }),
    ("explain-pod-refused", |screen| explained("too-big", screen)),
    ("explain-pod-crashing", |screen| {
        explained("metrics", screen)
    }),
    ("events", |screen| view::events(&events(), &gpus(), screen)),
    ("xid-explain", |screen| view::xid(&Xid::of(79), screen)),
    ("xid-explain-unknown", |screen| {
        view::xid(&Xid::of(4711), screen)
    }),
    ("xid-list", |screen| view::xids(&Xid::all(), screen)),
    ("cdi-show", |screen| view::cdi(&cdi(), "/etc/cdi", screen)),
    ("cdi-validate", |screen| {
        view::cdi_checks(&checks(), "/etc/cdi", screen)
    }),
    ("empty-pods", |screen| view::pods(&[], &machine(), screen)),
    ("starting-pods", |screen| {
        let mut machine = machine();
        let waits = ["pod sources", "container runtime"].map(str::to_owned);
        machine.node.as_mut().unwrap().not_ready = waits.to_vec();
        view::pods(&[], &machine, screen)
    }),
    ("empty-events", |screen| view::events(&[], &[], screen)),
    ("empty-cdi", |screen| {
        view::cdi(&[], "/etc/cdi and /var/run/cdi", screen)
    }),
    ("no-driver-status", |screen| {
        view::status(&no_driver(), None, screen)
    }),
    ("no-driver-list", |screen| view::list(&no_driver(), screen)),
    ("no-driver-health", |screen| {
        view::health(&no_driver(), &Verdict::of(&no_driver()), screen)
    }),
];

fn machine() -> Machine {
    Machine::from((fixtures::node(), fixtures::gpus()))
}

fn gpus() -> Vec<Gpu> {
    machine().gpus
}

fn pods() -> Vec<Pod> {
    fixtures::pods().pods.into_iter().map(Pod::from).collect()
}

fn events() -> Vec<Event> {
    fixtures::events().into_iter().map(Event::from).collect()
}

fn described(index: usize, screen: &Screen) -> String {
    view::gpu(&gpus()[index], &machine().driver, screen)
}

fn explained(start: &str, screen: &Screen) -> String {
    let pods = pods();
    let pod = pods.iter().find(|pod| pod.name.starts_with(start)).unwrap();
    let mut events = events();
    events.retain(|event| event.is_about(&pod.full_name()));
    view::pod(pod, &events, &gpus(), screen)
}

/// Without an agent and without a driver, which is a simulator when it works.
fn no_driver() -> Machine {
    let state = gpu_model::DriverState::NotLoaded;
    let mut machine = machine();
    machine.source = crate::record::Origin::Nvml;
    machine.node = None;
    machine.gpus.clear();
    machine.topology.clear();
    machine.problems.clear();
    machine.gpus_expected = 0;
    machine.driver.state = state.as_str().to_owned();
    machine.driver.detail = state.message();
    machine.driver.simulated = true;
    machine
}

fn cdi() -> Vec<CdiFile> {
    let node = |path: &str| gpu_cdi::DeviceNode {
        path: path.to_owned(),
        ..gpu_cdi::DeviceNode::default()
    };
    let device = |index: u32| gpu_cdi::Device {
        name: fixtures::uuid(index),
        container_edits: gpu_cdi::Edits {
            device_nodes: vec![node(&format!("/dev/nvidia{index}"))],
            ..gpu_cdi::Edits::default()
        },
    };
    let mount = gpu_cdi::Mount {
        host_path: "/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05".to_owned(),
        container_path: "/usr/lib64/libcuda.so.580.95.05".to_owned(),
        ..gpu_cdi::Mount::default()
    };
    let document = gpu_cdi::Document {
        cdi_version: "0.5.0".to_owned(),
        kind: gpu_cdi::KIND.to_owned(),
        devices: (0..4).map(device).collect(),
        container_edits: gpu_cdi::Edits {
            env: vec!["NVIDIA_VISIBLE_DEVICES=void".to_owned()],
            device_nodes: vec![node("/dev/nvidiactl"), node("/dev/nvidia-uvm")],
            mounts: vec![mount],
            ..gpu_cdi::Edits::default()
        },
    };
    let path = |name: &str| format!("/var/run/cdi/{name}");
    vec![
        CdiFile::new(path(gpu_cdi::FILE_NAME), Ok(document)),
        CdiFile::new(
            path("torn.json"),
            Err("is no CDI document: EOF at line 3".to_owned()),
        ),
    ]
}

fn checks() -> Vec<CdiCheck> {
    let check = |name: &str, problems: &[&str]| CdiCheck {
        path: format!("/var/run/cdi/{name}"),
        kind: gpu_cdi::KIND.to_owned(),
        cdi_version: "0.5.0".to_owned(),
        devices: (0..4).map(fixtures::uuid).collect(),
        problems: problems
            .iter()
            .map(|problem| (*problem).to_owned())
            .collect(),
    };
    let missing = "/run/nvidia/driver/usr/lib64/libcuda.so.580.95.05 is missing on the host, or \
                   another device";
    vec![
        check(gpu_cdi::FILE_NAME, &[]),
        check("vendor.yaml", &[missing]),
    ]
}

fn screen(width: Option<usize>, colour: bool) -> Screen {
    Screen {
        width,
        wide: width.is_none(),
        colour,
        now: Moment(fixtures::NOW),
        zone: TimeZone::UTC,
    }
}

fn check_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        golden == text,
        "{name} differs; look at it, then UPDATE=1 accepts it. It is now:\n{text}"
    );
}

#[test]
fn views_look_as_they_did() {
    for (name, draw) in VIEWS {
        check_golden(&format!("{name}-80.txt"), &draw(&screen(Some(80), false)));
        check_golden(&format!("{name}-160.txt"), &draw(&screen(Some(160), false)));
    }
}

#[test]
fn wide_tables_leave_nothing_out() {
    for name in ["list", "pods", "events", "xid-list"] {
        let (_, draw) = VIEWS.iter().find(|(other, _)| *other == name).unwrap();
        check_golden(&format!("{name}-wide.txt"), &draw(&screen(None, false)));
    }
}

/// 64 columns is what half of a usual window has.
#[test]
fn no_line_is_longer_than_the_screen() {
    for (name, draw) in VIEWS {
        for width in 64..=200 {
            let text = draw(&screen(Some(width), false));
            let long = text.lines().find(|line| line.chars().count() > width);
            assert_eq!(long, None, "{name} at {width} columns");
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, draw) in VIEWS {
        let plain = draw(&screen(Some(80), false));
        assert!(!plain.contains('\x1b'), "{name}: {plain}");
        let coloured = without_colour(&draw(&screen(Some(80), true)));
        let trimmed: Vec<&str> = coloured.lines().map(str::trim_end).collect();
        assert_eq!(trimmed.join("\n") + "\n", plain, "{name}");
    }
}

/// Takes out `ESC [ … m`.
fn without_colour(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
    first + &rest.collect::<String>()
}

#[test]
fn what_a_container_says_cannot_steer_the_terminal() {
    let mut pods = pods();
    pods[2].message = "\x1b[2J\x07pulled\nover\ttwo lines".to_owned();
    let text = view::pods(&pods, &machine(), &screen(None, false));
    assert!(
        text.chars().all(|c| c == '\n' || !c.is_control()),
        "{text:?}"
    );
    assert_eq!(text.lines().count(), pods.len() + 1);
}
