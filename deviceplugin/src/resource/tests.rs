#![allow(clippy::unwrap_used)]

use gpu_model::{DeviceKind, GpuUuid, HealthState, ProbeReport};

use super::{Resource, kind, resources};
use crate::fixtures::{Machine, gpu, mig_gpu};

fn resource(name: &str, capacity: usize, allocatable: usize) -> Resource {
    Resource {
        name: name.to_owned(),
        capacity,
        allocatable,
    }
}

#[tokio::test]
async fn resources_count_what_is_there_and_what_is_well() {
    let machine = Machine::with(Vec::new()).await;
    let snapshot = machine.until(|_| true).await;
    assert_eq!(resources(&snapshot), [resource("nvidia.com/gpu", 0, 0)]);

    let gpus = vec![
        gpu(0),
        gpu(1),
        mig_gpu(2, &["1g.18gb", "1g.18gb", "1g.18gb+me"]),
    ];
    let machine = Machine::with(gpus).await;
    let lost = ProbeReport::Lost {
        gpu: GpuUuid::new("GPU-1"),
        code: 15,
    };
    machine.reports.send(lost).await.unwrap();
    let ill = |gpu: &std::sync::Arc<gpu_keeper::GpuView>| gpu.health == HealthState::Unhealthy;
    let snapshot = machine
        .until(|snapshot| snapshot.gpus.iter().any(ill))
        .await;
    let expected = [
        resource("nvidia.com/gpu", 2, 1),
        resource("nvidia.com/mig-1g.18gb", 2, 2),
        resource("nvidia.com/mig-1g.18gb.me", 1, 1),
    ];
    assert_eq!(resources(&snapshot), expected);
    let profile = |name: &str| match kind(name, &snapshot) {
        Some(DeviceKind::Partition(profile)) => profile,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(profile("nvidia.com/mig-1g.18gb.me"), "1g.18gb+me");
    assert_eq!(profile("nvidia.com/mig-3g.71gb"), "3g.71gb");
    assert_eq!(kind("nvidia.com/gpu", &snapshot), Some(DeviceKind::Gpu));
}
