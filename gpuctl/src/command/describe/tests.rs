//! By which names a GPU is found.

use super::*;
use crate::fixtures;

fn found(name: &str) -> Result<u32, String> {
    let machine = Machine::from((fixtures::node(), fixtures::gpus()));
    find(&machine, name)
        .map(|gpu| gpu.index)
        .map_err(|error| error.to_string())
}

#[test]
fn every_name_of_a_gpu_finds_it() {
    for name in [
        "1",
        "GPU-05bb6e5f-deb4-9b9a-3b5c-ad4cf0164e41",
        "GPU-05bb6e5f",
        "0000:43:00.0",
        "00000000:43:00.0",
        "43:00.0",
        "1652052241981",
    ] {
        assert_eq!(found(name), Ok(1), "{name}");
    }
    assert_eq!(
        found("MIG-66666666-2222-3333-4444-555555555555"),
        Ok(3),
        "the GPU it lies in"
    );
}

#[test]
fn an_unknown_name_tells_what_there_is() {
    for name in ["9", "GPU-", "43:00.1", "GPU-9", ""] {
        let text = found(name).unwrap_err();
        assert!(text.contains("this node has 0, 1, 2, 3"), "{name}: {text}");
    }
}

#[test]
fn without_a_driver_the_reason_is_told() {
    let mut machine = Machine::from((fixtures::node(), fixtures::gpus()));
    machine.gpus.clear();
    machine.driver.state = "not-loaded".to_owned();
    machine.driver.detail = "load it with modprobe nvidia".to_owned();
    let error = find(&machine, "0").unwrap_err().to_string();
    assert_eq!(error, "no GPU 0: load it with modprobe nvidia");
}
