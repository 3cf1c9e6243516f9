use serde_json::json;

use super::*;

fn flags(words: &[&str]) -> Flags {
    let words = ["gpulet"].iter().chain(words);
    from_matches(&command().try_get_matches_from(words).unwrap())
}

#[test]
fn the_table_makes_a_sound_command() {
    command().debug_assert();
}

#[test]
fn stock_flags_become_fields_in_every_form_that_scripts_use() {
    let given = flags(&[
        "--max-pods=58",
        "--cluster-dns",
        "10.0.0.10,10.0.0.11",
        "--fail-swap-on=false",
        "--seccomp-default",
        "--anonymous-auth=false",
        "--eviction-hard=memory.available<100Mi,nodefs.available<10%",
        "--feature-gates=A=true,B=false",
        "--kube-reserved=cpu=100m",
        "--oom-score-adj=-900",
        "-v=4",
    ]);
    assert_eq!(
        given.overlay,
        json!({
            "maxPods": 58,
            "clusterDNS": ["10.0.0.10", "10.0.0.11"],
            "failSwapOn": false,
            "seccompDefault": true,
            "authentication": {"anonymous": {"enabled": false}},
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
            "featureGates": {"A": true, "B": false},
            "kubeReserved": {"cpu": "100m"},
            "oomScoreAdj": -900,
        })
    );
    assert_eq!(given.verbosity, 4);
    assert!(given.ignored.is_empty());
}

#[test]
fn flags_without_effect_are_accepted_and_named() {
    let given = flags(&["--vmodule=a=1", "--lock-file", "/run/lock"]);
    assert_eq!(given.ignored, ["lock-file", "vmodule"]);
    assert_eq!(given.overlay, json!({}));
}

#[test]
fn flags_of_a_joined_node_are_read_as_kubeadm_writes_them() {
    let given = flags(&[
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
        "--kubeconfig=/etc/kubernetes/kubelet.conf",
        "--node-labels=pool=gpu,zone=a",
        "--node-labels=spot",
        "--register-with-taints=nvidia.com/gpu=present:NoSchedule,maintenance:NoExecute",
        "--cloud-provider=external",
        "--image-credential-provider-config=/etc/kubernetes/credentials.yaml",
        "--image-credential-provider-bin-dir=/usr/libexec/credentials",
        "--register-node=false",
    ]);
    let path = |path: &Option<PathBuf>| path.clone().unwrap_or_default().display().to_string();
    assert_eq!(path(&given.kubeconfig), "/etc/kubernetes/kubelet.conf");
    assert_eq!(
        path(&given.bootstrap_kubeconfig),
        "/etc/kubernetes/bootstrap-kubelet.conf"
    );
    assert_eq!(given.cert_dir.to_str(), Some("/var/lib/kubelet/pki"));
    assert_eq!(given.node_labels, ["pool=gpu", "zone=a", "spot"]);
    assert_eq!(
        given.register_with_taints,
        ["nvidia.com/gpu=present:NoSchedule", "maintenance:NoExecute"]
    );
    assert_eq!(given.cloud_provider, "external");
    let providers = given.credential_providers.as_ref().unwrap();
    assert_eq!(
        (providers.0.as_path(), providers.1.as_path()),
        (
            "/etc/kubernetes/credentials.yaml".as_ref(),
            "/usr/libexec/credentials".as_ref()
        )
    );
    assert_eq!(given.overlay, json!({"registerNode": false}));
    assert!(given.ignored.is_empty());
}

#[test]
fn an_empty_path_is_no_path() {
    assert_eq!(
        flags(&["--bootstrap-kubeconfig="]).bootstrap_kubeconfig,
        None
    );
    assert_eq!(flags(&["--kubeconfig="]).kubeconfig, None);
}

#[test]
fn a_wrong_word_is_a_usage_error() {
    assert!(
        command()
            .try_get_matches_from(["gpulet", "--no-such-flag"])
            .is_err()
    );
    assert!(
        command()
            .try_get_matches_from(["gpulet", "--max-pods=many"])
            .is_err()
    );
}

#[test]
fn the_dev_root_follows_the_driver_root() {
    assert_eq!(
        flags(&["--nvidia-driver-root=/run/nvidia/driver"])
            .dev_root
            .to_str(),
        Some("/run/nvidia/driver")
    );
    assert_eq!(flags(&[]).dev_root.to_str(), Some("/"));
}
