#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;

use serde_json::json;

use super::{GenerateError, KIND, generate};
use crate::document::Document;
use crate::fixtures::{VERSION, driver, gpu, machine, mig_gpu};

/// The document of a machine with GPU 0 and its files below `base`.
fn expected(base: &str) -> serde_json::Value {
    let lib = "/usr/lib/x86_64-linux-gnu";
    let node = |name: &str| {
        json!({
            "path": format!("/dev/{name}"), "hostPath": format!("{base}/dev-root/dev/{name}"),
            "type": "c", "major": 1, "minor": 3, "fileMode": 0o666, "permissions": "rw",
        })
    };
    let mount = |path: &str, options: &[&str]| json!({ "hostPath": format!("{base}/driver{path}"), "containerPath": path, "options": options });
    let file = |path: String| mount(&path, &["ro", "nosuid", "nodev", "rbind", "rprivate"]);
    let socket_options = ["nosuid", "nodev", "rbind", "rprivate", "noexec"];
    let hook = |args: Vec<String>| {
        let args = ["gpulet".to_owned(), "cdi-hook".to_owned()]
            .into_iter()
            .chain(args);
        json!({
            "hookName": "createContainer", "path": format!("{base}/bin/gpulet"),
            "args": args.collect::<Vec<_>>(),
        })
    };
    let links = [
        (format!("libcuda.so.{VERSION}"), "libcuda.so.1"),
        ("libcuda.so.1".to_owned(), "libcuda.so"),
        (format!("libnvidia-ml.so.{VERSION}"), "libnvidia-ml.so.1"),
        ("libnvidia-ml.so.1".to_owned(), "libnvidia-ml.so"),
        (
            format!("libGLX_nvidia.so.{VERSION}"),
            "libGLX_indirect.so.0",
        ),
    ];
    let links = links
        .iter()
        .flat_map(|(target, link)| ["--link".to_owned(), format!("{target}::{lib}/{link}")]);
    let links = std::iter::once("create-symlinks".to_owned())
        .chain(links)
        .collect();
    let vdpau = format!("{lib}/vdpau");
    let cache = ["update-ldcache", "--folder", lib, "--folder", &vdpau]
        .map(str::to_owned)
        .to_vec();
    let device = |name: &str| json!({ "name": name, "containerEdits": { "deviceNodes": [node("nvidia0")] } });
    json!({
        "cdiVersion": "0.5.0",
        "kind": KIND,
        "devices": [device("GPU-0"), device("0")],
        "containerEdits": {
            "env": ["NVIDIA_VISIBLE_DEVICES=void", format!("NVIDIA_CTK_LIBCUDA_DIR={lib}")],
            "deviceNodes": [node("nvidiactl"), node("nvidia-uvm")],
            "hooks": [hook(links), hook(cache)],
            "mounts": [
                file(format!("{lib}/libGLX_nvidia.so.{VERSION}")),
                file(format!("{lib}/libcuda.so.{VERSION}")),
                file(format!("{lib}/libnvidia-egl-gbm.so.1.1.2")),
                file(format!("{lib}/libnvidia-ml.so.{VERSION}")),
                file(format!("{lib}/vdpau/libvdpau_nvidia.so.{VERSION}")),
                file("/usr/bin/nvidia-smi".to_owned()),
                file("/usr/share/nvidia/nvoptix.bin".to_owned()),
                file(format!("/lib/firmware/nvidia/{VERSION}/gsp_ga10x.bin")),
                mount("/run/nvidia-persistenced/socket", &socket_options),
            ],
        },
    })
}

#[test]
fn the_whole_document_of_a_plain_machine() {
    let machine = machine();
    let generated = generate(&driver(), &[gpu(0)], &machine.site).unwrap();
    assert_eq!(generated.missing, Vec::<String>::new());
    let expected = expected(machine.site.driver_root.parent().unwrap().to_str().unwrap());
    let got = serde_json::to_value(&generated.document).unwrap();
    assert_eq!(got, expected, "{got:#}");
    let back: Document = serde_json::from_value(got).unwrap();
    assert_eq!(back, generated.document);
}

