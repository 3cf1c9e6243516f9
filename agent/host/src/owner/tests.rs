use super::*;

#[test]
fn both_drivers_forms_are_read_and_other_paths_are_nobodys() {
    let found = |line| owner(line).map(|(uid, id)| (uid.to_string(), id.to_string()));
    let expected = |uid: &str, id: &str| Some((uid.to_owned(), id.to_owned()));
    assert_eq!(
        found("4:memory:/kubepods/burstable/pod445cdfe6/779499a0"),
        expected("445cdfe6", "779499a0")
    );
    assert_eq!(
        found("0::/node/kubepods/poda-b-c/0a1b"),
        expected("a-b-c", "0a1b")
    );
    assert_eq!(
        found(
            "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poda_b.slice/cri-containerd-0a1b.scope"
        ),
        expected("a-b", "0a1b")
    );
    for line in [
        "0::/",
        "0::/user.slice/session-1.scope",
        "1:cpu:/kubepods/burstable",
        "pod1",
        "",
    ] {
        assert_eq!(found(line), None, "{line}");
    }
}
