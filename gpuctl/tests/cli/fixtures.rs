//! A made-up node as its agent would tell it: a GPU that is well, one with old memory errors, one that
//! has fallen off the bus, one in MIG mode; pods that run, wait, were refused and crash.

use proto::gpulet::{
    Container, Device, Driver, Event, Finding, Gpu, Health, Holder, ListGpusResponse,
    ListPodsResponse, MigDevice, MigProfile, NodeInfo, Pod, Problem, Process, Reading, Runtime,
    Step,
};

/// 2026-07-03 15:00:00 UTC in nanoseconds.
pub(crate) const NOW: i64 = 1_783_090_800 * SECOND;
pub(crate) const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 3_600 * SECOND;

const RESOURCE: &str = "nvidia.com/gpu";

pub(crate) fn node() -> NodeInfo {
    NodeInfo {
        node_name: "gpu-a1".to_owned(),
        version: "v1.37.2+gpulet.0.1.0".to_owned(),
        started_at: NOW - 3 * HOUR,
        not_ready: Vec::new(),
        runtime: Some(Runtime {
            name: "containerd".to_owned(),
            version: "2.1.4".to_owned(),
            endpoint: "unix:///run/containerd/containerd.sock".to_owned(),
            cdi: true,
            reachable: true,
        }),
        driver: Some(driver()),
        problems: vec![Problem {
            subject: "/etc/kubernetes/manifests/broken.yaml".to_owned(),
            reason: "ManifestInvalid".to_owned(),
            message: "line 7: spec.containers[0].image is missing; add it or remove the file"
                .to_owned(),
            since: NOW - HOUR / 2,
        }],
        pods: 5,
        cpu_millis: 224_000,
        memory_bytes: 2_164_663_517_184,
        gpus_expected: 4,
    }
}

fn driver() -> Driver {
    Driver {
        state: "ready".to_owned(),
        driver_version: "580.95.05".to_owned(),
        nvml_version: "13.580.95.05".to_owned(),
        cuda_version: "13.0".to_owned(),
        ..Driver::default()
    }
}

pub(crate) fn gpus() -> ListGpusResponse {
    let row = |own: usize| {
        (0..4).map(move |other| match (own, other) {
            (own, other) if own == other => "X",
            (2, _) | (_, 2) => "-",
            (0 | 1, 3) | (3, 0 | 1) => "SYS",
            _ => "NV18",
        })
    };
    ListGpusResponse {
        gpus: vec![well(), worn(), lost(), sliced()],
        driver: Some(driver()),
        topology: (0..4).flat_map(row).map(str::to_owned).collect(),
    }
}

fn gpu(index: u32) -> Gpu {
    let pci = [
        "0000:1b:00.0",
        "0000:43:00.0",
        "0000:52:00.0",
        "0000:9d:00.0",
    ];
    Gpu {
        uuid: uuid(index),
        index,
        minor: index,
        name: "NVIDIA H200".to_owned(),
        serial: format!("165205224198{index}"),
        pci: pci[index as usize].to_owned(),
        numa_node: i32::from(index == 3),
        cpus: if index == 3 {
            "56-111,168-223"
        } else {
            "0-55,112-167"
        }
        .to_owned(),
        memory_bytes: 150_754_820_096,
        compute_capability: "9.0".to_owned(),
        architecture: "hopper".to_owned(),
        device_nodes: vec![format!("/dev/nvidia{index}")],
        health: Some(Health {
            state: "healthy".to_owned(),
            action: "none".to_owned(),
            ..Health::default()
        }),
        reading: Some(reading()),
        links_active: 18,
        fabric: "completed".to_owned(),
        ..Gpu::default()
    }
}

fn reading() -> Reading {
    Reading {
        at: NOW - 2 * SECOND,
        memory_used: Some(0),
        utilization: Some(0),
        memory_utilization: Some(0),
        temperature: Some(31),
        power_milliwatts: Some(76_123),
        power_limit_milliwatts: Some(700_000),
        sm_clock: Some(345),
        memory_clock: Some(3201),
        ecc_corrected: Some(0),
        ecc_uncorrected: Some(0),
        rows_remapped: Some(0),
        remap_pending: Some(false),
        remap_failed: Some(false),
        processes: Vec::new(),
        clock_reasons: Some(1),
    }
}

