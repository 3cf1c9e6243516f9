use super::*;

fn image(id: &str, size: u64, names: &[&str]) -> ListedImage {
    ListedImage {
        id: id.to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        size,
    }
}

#[test]
fn the_biggest_come_first_and_digests_before_tags() {
    let all = [
        image("a", 1, &["small:1"]),
        image(
            "b",
            5,
            &["big:1", "big:2", "big:3", "big:4", "big:5", "big@sha256:1"],
        ),
        image("c", 5, &[]),
    ];
    let shown = shown(&all, None);
    let sizes: Vec<Option<i64>> = shown.iter().map(|image| image.size_bytes).collect();
    assert_eq!(sizes, [Some(5), Some(5), Some(1)]);
    assert_eq!(
        shown[0].names.as_deref(),
        Some(&[][..]),
        "the higher id first"
    );
    let names = shown[1].names.clone().unwrap_or_default();
    assert_eq!(names, ["big@sha256:1", "big:1", "big:2", "big:3", "big:4"]);
    assert_eq!(super::shown(&all, Some(1)).len(), 1);
    assert!(super::shown(&all, Some(0)).is_empty());
}
