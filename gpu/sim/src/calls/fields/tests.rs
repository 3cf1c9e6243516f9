//! Field values: types, scopes, overrides, what is not supported.

use super::*;
use crate::code::NOT_SUPPORTED;
use crate::profile::Profile;

fn gpu(profile: &str) -> Gpu {
    let machine = Profile::named(profile).and_then(|found| found.machine(profile, 0));
    machine.expect("built in").gpus.remove(0)
}

#[test]
fn rows_do_not_overlap() {
    for (index, row) in TABLE.iter().enumerate() {
        for other in &TABLE[index + 1..] {
            let apart = row.ids.end() < other.ids.start() || other.ids.end() < row.ids.start();
            assert!(apart, "{:?} and {:?}", row.ids, other.ids);
        }
    }
}

#[test]
fn recovery_action_and_remapping_follow_the_gpu() {
    let mut gpu = gpu("h200x8");
    assert_eq!(read(&gpu, 230, 0), (Kind::Int, Ok(0)));
    gpu.recovery_action = Some(2);
    assert_eq!(read(&gpu, 230, 0), (Kind::Int, Ok(2)));
    gpu.recovery_action = None;
    assert_eq!(read(&gpu, 230, 0), (Kind::Int, Err(NOT_SUPPORTED)));
    gpu.ecc.remapped_rows.get_or_insert_default().pending = true;
    assert_eq!(read(&gpu, 144, 0).1, Ok(1));
    assert_eq!(
        read(&gpu, 29, 0).1,
        Err(NOT_SUPPORTED),
        "it retires no pages"
    );
}

#[test]
fn links_are_named_by_scope_or_by_id() {
    let mut gpu = gpu("h200x8");
    gpu.nvlinks[7].replay_errors = 5;
    gpu.nvlinks[2].replay_errors = 1;
    assert_eq!(read(&gpu, 161, 7).1, Ok(5));
    assert_eq!(read(&gpu, 161, 18).1, Err(NOT_SUPPORTED));
    assert_eq!(read(&gpu, 48, 0).1, Ok(1), "L2");
    assert_eq!(read(&gpu, 109, 0).1, Ok(5), "L7");
    assert_eq!(read(&gpu, 52, 0).1, Ok(6), "all");
    assert_eq!(read(&gpu, 147, 0).1, Ok(18));
    let alone = self::gpu("t4x1");
    assert_eq!(read(&alone, 91, 0).1, Ok(0));
    assert_eq!(read(&alone, 52, 0).1, Err(NOT_SUPPORTED));
}

#[test]
fn an_override_wins_even_for_unknown_fields() {
    let mut gpu = gpu("h200x8");
    gpu.fields.insert(142, 77);
    gpu.fields.insert(4000, 1);
    assert_eq!(read(&gpu, 142, 0), (Kind::Int, Ok(77)));
    assert_eq!(read(&gpu, 4000, 0), (Kind::Long, Ok(1)));
    assert_eq!(read(&gpu, 4001, 0).1, Err(NOT_SUPPORTED));
}

#[test]
fn signed_margins_are_in_the_lower_half_of_the_union() {
    let gpu = gpu("h200x8");
    let (kind, value) = read(&gpu, 193, 0);
    let value = union_of(kind, value.expect("Hopper has margins"));
    // SAFETY: every bit pattern is a valid number.
    let (signed, whole) = unsafe { (value.siVal, value.ullVal) };
    assert_eq!(signed, -3, "shutdown is 3 degrees above slowdown");
    assert_eq!(whole >> 32, 0);
}
