use super::*;

fn told(state: u8, status: u32, summary: u8) -> Option<(bool, String)> {
    let info = nvmlGpuFabricInfo_v3_t {
        version: 0,
        clusterUuid: [0; 16],
        status,
        cliqueId: 7,
        state,
        healthMask: 0,
        healthSummary: summary,
    };
    facts(&info).map(|fabric| (fabric.complete, fabric.state))
}

#[test]
fn only_a_complete_registration_without_error_counts() {
    let expect = |complete, words: &str| Some((complete, words.to_owned()));
    assert_eq!(told(0, 0, 0), None);
    assert_eq!(told(1, 0, 0), expect(false, "not started"));
    assert_eq!(told(2, 0, 0), expect(false, "in progress"));
    assert_eq!(told(3, 0, 1), expect(true, "completed"));
    assert_eq!(
        told(3, 999, 1),
        expect(false, "failed: unknown error in the driver (NVML 999)")
    );
    assert_eq!(told(3, 0, 2), expect(true, "completed, unhealthy"));
    assert_eq!(told(77, 0, 0), expect(false, "unknown state 77"));
}

#[test]
fn versions_carry_the_sizes_of_the_header() {
    assert_eq!(tag::<nvmlGpuFabricInfo_v2_t>(2), 36 | 2 << 24);
    assert_eq!(tag::<nvmlGpuFabricInfo_v3_t>(3), 40 | 3 << 24);
}
