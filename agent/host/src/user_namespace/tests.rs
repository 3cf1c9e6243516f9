#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use agent_loops::ports::IdRange;

use super::{UserNamespaceError, UserNamespaceSettings, UserNamespaces, range_in};

const LENGTH: u32 = 65_536;

struct Pods(tempfile::TempDir);

impl Pods {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn pod(&self, uid: &str) -> PathBuf {
        let folder = self.0.path().join(uid);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// A node of three ranges.
    fn node(&self) -> UserNamespaces {
        let settings = UserNamespaceSettings {
            ids_per_pod: LENGTH,
            max_pods: 3,
        };
        let node = UserNamespaces::new(self.0.path().to_owned(), settings);
        let three = IdRange {
            first: LENGTH,
            length: 3 * LENGTH,
        };
        node.node.set(three).unwrap();
        node
    }

    fn first(&self, node: &UserNamespaces, uid: &str) -> Option<u32> {
        node.of_pod(&self.pod(uid))
            .ok()
            .map(|range| range.first / LENGTH)
    }
}

#[test]
fn every_pod_has_a_range_of_its_own_as_long_as_its_folder_is_there() {
    let pods = Pods::new();
    let node = pods.node();
    let first = |uid| pods.first(&node, uid);
    assert_eq!(
        [first("a"), first("b"), first("c")],
        [Some(1), Some(2), Some(3)]
    );
    assert_eq!(first("b"), Some(2), "the same again");
    let full = node.of_pod(&pods.pod("d")).unwrap_err();
    assert!(matches!(full, UserNamespaceError::Full));
    // Another process sees the same, and a folder that goes makes room.
    let next = pods.node();
    assert_eq!(pods.first(&next, "c"), Some(3));
    fs::remove_dir_all(pods.0.path().join("b")).unwrap();
    assert_eq!(pods.first(&next, "d"), Some(2));
}

#[test]
fn the_file_is_the_stock_kubelets() {
    let pods = Pods::new();
    let node = pods.node();
    let stock = "{\"uidMappings\":[{\"hostId\":65536,\"containerId\":0,\"length\":65536}],\
                 \"gidMappings\":[{\"hostId\":65536,\"containerId\":0,\"length\":65536}]}";
    fs::write(pods.pod("stock").join("userns"), stock).unwrap();
    assert_eq!(pods.first(&node, "stock"), Some(1));
    assert_eq!(pods.first(&node, "own"), Some(2));
    let own = fs::read_to_string(pods.pod("own").join("userns")).unwrap();
    assert_eq!(
        own,
        stock.replace("65536,\"containerId", "131072,\"containerId")
    );
}

#[test]
fn a_file_that_is_no_range_of_this_node_is_told() {
    let good = "{\"uidMappings\":[{\"hostId\":65536,\"containerId\":0,\"length\":65536}],\
                \"gidMappings\":[{\"hostId\":65536,\"containerId\":0,\"length\":65536}]}";
    for text in [
        "torn",
        &good.replacen("65536", "131072", 1),
        &good.replace(":0,", ":1,"),
        &good.replace("length\":65536", "length\":1"),
        &good.replace("hostId\":65536", "hostId\":65537"),
        &good.replace("hostId\":65536", "hostId\":0"),
        &good.replace("hostId\":65536", "hostId\":262144"),
    ] {
        let pods = Pods::new();
        fs::write(pods.pod("bad").join("userns"), text).unwrap();
        let error = pods.node().of_pod(&pods.pod("bad")).unwrap_err();
        assert!(
            matches!(error, UserNamespaceError::Content { .. }),
            "{text}"
        );
    }
    // One that cannot be read at all may be any: nobody else gets a range meanwhile.
    let pods = Pods::new();
    fs::write(pods.pod("bad").join("userns"), "torn").unwrap();
    assert!(pods.node().of_pod(&pods.pod("good")).is_err());
}

#[test]
fn ranges_of_the_node() {
    let line = "0: kubelet 65536 2147483648\n";
    let range = range_in(line, line).unwrap();
    assert_eq!((range.first, range.length), (65_536, 1 << 31));
    for (users, groups) in [
        (line, "0: kubelet 131072 2147483648\n"),
        ("", ""),
        ("0: kubelet 65536\n", "0: kubelet 65536\n"),
        ("0: kubelet a b\n", "0: kubelet a b\n"),
        (&line.repeat(2), &line.repeat(2)),
    ] {
        assert!(range_in(users, groups).is_err(), "{users}");
    }
}
