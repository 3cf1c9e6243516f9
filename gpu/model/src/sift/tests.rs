#![allow(clippy::indexing_slicing)]

use super::{GPU_LIMIT, sift};
use crate::facts::TopologyLevel;
use crate::fixtures::{hybrid_cube, machine, mig_gpu};
use crate::ids::GpuUuid;

#[test]
fn a_sound_scan_passes_unchanged() {
    let facts = hybrid_cube();
    assert_eq!(sift(&facts), (facts, Vec::new()));
}

#[test]
fn what_cannot_be_true_is_left_out_and_the_tables_follow() {
    let mut facts = machine(
        &vec![vec![0; 5]; 5],
        |_| None,
        |a, b| match (a, b) {
            (0, 4) | (4, 0) => TopologyLevel::SingleSwitch,
            _ => TopologyLevel::System,
        },
    );
    facts.gpus[1].uuid = GpuUuid::new("../../etc\u{7}");
    facts.gpus[2].uuid = facts.gpus[0].uuid.clone();
    facts.gpus[3].minor = facts.gpus[0].minor;
    let (kept, rejected) = sift(&facts);
    assert_eq!(
        kept.gpus.iter().map(|gpu| gpu.index).collect::<Vec<_>>(),
        [0, 4]
    );
    assert_eq!(kept.levels[0][1], TopologyLevel::SingleSwitch);
    assert_eq!(kept.levels.len(), 2);
    let why: Vec<&str> = rejected
        .iter()
        .map(|rejected| rejected.why.as_str())
        .collect();
    assert!(
        why[0].contains("../../etc?") && why[1].contains("UUID of GPU 0"),
        "{why:?}"
    );
    assert!(why[2].contains("minor number 0 of GPU 0"), "{why:?}");
}

#[test]
fn an_impossible_count_is_cut() {
    let mut facts = machine(
        &vec![Vec::new(); GPU_LIMIT + 9],
        |_| None,
        |_, _| TopologyLevel::System,
    );
    for (n, gpu) in (0_u32..).zip(&mut facts.gpus) {
        gpu.pci.domain = n;
    }
    let (kept, rejected) = sift(&facts);
    assert_eq!((kept.gpus.len(), rejected.len()), (GPU_LIMIT, 9));
}

#[test]
fn texts_are_made_printable_and_short() {
    let mut facts = machine(&[Vec::new()], |_| None, |_, _| TopologyLevel::Internal);
    facts.gpus[0].name = format!("\u{1b}[31mH200\u{fffd}{}", "ü".repeat(200));
    facts.gpus[0].serial = Some("1\n2".to_owned());
    let mut with_mig = mig_gpu(1, &[(1, 0, "1g.\0gb"), (1, 0, "again"), (2, 0, "1g")]);
    if let Some(mig) = &mut with_mig.mig {
        mig.devices[2].uuid = GpuUuid::new("no uuid");
    }
    facts.gpus.push(with_mig);
    let (kept, _) = sift(&facts);
    assert!(kept.gpus[0].name.starts_with("?[31mH200?ü") && kept.gpus[0].name.len() <= 96);
    assert_eq!(kept.gpus[0].serial.as_deref(), Some("1?2"));
    let profiles: Vec<_> = kept.gpus[1]
        .mig
        .iter()
        .flat_map(|mig| &mig.devices)
        .map(|d| d.profile.as_str())
        .collect();
    assert_eq!(profiles, ["1g.?gb"]);
}
