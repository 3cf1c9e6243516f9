//! What one look makes of all kinds of files.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::{Duration, SystemTime};

use agent_loops::ports::SourceSnapshot;

use super::{Place, pod, pods, problems};
use crate::files::scan::{Depth, Outcome, Scanner};

fn look(scanner: &mut Scanner) -> Option<SourceSnapshot> {
    scan(scanner, Depth::Full).changed
}

/// Looks as after events that tell every file complete.
fn scan(scanner: &mut Scanner, depth: Depth) -> Outcome {
    let path = scanner.settings.path.clone();
    let written: Vec<_> = crate::files::list::candidates(&path).unwrap_or_default();
    scanner.scan(depth, &written, None)
}

#[test]
fn yaml_and_json_are_pods_in_lexical_order_and_dot_files_are_not_looked_at() {
    let place = Place::new();
    place.write("b.yaml", &pod("web", "x:1"));
    let json = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"db"},
        "spec":{"containers":[{"name":"a","image":"y:1"}]}}"#;
    place.write("a.json", json);
    place.write(".hidden", "garbage: [");
    let snapshot = look(&mut Scanner::open(place.settings())).unwrap();
    assert_eq!(
        (pods(&snapshot), problems(&snapshot)),
        (vec!["db-n y:1".into(), "web-n x:1".into()], vec![])
    );
}

