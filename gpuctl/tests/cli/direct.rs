//! Without an agent: NVML itself, through the real child process and the simulated library.

use crate::program::finish;
use crate::simulator::Machine;

#[tokio::test]
async fn eight_gpus_without_an_agent() {
    let machine = Machine::new("h200x8");
    let ran = machine.run(&["list", "-o", "json"]).await;
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("no agent"), "{}", ran.stderr);
    let list = ran.json();
    assert_eq!(
        (&list["source"], &list["node"]),
        (&"nvml".into(), &().into())
    );
    assert_eq!(
        (&list["driver"]["state"], &list["driver"]["simulated"]),
        (&"ready".into(), &true.into())
    );
    let gpus = list["gpus"].as_array().unwrap();
    assert_eq!((gpus.len(), &list["gpusExpected"]), (8, &8.into()));
    for (index, gpu) in gpus.iter().enumerate() {
        assert_eq!(gpu["index"], index);
        assert_eq!(gpu["name"], "NVIDIA H200");
        assert_eq!(gpu["health"]["state"], "healthy");
        assert!(gpu["holders"].is_null(), "nobody who knows was asked");
        assert_eq!(gpu["memoryBytes"], 150_754_820_096_u64);
    }
    assert_eq!(list["topology"][0][7], "NV18");
    assert_eq!(list["topology"][7][7], "X");
}

#[tokio::test]
async fn every_command_that_needs_no_agent_works() {
    let machine = Machine::new("a100-pciex4");
    for arguments in [
        &[][..],
        &["status"],
        &["list"],
        &["list", "-o", "wide"],
        &["describe", "gpu", "0"],
        &["topo"],
        &["top", "--once"],
        &["health"],
    ] {
        let ran = machine.run(arguments).await;
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        assert_eq!(
            ran.stderr.lines().count(),
            1,
            "{arguments:?}: {}",
            ran.stderr
        );
        assert!(
            ran.stdout.contains("SIMULATED"),
            "{arguments:?}: {}",
            ran.stdout
        );
    }
    assert_eq!(
        machine.lookers(),
        [] as [std::path::PathBuf; 0],
        "a look leaves nothing behind"
    );
}

#[tokio::test]
async fn what_only_the_agent_knows_is_code_3() {
    let machine = Machine::new("t4x1");
    for arguments in [
        &["pods"][..],
        &["events"],
        &["events", "--follow"],
        &["explain", "pod", "x"],
    ] {
        let ran = machine.run(arguments).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (3, ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(
            ran.stderr.starts_with("gpuctl: no agent at "),
            "{}",
            ran.stderr
        );
    }
}

#[tokio::test]
async fn the_library_is_found_where_it_may_lie() {
    let machine = Machine::new("t4x1");
    let root = machine.driver_root();
    let mut by_flag = machine.without_library();
    by_flag.arg("--nvidia-driver-root").arg(&root);
    let mut by_variable = machine.without_library();
    by_variable.env("NVIDIA_DRIVER_ROOT", &root);
    let mut by_loader = machine.without_library();
    by_loader.env("LD_LIBRARY_PATH", root.join("usr/lib/x86_64-linux-gnu"));
    for mut command in [by_flag, by_variable, by_loader] {
        let ran = finish(command.arg("list")).await;
        assert!(ran.stdout.contains("Tesla T4"), "{command:?}: {ran:?}");
    }
}

#[tokio::test]
async fn a_lost_gpu_is_named_and_the_others_are_shown() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["lose", "3"]);
    let list = machine.run(&["list", "-o", "json"]).await;
    assert_eq!(list.code, 4, "partial: {list:?}");
    let gpus = list.json()["gpus"].as_array().unwrap().clone();
    assert_eq!(gpus.len(), 8);
    assert_eq!(gpus[3]["health"]["state"], "unresponsive");
    let health = machine.run(&["health"]).await;
    assert_eq!(health.code, 1);
    assert!(
        health
            .stdout
            .starts_with("UNHEALTHY: GPU 3 is unresponsive\n"),
        "{}",
        health.stdout
    );
    assert!(
        health.stdout.contains("the GPU is lost (NVML 15)"),
        "{}",
        health.stdout
    );
    let described = machine.run(&["describe", "gpu", "3"]).await;
    assert_eq!(described.code, 4, "{described:?}");
    assert_eq!(machine.run(&["describe", "gpu", "4"]).await.code, 0);
}