#[test]
fn the_same_machine_gives_the_same_document() {
    let machine = machine();
    // A GPU that went missing and one that came have the same index: only UUIDs tell them apart.
    let late = gpu_model::GpuFacts { index: 1, ..gpu(0) };
    let doubled = generate(&driver(), &[gpu(1), late], &machine.site)
        .unwrap()
        .document;
    let names: Vec<_> = doubled.devices.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["GPU-1", "1", "GPU-0"]);
    let gpus = [gpu(0), gpu(1)];
    let first = generate(&driver(), &gpus, &machine.site).unwrap();
    assert_eq!(generate(&driver(), &gpus, &machine.site).unwrap(), first);
    let names: Vec<_> = first
        .document
        .devices
        .iter()
        .map(|d| d.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["GPU-0", "0", "GPU-1", "1"],
        "no device may give all"
    );
}

#[test]
fn a_missing_node_costs_its_gpu_alone() {
    let machine = machine();
    fs::remove_file(machine.path("dev-root/dev/nvidia0")).unwrap();
    fs::remove_file(machine.path("dev-root/dev/nvidia-uvm")).unwrap();
    let gpus = [gpu(0), gpu(1), gpu(7)];
    let generated = generate(&driver(), &gpus, &machine.site).unwrap();
    assert!(
        generated.document.device("GPU-0").is_none() && generated.document.device("7").is_none()
    );
    assert!(generated.document.device("GPU-1").is_some());
    let [uvm, first, last] = generated.missing.as_slice() else {
        panic!("{:?}", generated.missing);
    };
    assert!(
        uvm.contains("/dev/nvidia-uvm") && uvm.contains("nvidia-modprobe"),
        "{uvm}"
    );
    assert!(
        first.contains("GPU-0") && last.contains("/dev/nvidia7"),
        "{first} {last}"
    );
    // A file is no device.
    machine.write("dev-root/dev/nvidia0");
    let generated = generate(&driver(), &gpus, &machine.site).unwrap();
    assert!(
        generated
            .missing
            .iter()
            .any(|what| what.contains("not a device node"))
    );
}

#[test]
fn libraries_of_another_version_are_told_apart_from_none() {
    let machine = machine();
    let newer = gpu_model::DriverFacts {
        driver: "590.1".to_owned(),
        ..driver()
    };
    let error = generate(&newer, &[gpu(0)], &machine.site).unwrap_err();
    assert!(matches!(&error, GenerateError::OtherVersion { found, .. } if found == VERSION));
    assert!(error.to_string().contains("reboot"), "{error}");
    fs::remove_dir_all(machine.path("driver/usr/lib")).unwrap();
    let error = generate(&driver(), &[gpu(0)], &machine.site).unwrap_err();
    assert!(matches!(error, GenerateError::NoLibraries { .. }));
    fs::remove_dir_all(machine.path("driver")).unwrap();
    let error = generate(&driver(), &[gpu(0)], &machine.site).unwrap_err();
    assert!(matches!(error, GenerateError::Root { .. }));
}

#[test]
fn links_inside_the_driver_root_are_resolved_inside_it() {
    let machine = machine();
    machine.write("driver/opt/nvidia/debugdump");
    machine.link("/opt/nvidia/debugdump", "driver/usr/bin/nvidia-debugdump");
    let document = generate(&driver(), &[gpu(0)], &machine.site)
        .unwrap()
        .document;
    let mounts = &document.container_edits.mounts;
    let tool = mounts
        .iter()
        .find(|m| m.container_path == "/usr/bin/nvidia-debugdump")
        .unwrap();
    let real = machine.site.driver_root.join("opt/nvidia/debugdump");
    assert_eq!(tool.host_path, real.to_str().unwrap());
}

#[test]
fn files_are_shown_where_nvidias_tools_show_them() {
    let machine = machine();
    machine.write("driver/usr/share/vulkan/icd.d/nvidia_icd.json");
    let lib = "usr/lib/x86_64-linux-gnu";
    machine.write(&format!("driver/{lib}/libnvidia-allocator.so.{VERSION}"));
    machine.link(
        format!("libnvidia-allocator.so.{VERSION}"),
        &format!("driver/{lib}/libnvidia-allocator.so.1"),
    );
    let edits = generate(&driver(), &[gpu(0)], &machine.site)
        .unwrap()
        .document
        .container_edits;
    let icd = "/etc/vulkan/icd.d/nvidia_icd.json";
    assert!(edits.mounts.iter().any(|mount| mount.container_path == icd));
    let gbm = format!("../libnvidia-allocator.so.1::/{lib}/gbm/nvidia-drm_gbm.so");
    assert!(
        edits.hooks[0].args.contains(&gbm),
        "{:?}",
        edits.hooks[0].args
    );
}

