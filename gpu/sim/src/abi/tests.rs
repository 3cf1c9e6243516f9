//! NULL, room and version checks; sizes of the C structures.

use nvml_wrapper_sys::bindings::*;

use super::*;

#[test]
fn null_is_an_invalid_argument_everywhere() {
    let null: Out<u32> = Out(std::ptr::null_mut());
    assert_eq!(null.set(1), Err(INVALID_ARGUMENT));
    assert_eq!(null.get(), Err(INVALID_ARGUMENT));
    assert_eq!(null.fill(&[1]), Err(INVALID_ARGUMENT));
    assert_eq!(null.tag(), Err(INVALID_ARGUMENT));
    assert_eq!(
        null.at(5).set(1),
        Err(INVALID_ARGUMENT),
        "an offset from NULL is still NULL"
    );
    assert_eq!(null.list(null, &[]), Err(INVALID_ARGUMENT));
    assert_eq!(
        Out::<c_char>(std::ptr::null_mut()).text(9, b"x"),
        Err(INVALID_ARGUMENT)
    );
    assert_eq!(In::<c_char>(std::ptr::null()).text(), Err(INVALID_ARGUMENT));
}

#[test]
fn text_needs_room_for_its_end() {
    let mut buffer: [c_char; 8] = [7; 8];
    let place = Out(buffer.as_mut_ptr());
    assert_eq!(place.text(3, b"abc"), Err(INSUFFICIENT_SIZE));
    assert_eq!(place.text(4, b"abc"), Ok(()));
    assert_eq!(place.text(0, b""), Err(INSUFFICIENT_SIZE));
    assert_eq!(
        buffer[..5],
        [97, 98, 99, 0, 7],
        "nothing is written beyond the text"
    );
}

#[test]
fn a_list_tells_its_length_when_there_is_no_room() {
    let mut count = 1_u32;
    let mut room = [0_u32; 2];
    let (counter, places) = (Out(&raw mut count), Out(room.as_mut_ptr()));
    assert_eq!(places.list(counter, &[5, 6]), Err(INSUFFICIENT_SIZE));
    assert_eq!(counter.get(), Ok(2));
    assert_eq!(places.list(counter, &[5, 6]), Ok(()));
    assert_eq!((places.get(), places.at(1).get()), (Ok(5), Ok(6)));
}

#[test]
fn a_wrong_version_tag_is_refused_and_nothing_written() {
    let mut memory = nvmlMemory_v2_t {
        version: 0,
        total: 9,
        reserved: 9,
        free: 9,
        used: 9,
    };
    let value = nvmlMemory_v2_t {
        version: 0,
        total: 1,
        reserved: 1,
        free: 1,
        used: 1,
    };
    for wrong in [
        0,
        40,
        tag::<nvmlMemory_v2_t>(1),
        tag::<nvmlMemory_v2_t>(3),
        u32::MAX,
    ] {
        memory.version = wrong;
        assert_eq!(
            Out(&raw mut memory).set_version(2, value),
            Err(ARGUMENT_VERSION_MISMATCH)
        );
        assert_eq!(memory.total, 9);
    }
    memory.version = tag::<nvmlMemory_v2_t>(2);
    assert_eq!(Out(&raw mut memory).set_version(2, value), Ok(()));
    assert_eq!(memory.total, 1);
}

#[test]
fn endless_input_is_cut_off() {
    let endless = [c_char::MAX; 300];
    assert_eq!(In(endless.as_ptr()).text(), Err(INVALID_ARGUMENT));
    assert_eq!(In(c"GPU-1".as_ptr()).text(), Ok("GPU-1".to_owned()));
}

#[test]
fn structures_have_the_sizes_of_the_header() {
    let sizes = [
        (size_of::<nvmlPciInfo_t>(), 68),
        (size_of::<nvmlPciInfoExt_v1_t>(), 64),
        (size_of::<nvmlMemory_t>(), 24),
        (size_of::<nvmlMemory_v2_t>(), 40),
        (size_of::<nvmlUtilization_t>(), 8),
        (size_of::<nvmlEventData_t>(), 32),
        (size_of::<nvmlFieldValue_t>(), 40),
        (size_of::<nvmlProcessInfo_v1_t>(), 16),
        (size_of::<nvmlProcessInfo_v2_t>(), 24),
        (size_of::<nvmlDeviceAttributes_t>(), 40),
        (size_of::<nvmlGpuInstancePlacement_t>(), 8),
        (size_of::<nvmlGpuInstanceProfileInfo_t>(), 48),
        (size_of::<nvmlGpuInstanceProfileInfo_v2_t>(), 152),
        (size_of::<nvmlGpuInstanceProfileInfo_v3_t>(), 152),
        (size_of::<nvmlGpuInstanceInfo_t>(), 24),
        (size_of::<nvmlComputeInstanceProfileInfo_t>(), 36),
        (size_of::<nvmlComputeInstanceProfileInfo_v2_t>(), 136),
        (size_of::<nvmlComputeInstanceProfileInfo_v3_t>(), 140),
        (size_of::<nvmlComputeInstanceInfo_t>(), 32),
        (size_of::<nvmlBAR1Memory_t>(), 24),
        (size_of::<nvmlRowRemapperHistogramValues_t>(), 20),
        (size_of::<nvmlEccSramErrorStatus_v1_t>(), 104),
    ];
    for (index, (size, expected)) in sizes.into_iter().enumerate() {
        assert_eq!(size, expected, "row {index}");
    }
}