fn well() -> Gpu {
    let process = |pid, pod: &str| Process {
        pid,
        memory_bytes: Some(60 << 30),
        namespace: if pod.is_empty() { "" } else { "default" }.to_owned(),
        pod: pod.to_owned(),
        container: if pod.is_empty() { "" } else { "trainer" }.to_owned(),
    };
    Gpu {
        reading: Some(Reading {
            memory_used: Some(120 << 30),
            utilization: Some(97),
            memory_utilization: Some(61),
            temperature: Some(71),
            power_milliwatts: Some(650_400),
            sm_clock: Some(1980),
            clock_reasons: Some(4),
            processes: vec![process(41_523, "train-gpu-a1"), process(977, "")],
            ..reading()
        }),
        holders: vec![holder("train-gpu-a1", "trainer", "")],
        ..gpu(0)
    }
}

fn worn() -> Gpu {
    Gpu {
        health: Some(Health {
            state: "degraded".to_owned(),
            action: "none".to_owned(),
            since: NOW - 26 * HOUR,
            findings: vec![Finding {
                cause: "remap-pending".to_owned(),
                message: "a memory row waits for remapping; reset the GPU when it is idle"
                    .to_owned(),
                first_seen: NOW - 26 * HOUR,
                last_seen: NOW - 26 * HOUR,
                count: 1,
                clears: "when the driver no longer reports it, after 60 s of clean answers"
                    .to_owned(),
                xid: None,
            }],
        }),
        reading: Some(Reading {
            ecc_corrected: Some(12),
            rows_remapped: Some(1),
            remap_pending: Some(true),
            ..reading()
        }),
        holders: vec![holder("train-gpu-a1", "trainer", "")],
        ..gpu(1)
    }
}

fn lost() -> Gpu {
    let xid = Finding {
        cause: "xid-79".to_owned(),
        message:
            "XID 79: the GPU has fallen off the PCI bus; drain and reboot the node; if it comes \
                  back, have the GPU checked"
                .to_owned(),
        first_seen: NOW - 310 * SECOND,
        last_seen: NOW - 200 * SECOND,
        count: 3,
        clears: "when a reset, reboot or driver reload was seen, after 60 s of clean answers"
            .to_owned(),
        xid: Some(79),
    };
    let gone = Finding {
        cause: "lost".to_owned(),
        message: "the driver has lost the GPU (NVML code 15); reboot the node".to_owned(),
        first_seen: NOW - 309 * SECOND,
        last_seen: NOW - 5 * SECOND,
        count: 1,
        clears: "when the driver no longer reports it, after 60 s of clean answers".to_owned(),
        xid: None,
    };
    Gpu {
        health: Some(Health {
            state: "unhealthy".to_owned(),
            action: "reboot".to_owned(),
            since: NOW - 310 * SECOND,
            findings: vec![xid, gone],
        }),
        links_active: 0,
        ..gpu(2)
    }
}

fn sliced() -> Gpu {
    let device = |gpu_instance, uuid: &str| MigDevice {
        uuid: uuid.to_owned(),
        profile: "1g.18gb".to_owned(),
        gpu_instance,
        compute_instance: 0,
        memory_bytes: 16 << 30,
    };
    Gpu {
        mig_enabled: true,
        mig_devices: vec![
            device(7, MIG),
            device(9, "MIG-66666666-2222-3333-4444-555555555555"),
        ],
        mig_profiles: vec![MigProfile {
            name: "1g.18gb".to_owned(),
            memory_bytes: 16 << 30,
            instances: 7,
            placements: (0..7).map(|start| format!("{start}:1")).collect(),
        }],
        holders: vec![holder("notebook-gpu-a1", "jupyter", MIG)],
        links_active: 0,
        ..gpu(3)
    }
}

const MIG: &str = "MIG-11111111-2222-3333-4444-555555555555";

pub(crate) fn uuid(index: u32) -> String {
    let starts = ["0ee51ac1", "05bb6e5f", "1c04693d", "b904dc01"];
    format!(
        "GPU-{}-deb4-9b9a-3b5c-ad4cf0164e4{index}",
        starts[index as usize]
    )
}

fn holder(pod: &str, container: &str, mig: &str) -> Holder {
    Holder {
        namespace: "default".to_owned(),
        pod: pod.to_owned(),
        uid: pod_uid(pod),
        container: container.to_owned(),
        since: NOW - 2 * HOUR,
        mig_uuid: mig.to_owned(),
    }
}

pub(crate) fn pods() -> ListPodsResponse {
    ListPodsResponse {
        pods: vec![training(), notebook(), waiting(), refused(), crashing()],
    }
}

fn pod(name: &str, phase: &str, life: &str) -> Pod {
    Pod {
        namespace: "default".to_owned(),
        name: format!("{name}-gpu-a1"),
        uid: pod_uid(name),
        phase: phase.to_owned(),
        life: life.to_owned(),
        started_at: NOW - 2 * HOUR,
        source: format!("/etc/kubernetes/manifests/{name}.yaml"),
        ..Pod::default()
    }
}