#[test]
fn no_kind_of_file_hurts_another_or_blocks() {
    let place = Place::new();
    place.write("good.yaml", &pod("web", "x:1"));
    place.write("broken.yaml", "apiVersion: v1\nkind: Pod\n  bad: 1\n");
    place.write("cut.json", "{\"apiVersion\": \"v1\", \"kin");
    place.write("empty", "");
    fs::write(place.file("binary"), [0xff_u8, 0xfe, 0]).unwrap();
    let large = File::create(place.file("large")).unwrap();
    large.set_len(10 * 1024 * 1024 + 1).unwrap();
    fs::create_dir(place.file("folder")).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", place.file("dangling")).unwrap();
    std::os::unix::fs::symlink("loop", place.file("loop")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", place.file("zero")).unwrap();
    std::os::unix::fs::symlink("good.yaml", place.file("link")).unwrap();
    let _socket = UnixListener::bind(place.file("socket")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(place.file("fifo"))
            .status()
            .unwrap()
            .success()
    );
    let snapshot = look(&mut Scanner::open(place.settings())).unwrap();
    assert_eq!(pods(&snapshot), ["web-n x:1"]);
    let good = place.file("good.yaml").display().to_string();
    let expected = [
        ("binary", "it is not UTF-8 text: byte 0 is wrong".to_owned()),
        (
            "broken.yaml",
            "line 3, column 6: mapping values are not allowed in this context".to_owned(),
        ),
        ("cut.json", "line 1, column 22: unclosed quote".to_owned()),
        (
            "dangling",
            "it is a link to /nowhere/at/all, which does not exist".to_owned(),
        ),
        ("empty", "it is empty".to_owned()),
        ("fifo", "it is a FIFO, it must be a file".to_owned()),
        ("folder", "it is a folder, it must be a file".to_owned()),
        (
            "large",
            "it has 10485761 bytes, a manifest may have at most 10 MiB".to_owned(),
        ),
        ("link", format!("the name default/web-n is taken by {good}")),
        (
            "loop",
            "it cannot be read: Too many levels of symbolic links (os error 40)".to_owned(),
        ),
        ("socket", "it is a socket, it must be a file".to_owned()),
        ("zero", "it is a device, it must be a file".to_owned()),
    ];
    let found = problems(&snapshot);
    let found: Vec<_> = found
        .iter()
        .map(|(file, message, _)| (&**file, message.clone()))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_single_file_is_a_source_and_nothing_is_an_empty_one() {
    let place = Place::new();
    place.write("one.yaml", &pod("web", "x:1"));
    let mut settings = place.settings();
    settings.path = place.file("one.yaml");
    assert_eq!(
        pods(&look(&mut Scanner::open(settings.clone())).unwrap()),
        ["web-n x:1"]
    );
    settings.path = place.file("absent");
    let snapshot = look(&mut Scanner::open(settings)).unwrap();
    assert_eq!((pods(&snapshot), problems(&snapshot)), (vec![], vec![]));
}

#[test]
fn a_pod_goes_on_when_its_file_turns_bad_and_ends_when_it_is_gone() {
    let place = Place::new();
    let path = place.file("web.yaml");
    place.write("web.yaml", &pod("web", "x:1"));
    let mut scanner = Scanner::open(place.settings());
    let first = look(&mut scanner).unwrap();
    let uid = first.pods[0].want.uid.clone();
    let damages: [(&str, &dyn Fn()); 4] = [
        ("it is empty", &|| place.write("web.yaml", "")),
        ("line 5, column 16: unclosed bracket '{'", &|| {
            let text = pod("web", "x:1");
            place.write("web.yaml", text.trim_end().trim_end_matches("}]"));
        }),
        ("it is a folder, it must be a file", &|| {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }),
        ("it is a link to gone, which does not exist", &|| {
            fs::remove_dir(&path).unwrap();
            std::os::unix::fs::symlink("gone", &path).unwrap();
        }),
    ];
    for (message, damage) in damages {
        damage();
        let snapshot = look(&mut scanner).unwrap();
        assert_eq!(snapshot.pods[0].want.uid, uid, "{message}");
        let [(file, found, pod)] = &problems(&snapshot)[..] else {
            panic!("{snapshot:?}")
        };
        assert_eq!(
            (&**file, &**found, pod.as_deref()),
            ("web.yaml", message, Some("web-n"))
        );
    }
    fs::remove_file(&path).unwrap();
    place.write("web.yaml", &pod("web", "x:2"));
    let mended = look(&mut scanner).unwrap();
    assert_eq!(
        (pods(&mended), problems(&mended)),
        (vec!["web-n x:2".to_owned()], vec![])
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(pods(&look(&mut scanner).unwrap()), Vec::<String>::new());
}

#[test]
fn nothing_is_sent_when_nothing_changed() {
    let place = Place::new();
    place.write("web.yaml", &pod("web", "x:1"));
    place.write("bad.yaml", "[");
    let mut scanner = Scanner::open(place.settings());
    assert!(look(&mut scanner).is_some());
    for depth in [Depth::Full, Depth::Changed] {
        assert!(scan(&mut scanner, depth).changed.is_none());
    }
    // Another stamp with the same content is no change either.
    place.write("web.yaml", &pod("web", "x:1"));
    assert!(look(&mut scanner).is_none());
}

#[test]
fn who_runs_keeps_its_name() {
    let place = Place::new();
    place.write("z.yaml", &pod("web", "x:1"));
    let mut scanner = Scanner::open(place.settings());
    look(&mut scanner).unwrap();
    // A file that comes first in the folder, and one that wants to become another pod.
    place.write("a.yaml", &pod("web", "x:2"));
    place.write("b.yaml", &pod("db", "y:1"));
    let snapshot = look(&mut scanner).unwrap();
    let taken = format!(
        "the name default/web-n is taken by {}",
        place.file("z.yaml").display()
    );
    assert_eq!(pods(&snapshot), ["db-n y:1", "web-n x:1"]);
    assert_eq!(
        problems(&snapshot),
        [("a.yaml".to_owned(), taken.clone(), None)]
    );
    place.write("b.yaml", &pod("web", "x:3"));
    let snapshot = look(&mut scanner).unwrap();
    assert_eq!(pods(&snapshot), ["db-n y:1", "web-n x:1"], "db goes on");
    assert_eq!(
        problems(&snapshot)[1],
        ("b.yaml".to_owned(), taken, Some("db-n".to_owned()))
    );
    // The name becomes free: the first one in the folder gets it.
    place.write("z.yaml", &pod("other", "x:1"));
    let snapshot = look(&mut scanner).unwrap();
    assert_eq!(pods(&snapshot), ["web-n x:2", "db-n y:1", "other-n x:1"]);
    assert_eq!(problems(&snapshot).len(), 1);
}

#[test]
fn two_files_with_one_uid_are_told() {
    let place = Place::new();
    for name in ["a", "b"] {
        let text = pod(name, "x:1").replace("metadata: {", "metadata: {uid: same, ");
        place.write(name, &text);
    }
    let snapshot = look(&mut Scanner::open(place.settings())).unwrap();
    assert_eq!(pods(&snapshot), ["a-n x:1"]);
    let message = format!("the UID same is taken by {}", place.file("a").display());
    assert_eq!(problems(&snapshot), [("b".to_owned(), message, None)]);
}

#[test]
fn a_pod_survives_a_restart_with_a_bad_manifest_and_keeps_its_name() {
    let place = Place::new();
    place.write("z.yaml", &pod("web", "x:1"));
    let mut scanner = Scanner::open(place.settings());
    let uid = look(&mut scanner).unwrap().pods[0].want.uid.clone();
    scanner.store().unwrap();
    place.write("z.yaml", "");
    place.write("a.yaml", &pod("web", "x:2"));
    let snapshot = look(&mut Scanner::open(place.settings())).unwrap();
    assert_eq!(
        (pods(&snapshot), &snapshot.pods[0].want.uid),
        (vec!["web-n x:1".to_owned()], &uid)
    );
    let found: Vec<_> = problems(&snapshot)
        .into_iter()
        .map(|(file, _, pod)| (file, pod))
        .collect();
    assert_eq!(
        found,
        [
            ("a.yaml".to_owned(), None),
            ("z.yaml".to_owned(), Some("web-n".to_owned()))
        ]
    );
    // With the file gone as well, there is nothing to hold on to.
    fs::remove_file(place.file("z.yaml")).unwrap();
    assert_eq!(
        pods(&look(&mut Scanner::open(place.settings())).unwrap()),
        ["web-n x:2"]
    );
}

#[test]
fn a_damaged_record_is_told_and_hurts_nothing() {
    let place = Place::new();
    place.write("web.yaml", &pod("web", "x:1"));
    let mut scanner = Scanner::open(place.settings());
    look(&mut scanner).unwrap();
    scanner.store().unwrap();
    let whole = fs::read(place.record()).unwrap();
    for bytes in [&whole[..whole.len() / 2], b""] {
        fs::write(place.record(), bytes).unwrap();
        let snapshot = look(&mut Scanner::open(place.settings())).unwrap();
        assert_eq!(pods(&snapshot), ["web-n x:1"]);
        let [(file, message, None)] = &problems(&snapshot)[..] else {
            panic!("{snapshot:?}")
        };
        assert!(
            file == "manifests.json" && message.contains("is damaged"),
            "{file}: {message}"
        );
    }
}

#[test]
fn a_file_that_may_still_be_written_is_left_alone_for_a_moment() {
    let place = Place::new();
    place.write("web.yaml", &pod("web", "x:1"));
    let mut scanner = Scanner::open(place.settings());
    assert!(
        scanner.scan(Depth::Full, &[], None).changed.is_some(),
        "at first all is taken"
    );
    place.write("web.yaml", &pod("web", "x:2"));
    place.write("new.yaml", &pod("new", "x:1"));
    let outcome = scanner.scan(Depth::Full, &[], None);
    assert!(outcome.changed.is_none() && outcome.unsettled);
    let outcome = scanner.scan(Depth::Changed, &[place.file("web.yaml")], None);
    assert_eq!(
        pods(&outcome.changed.unwrap()),
        ["web-n x:2"],
        "an event said it is complete"
    );
    assert!(outcome.unsettled);
    let old = SystemTime::now() - Duration::from_secs(2);
    let file = File::options()
        .write(true)
        .open(place.file("new.yaml"))
        .unwrap();
    file.set_times(FileTimes::new().set_modified(old)).unwrap();
    let outcome = scanner.scan(Depth::Changed, &[], None);
    assert_eq!(pods(&outcome.changed.unwrap()), ["new-n x:1", "web-n x:2"]);
    assert!(!outcome.unsettled);
}

#[test]
fn a_folder_that_cannot_be_read_changes_nothing() {
    let place = Place::new();
    place.write("web.yaml", &pod("web", "x:1"));
    let mut scanner = Scanner::open(place.settings());
    look(&mut scanner).unwrap();
    let aside = place.folder.path().join("aside");
    fs::rename(place.manifests(), &aside).unwrap();
    std::os::unix::fs::symlink("manifests", place.manifests()).unwrap();
    let snapshot = look(&mut scanner).unwrap();
    assert_eq!(pods(&snapshot), ["web-n x:1"]);
    assert_eq!(problems(&snapshot)[0].0, "manifests");
    fs::remove_file(place.manifests()).unwrap();
    assert_eq!(
        pods(&look(&mut scanner).unwrap()),
        Vec::<String>::new(),
        "no folder, no pods"
    );
}

#[test]
fn a_file_whose_content_cannot_be_read_is_told() {
    let place = Place::new();
    // A regular file that opens and whose first byte nobody can read, root neither.
    symlink("/proc/self/mem", place.file("web.yaml")).unwrap();
    let snapshot = look(&mut Scanner::open(place.settings())).unwrap();
    let told = &problems(&snapshot)[0].1;
    assert!(told.contains("Input/output error"), "{told}");
}
