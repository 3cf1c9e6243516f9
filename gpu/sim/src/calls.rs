//! The exported functions, one file per group. Their names are NVIDIA's.
#![allow(non_snake_case)]

mod admin;
mod clocks;
mod ecc;
pub(crate) mod events;
mod fabric;
mod fields;
mod gpm;
mod identity;
mod init;
mod memory;
mod mig_compute;
mod mig_device;
mod mig_instance;
mod nvlink;
mod pci;
mod power;
mod processes;
mod stubs;
mod thermal;
mod topology;

/// Names of all exported functions, group by group.
pub fn exported() -> impl Iterator<Item = &'static str> {
    [
        init::LIFE_CYCLE,
        init::NAMES,
        identity::NAMES,
        pci::NAMES,
        topology::NAMES,
        memory::NAMES,
        processes::NAMES,
        thermal::NAMES,
        power::NAMES,
        clocks::NAMES,
        ecc::NAMES,
        nvlink::NAMES,
        fabric::NAMES,
        fields::NAMES,
        mig_device::NAMES,
        mig_instance::NAMES,
        mig_compute::NAMES,
        events::NAMES,
        gpm::NAMES,
        admin::NAMES,
        stubs::NAMES,
    ]
    .into_iter()
    .flatten()
    .copied()
}
