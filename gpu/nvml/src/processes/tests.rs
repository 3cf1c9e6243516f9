#![allow(clippy::unwrap_used)]

use super::*;
use crate::code::Code;

#[test]
fn a_count_beyond_the_buffer_is_cut() {
    let all = list(|(count, _)| {
        // SAFETY: `list` gives a writable number.
        unsafe { count.write(4_000_000_000) };
        Ok(())
    });
    assert_eq!(all.unwrap().len(), MAX_PROCESSES);
}

#[test]
fn what_does_not_apply_is_left_out() {
    let all = list(|(count, start)| {
        // SAFETY: `list` gives a writable number and at least one entry.
        unsafe {
            count.write(1);
            start.write(nvmlProcessInfo_t {
                pid: 42,
                usedGpuMemory: u64::MAX,
                gpuInstanceId: u32::MAX,
                computeInstanceId: u32::MAX,
            });
        }
        Ok(())
    });
    assert_eq!(
        all.unwrap(),
        [GpuProcess {
            pid: 42,
            memory: None,
            instance: None
        }]
    );
}

#[test]
fn too_many_processes_are_none_and_a_lost_gpu_is_a_failure() {
    let fail = |code| list(|_| Err(Fault { call: "x", code }));
    assert_eq!(fail(Code::INSUFFICIENT_SIZE), Ok(Vec::new()));
    assert!(fail(Code(15)).is_err());
}
