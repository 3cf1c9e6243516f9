#![allow(clippy::unwrap_used)]

use super::{PlainMount, UnknownDevice};
use crate::fixtures::{VERSION, driver, gpu, machine};
use crate::generate::generate;

#[test]
fn plain_terms_have_all_that_the_document_gives() {
    let machine = machine();
    let document = generate(&driver(), &[gpu(0), gpu(1)], &machine.site)
        .unwrap()
        .document;
    let plain = document.expand(&["GPU-1"]).unwrap();
    let nodes: Vec<_> = plain
        .nodes
        .iter()
        .map(|node| node.container.as_str())
        .collect();
    assert_eq!(nodes, ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"]);
    let own = plain.nodes.last().unwrap();
    assert_eq!(
        own.host,
        machine.site.dev_root.join("dev/nvidia1").to_str().unwrap()
    );
    assert_eq!(own.permissions, "rw");
    let void = ("NVIDIA_VISIBLE_DEVICES".to_owned(), "void".to_owned());
    assert!(plain.env.contains(&void));
    let writable: Vec<_> = plain
        .mounts
        .iter()
        .filter(|mount| !mount.read_only)
        .collect();
    assert_eq!(writable.len(), 1, "only the socket: {writable:?}");
    // Both names of a GPU give it once.
    let both = document.expand(&["GPU-1", "1"]).unwrap();
    assert_eq!(both, plain);
}

#[test]
fn links_become_mounts_of_the_file_they_lead_to() {
    let machine = machine();
    let document = generate(&driver(), &[gpu(0)], &machine.site)
        .unwrap()
        .document;
    let plain = document.expand(&["0"]).unwrap();
    let lib = "/usr/lib/x86_64-linux-gnu";
    let real = machine
        .site
        .driver_root
        .join(format!("{}/libcuda.so.{VERSION}", &lib[1..]));
    for link in ["libcuda.so.1", "libcuda.so"] {
        let expected = PlainMount {
            host: real.to_str().unwrap().to_owned(),
            container: format!("{lib}/{link}"),
            read_only: true,
        };
        assert!(plain.mounts.contains(&expected), "{link}");
    }
    assert!(
        !plain
            .mounts
            .iter()
            .any(|mount| mount.container.contains("elsewhere"))
    );
}

#[test]
fn an_unknown_device_is_an_error() {
    let machine = machine();
    let document = generate(&driver(), &[gpu(0)], &machine.site)
        .unwrap()
        .document;
    assert_eq!(
        document.expand(&["0", "all"]),
        Err(UnknownDevice("all".to_owned()))
    );
}
