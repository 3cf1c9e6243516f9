//! CPU lists and bit masks.

use super::*;

#[test]
fn cpu_lists_are_read_and_nonsense_left_out() {
    assert_eq!(cpu_list("0-2,5").collect::<Vec<_>>(), [0, 1, 2, 5]);
    assert_eq!(cpu_list("7").collect::<Vec<_>>(), [7]);
    assert_eq!(cpu_list("").count(), 0);
    assert_eq!(cpu_list("a-b,,3-").count(), 0);
    assert_eq!(cpu_list("5-2").count(), 0);
    assert_eq!(
        cpu_list("65534-4000000000").collect::<Vec<_>>(),
        [65_534, 65_535]
    );
}