fn pod_uid(name: &str) -> String {
    format!("5f1c7c1e-0000-4000-8000-{:012}", name.len())
}

fn running(name: &str, devices: &[&str]) -> Container {
    let device = |id: &&str| Device {
        resource: if id.starts_with("MIG") {
            "nvidia.com/mig-1g.18gb"
        } else {
            RESOURCE
        }
        .to_owned(),
        id: (*id).to_owned(),
        cdi_name: format!("k8s.device-plugin.nvidia.com/gpu={id}"),
    };
    Container {
        name: name.to_owned(),
        kind: "main".to_owned(),
        image: format!("registry.example/ml/{name}:2026.6"),
        id: format!("containerd://{name}"),
        state: "running".to_owned(),
        ready: true,
        since: NOW - 2 * HOUR,
        devices: devices.iter().map(device).collect(),
        ..Container::default()
    }
}

fn training() -> Pod {
    let init = Container {
        kind: "init".to_owned(),
        state: "terminated".to_owned(),
        reason: "Completed".to_owned(),
        ready: true,
        exit_code: Some(0),
        ..running("fetch", &[&uuid(0)])
    };
    Pod {
        ready: true,
        ips: vec!["10.88.0.5".to_owned()],
        containers: vec![init, running("trainer", &[&uuid(0), &uuid(1)])],
        ..pod("train", "Running", "running")
    }
}

fn notebook() -> Pod {
    Pod {
        ready: true,
        ips: vec!["10.88.0.6".to_owned()],
        containers: vec![running("jupyter", &[MIG])],
        ..pod("notebook", "Running", "running")
    }
}

fn waiting() -> Pod {
    Pod {
        reason: "InsufficientDevices".to_owned(),
        message:
            "asks for 4 nvidia.com/gpu: of 3 whole GPUs 2 are held by default/train-gpu-a1 and 1 \
                  is unhealthy (GPU 2)"
                .to_owned(),
        started_at: 0,
        containers: vec![Container {
            id: String::new(),
            state: "waiting".to_owned(),
            reason: "ContainerCreating".to_owned(),
            ready: false,
            since: 0,
            ..running("evaluate", &[])
        }],
        steps: vec![Step {
            action: "hold its devices, again later".to_owned(),
            why: "not enough of them are free and healthy (12 times)".to_owned(),
        }],
        ..pod("evaluate", "Pending", "waiting")
    }
}

fn refused() -> Pod {
    Pod {
        reason: "UnexpectedAdmissionError".to_owned(),
        message: "asks for 9 nvidia.com/gpu: this node has never had more than 4".to_owned(),
        started_at: 0,
        ..pod("too-big", "Failed", "finished")
    }
}

fn crashing() -> Pod {
    Pod {
        namespace: "kube-system".to_owned(),
        containers: vec![Container {
            state: "waiting".to_owned(),
            reason: "CrashLoopBackOff".to_owned(),
            message: "back-off 40s restarting failed container".to_owned(),
            ready: false,
            restart_count: 17,
            exit_code: Some(1),
            ..running("exporter", &[])
        }],
        steps: vec![Step {
            action: "start container exporter".to_owned(),
            why: "it ended with exit code 1 and its policy says again".to_owned(),
        }],
        ..pod("metrics-exporter-with-a-long-name", "Running", "running")
    }
}

pub(crate) fn events() -> Vec<Event> {
    let normal = Event {
        number: 1,
        at: NOW - 2 * HOUR,
        r#type: "Normal".to_owned(),
        reason: "Started".to_owned(),
        subject: "default/train-gpu-a1".to_owned(),
        container: "trainer".to_owned(),
        message: "container started".to_owned(),
        count: 1,
        ..Event::default()
    };
    let refusal = Event {
        number: 2,
        at: NOW - 60 * SECOND,
        r#type: "Warning".to_owned(),
        reason: "InsufficientDevices".to_owned(),
        subject: "default/evaluate-gpu-a1".to_owned(),
        message: waiting().message,
        why: "it waits until devices are free".to_owned(),
        count: 12,
        ..Event::default()
    };
    let fault = Event {
        number: 3,
        at: NOW - 5 * SECOND,
        r#type: "Warning".to_owned(),
        reason: "GpuUnhealthy".to_owned(),
        subject: uuid(2),
        message: "XID 79: the GPU has fallen off the PCI bus; drain and reboot the node".to_owned(),
        why: "xid-79".to_owned(),
        count: 1,
        ..Event::default()
    };
    vec![normal, refusal, fault]
}