#[test]
fn mig_devices_take_their_capabilities_and_the_gpu_is_no_device() {
    let machine = machine();
    machine.write("driver/proc/driver/nvidia-caps/mig-minors");
    let minors = "config 1\ngpu0/gi3/access 30\ngpu0/gi3/ci0/access 31\ngpu0/gi4/access 39\n\
                  gpu0/gi4/ci0/access 40\nbroken\ngpu0/gi5/access x\n";
    fs::write(
        machine.path("driver/proc/driver/nvidia-caps/mig-minors"),
        minors,
    )
    .unwrap();
    for cap in [30, 31, 39] {
        machine.node(&format!("nvidia-caps/nvidia-cap{cap}"));
    }
    let gpus = [mig_gpu(0, &[(3, 0), (4, 0), (5, 0)]), gpu(1)];
    let generated = generate(&driver(), &gpus, &machine.site).unwrap();
    let names: Vec<_> = generated
        .document
        .devices
        .iter()
        .map(|d| d.name.as_str())
        .collect();
    assert_eq!(names, ["MIG-0-3-0", "0:0", "GPU-1", "1"]);
    let edits = &generated.document.device("0:0").unwrap().container_edits;
    let paths: Vec<_> = edits
        .device_nodes
        .iter()
        .map(|node| node.path.as_str())
        .collect();
    let caps = [
        "/dev/nvidia-caps/nvidia-cap30",
        "/dev/nvidia-caps/nvidia-cap31",
    ];
    assert_eq!(paths, ["/dev/nvidia0", caps[0], caps[1]]);
    let [fourth, fifth] = generated.missing.as_slice() else {
        panic!("{:?}", generated.missing)
    };
    assert!(
        fourth.contains("MIG-0-4-0") && fourth.contains("nvidia-cap40"),
        "{fourth}"
    );
    assert!(
        fifth.contains("MIG-0-5-0") && fifth.contains("gpu0/gi5/access"),
        "{fifth}"
    );
}

#[test]
fn a_gpu_with_graphics_brings_its_drm_nodes_and_their_links() {
    let machine = machine();
    for name in ["card2", "renderD130", "controlD66"] {
        machine.write(&format!(
            "driver/sys/bus/pci/devices/0000:01:00.0/drm/{name}/dev"
        ));
        machine.node(&format!("dri/{name}"));
    }
    let document = generate(&driver(), &[gpu(1)], &machine.site)
        .unwrap()
        .document;
    let edits = &document.device("GPU-1").unwrap().container_edits;
    let paths: Vec<_> = edits
        .device_nodes
        .iter()
        .map(|node| node.path.as_str())
        .collect();
    assert_eq!(
        paths,
        ["/dev/nvidia1", "/dev/dri/card2", "/dev/dri/renderD130"]
    );
    let args: Vec<_> = edits
        .hooks
        .iter()
        .flat_map(|hook| &hook.args)
        .skip(3)
        .collect();
    let by_path = "/dev/dri/by-path/pci-0000:01:00.0";
    let card = format!("../card2::{by_path}-card");
    let render = format!("../renderD130::{by_path}-render");
    assert_eq!(args, ["--link", card.as_str(), "--link", render.as_str()]);
}

#[test]
fn a_document_claims_the_lowest_version_it_can() {
    let machine = machine();
    let mut document = generate(&driver(), &[gpu(0)], &machine.site)
        .unwrap()
        .document;
    document.devices.retain(|device| device.name == "GPU-0");
    assert_eq!(document.lowest_version(), "0.5.0");
    let device = &mut document.devices[0].container_edits;
    for node in device
        .device_nodes
        .iter_mut()
        .chain(&mut document.container_edits.device_nodes)
    {
        node.host_path = None;
    }
    assert_eq!(document.lowest_version(), "0.3.0");
    document.container_edits.mounts[0].kind = Some("bind".to_owned());
    assert_eq!(document.lowest_version(), "0.4.0");
    document.devices[0].name = "0".to_owned();
    assert_eq!(document.lowest_version(), "0.5.0");
    document.container_edits.additional_gids.push(44);
    assert_eq!(document.lowest_version(), "0.7.0");
}
