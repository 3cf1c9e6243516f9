#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;

#[test]
fn reads_what_is_there_and_nothing_else() {
    let root = std::env::temp_dir().join(format!("nvml-sysfs-{}", std::process::id()));
    let pci: PciAddress = "00000000:9A:00.0".parse().unwrap();
    let folder = root.join("bus/pci/devices/0000:9a:00.0");
    assert_eq!(numa_node(&root, pci), None);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("numa_node"), "1\n").unwrap();
    fs::write(folder.join("local_cpulist"), "48-95,144-191\n").unwrap();
    assert_eq!(numa_node(&root, pci), Some(1));
    assert_eq!(local_cpus(&root, pci).unwrap(), "48-95,144-191");

    fs::write(folder.join("numa_node"), "-1\n").unwrap();
    fs::write(folder.join("local_cpulist"), "rm -rf\n").unwrap();
    assert_eq!(numa_node(&root, pci), None);
    assert_eq!(local_cpus(&root, pci), None);
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_bit_set_becomes_a_list() {
    assert_eq!(list_of(&[0]), "");
    assert_eq!(list_of(&[0b1]), "0");
    assert_eq!(list_of(&[0b1110_0101]), "0,2,5-7");
    assert_eq!(list_of(&[1 << 63, 0b11]), "63-65");
}