#[tokio::test]
async fn a_call_that_hangs_costs_one_gpu() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["hang", "nvmlDeviceGetTemperature", "--gpu", "5"]);
    let health = machine.run(&["health", "-o", "json"]).await;
    assert_eq!(health.code, 1, "{health:?}");
    let health = health.json();
    assert_eq!(
        health["verdict"]["summary"],
        "UNHEALTHY: GPU 5 is unresponsive"
    );
    let finding = &health["gpus"][5]["health"]["findings"][0];
    assert!(
        finding["message"]
            .as_str()
            .unwrap()
            .contains("nvmlDeviceGetTemperature"),
        "{finding}"
    );
    assert!(health["gpus"][5]["reading"].is_null());
    assert!(!health["gpus"][4]["reading"].is_null());
}

#[tokio::test]
async fn the_agents_rules_judge_what_was_read() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "2", "recovery_action", "1"]);
    machine.gpusim(&["set", "6", "ecc.remapped_rows.pending", "true"]);
    let ran = machine.run(&["health", "-o", "json"]).await;
    assert_eq!(ran.code, 1);
    let health = ran.json();
    assert_eq!(health["verdict"]["state"], "unhealthy");
    assert_eq!(
        health["verdict"]["summary"],
        "UNHEALTHY: GPU 2 is unhealthy (reset); GPU 6 is degraded"
    );
}

#[tokio::test]
async fn without_a_driver_the_reason_is_told() {
    let machine = Machine::new("h200x8");
    for (code, state) in [
        ("9", "not-loaded"),
        ("18", "version-mismatch"),
        ("999", "broken"),
    ] {
        machine.gpusim(&["driver", "--init-code", code]);
        let list = machine.run(&["list"]).await;
        assert_eq!(
            list.code, 0,
            "there are none, and that is all there is to know: {list:?}"
        );
        assert!(list.stdout.starts_with("no GPUs: the "), "{}", list.stdout);
        assert!(
            list.stdout.contains(&format!("NVML code {code}")),
            "{}",
            list.stdout
        );
        let health = machine.run(&["health", "-o", "json"]).await;
        assert_eq!(
            (health.code, &health.json()["driver"]["state"]),
            (1, &state.into())
        );
        assert_eq!(machine.run(&["describe", "gpu", "0"]).await.code, 1);
    }
    let mut command = machine.without_library();
    let none = finish(command.args(["--nvml-library", "/nonexistent/x.so", "list"])).await;
    assert_eq!(none.code, 0);
    assert!(none.stdout.contains("/nonexistent/x.so"), "{}", none.stdout);
}

#[tokio::test]
async fn a_library_that_never_starts_is_partial() {
    let machine = Machine::new("t4x1");
    machine.gpusim(&["lock"]);
    let list = machine.run(&["list"]).await;
    assert_eq!(list.code, 4, "{list:?}");
    assert!(
        list.stdout.contains("nvmlInit has not returned"),
        "{}",
        list.stdout
    );
    assert_eq!(
        machine.lookers(),
        [] as [std::path::PathBuf; 0],
        "not even one that hangs"
    );
}

/// Two GPUs cannot sit in one slot: one of them is not believed.
#[tokio::test]
async fn a_double_is_told() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "4", "pci.address", "0000:c3:00.0"]);
    let health = machine.run(&["health"]).await;
    assert_eq!(health.code, 1, "{health:?}");
    let text = "it has the PCI address of GPU 4";
    assert!(health.stdout.contains(text), "{}", health.stdout);
    assert_eq!(machine.run(&["list"]).await.code, 4);
}

#[tokio::test]
async fn garbage_is_left_out_and_told() {
    let machine = Machine::new("h200x8");
    machine.gpusim(&["set", "1", "name", r"\xff\x1b[2J"]);
    machine.gpusim(&["set", "4", "uuid", "../../etc"]);
    let ran = machine.run(&["list", "-o", "json"]).await;
    assert_eq!(ran.code, 4, "{ran:?}");
    let list = ran.json();
    let uuids: Vec<_> = list["gpus"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gpu| &gpu["uuid"])
        .collect();
    assert!(!uuids.contains(&&"../../etc".into()), "{uuids:?}");
    let health = machine.run(&["health"]).await;
    assert_eq!(health.code, 1);
    assert!(
        health.stdout.chars().all(|c| c == '\n' || !c.is_control()),
        "{:?}",
        health.stdout
    );
}
