#![allow(clippy::unwrap_used)]

use proto::cri::LinuxContainerResources;
use serde_json::{Value, json};

use super::super::kernel::Kernel;
use super::super::testing::Scene;
use super::resources;

fn build(scene: &Scene, container: &str) -> LinuxContainerResources {
    let kernel = Kernel {
        huge_page_sizes: vec!["2MB".to_owned(), "1GB".to_owned()],
        ..Default::default()
    };
    let input = scene.input();
    resources(&input, &input.container(container).unwrap(), &kernel).unwrap()
}

fn of_container(own: Value) -> LinuxContainerResources {
    build(&Scene::of_container(json!({"resources": own})), "main")
}

#[test]
fn cpu_and_memory() {
    for (own, shares, quota, memory) in [
        (json!({}), 2, 0, 0),
        (json!({"requests": {"cpu": "100m"}}), 102, 0, 0),
        (
            json!({"requests": {"cpu": 1}, "limits": {"cpu": "2"}}),
            1024,
            200_000,
            0,
        ),
        (
            json!({"limits": {"cpu": "500m", "memory": "1.5Gi"}}),
            512,
            50_000,
            1_610_612_736,
        ),
        (json!({"limits": {"cpu": "1m"}}), 2, 1000, 0),
    ] {
        let built = of_container(own.clone());
        let got = (
            built.cpu_shares,
            built.cpu_quota,
            built.memory_limit_in_bytes,
        );
        assert_eq!(got, (shares, quota, memory), "{own}");
        assert_eq!(built.cpu_period, 100_000);
    }
}

#[test]
fn limits_of_the_pod_stand_in() {
    let scene = Scene::new(json!({
        "resources": {"limits": {"cpu": "2", "memory": "4Gi", "hugepages-2Mi": "8Mi"}},
        "containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"memory": "1Gi"}}}],
    }));
    let (a, b) = (build(&scene, "a"), build(&scene, "b"));
    assert_eq!((a.cpu_quota, a.memory_limit_in_bytes), (200_000, 4 << 30));
    assert_eq!((b.cpu_quota, b.memory_limit_in_bytes), (200_000, 1 << 30));
    assert_eq!(a.hugepage_limits[0].limit, 8 << 20);
}

#[test]
fn settings_of_the_node() {
    let limited = json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}});
    let mut scene = Scene::of_container(limited);
    let unified = |scene: &Scene| {
        let pairs = build(scene, "main").unified;
        pairs
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
    };
    assert_eq!(unified(&scene), ["memory.oom.group=1"]);
    scene.node.swap_accounting = true;
    assert_eq!(unified(&scene), ["memory.oom.group=1", "memory.swap.max=0"]);
    scene.node.single_process_oom_kill = true;
    assert_eq!(unified(&scene), ["memory.swap.max=0"]);
    scene.node.cgroup_v2 = false;
    assert_eq!(unified(&scene), [""; 0]);
    assert_eq!(build(&scene, "main").memory_swap_limit_in_bytes, 1 << 30);
    scene.node.cpu_quota = false;
    let built = build(&scene, "main");
    assert_eq!((built.cpu_quota, built.cpu_period), (0, 0));
}

#[test]
fn huge_pages() {
    let built = of_container(json!({"limits": {"hugepages-1Gi": "2Gi", "nvidia.com/gpu": "1"}}));
    let limits: Vec<_> = built
        .hugepage_limits
        .iter()
        .map(|each| (each.page_size.as_str(), each.limit))
        .collect();
    assert_eq!(limits, [("2MB", 0), ("1GB", 2 << 30)]);
}

#[test]
fn oom_scores_follow_class_and_request() {
    let ask = |cpu: &str, memory: &str| json!({"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}});
    assert_eq!(of_container(json!({})).oom_score_adj, 1000);
    assert_eq!(of_container(ask("1", "1Gi")).oom_score_adj, -997);
    // 10 of 100 GiB.
    assert_eq!(
        of_container(json!({"requests": {"memory": "10Gi"}})).oom_score_adj,
        900
    );

    let scene = Scene::new(json!({
        "priorityClassName": "system-node-critical",
        "containers": [{"name": "main"}],
    }));
    assert_eq!(build(&scene, "main").oom_score_adj, -997);

    let scene = Scene::new(json!({
        "initContainers": [
            {"name": "side", "restartPolicy": "Always"},
            {"name": "init"},
        ],
        "containers": [
            {"name": "a", "resources": {"requests": {"memory": "20Gi"}}},
            {"name": "b", "resources": {"requests": {"memory": "30Gi"}}},
        ],
    }));
    let scores = ["side", "init", "a", "b"].map(|name| build(&scene, name).oom_score_adj);
    assert_eq!(scores, [800, 999, 800, 700]);
}

#[test]
fn what_the_pod_asks_beyond_its_containers_is_shared() {
    let scene = Scene::new(json!({
        "resources": {"requests": {"memory": "50Gi"}},
        "initContainers": [{"name": "init", "resources": {"requests": {"memory": "30Gi"}}}],
        "containers": [{"name": "a", "resources": {"requests": {"memory": "10Gi"}}}],
    }));
    // 20 GiB more than the 30 GiB at the peak, for two containers.
    assert_eq!(build(&scene, "a").oom_score_adj, 800);
}

#[test]
fn bad_quantities_name_the_resource() {
    for (limits, text) in [
        (
            json!({"memory": "1Gx"}),
            "resources: memory: quantity \"1Gx\"",
        ),
        (json!({"hugepages-2X": "1"}), "resources: hugepages-2X: "),
    ] {
        let scene = Scene::of_container(json!({"resources": {"limits": limits}}));
        let input = scene.input();
        let built = resources(
            &input,
            &input.container("main").unwrap(),
            &Kernel::default(),
        );
        let error = Scene::error(built);
        assert!(error.contains(text), "{error}");
    }
}
