use super::*;

#[test]
fn each_code_reaches_as_far_as_it_should() {
    let reach = |codes: &[u32]| {
        codes
            .iter()
            .map(|code| Code(*code).reach())
            .collect::<Vec<_>>()
    };
    assert!(
        reach(&[3, 13, 25])
            .iter()
            .all(|reach| *reach == Reach::Absent)
    );
    assert!(
        reach(&[15, 16, 999])
            .iter()
            .all(|reach| *reach == Reach::Gpu)
    );
    assert!(
        reach(&[1, 9, 12, 18])
            .iter()
            .all(|reach| *reach == Reach::Library)
    );
    assert!(
        reach(&[2, 4, 6, 7, 10, 17, 27, 31, 4_000_000_000])
            .iter()
            .all(|reach| *reach == Reach::Request)
    );
}

#[test]
fn says_the_code_and_what_it_means() {
    assert_eq!(Code(15).to_string(), "the GPU is lost (NVML 15)");
    assert_eq!(Code(77).to_string(), "unknown return code (NVML 77)");
}
