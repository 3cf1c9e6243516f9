//! Where pods come from, how many there may be, and what they may do.

use std::collections::BTreeMap;

use super::duration::GoDuration;
use super::field::group;

group! {
    /// Sources and limits of pods.
    pub struct Pods {
        /// Folder with manifests, or one manifest file; empty: none.
        static_pod_path: String = "staticPodPath" (String::new()),
        /// How often the folder is read in full, as a safety net beside its events.
        file_check_frequency: GoDuration = "fileCheckFrequency" (GoDuration::seconds(20), zero),
        /// URL with a manifest or a list of them; empty: none.
        static_pod_url: String = "staticPodURL" (String::new()),
        /// HTTP headers for it.
        static_pod_url_header: BTreeMap<String, Vec<String>> =
            "staticPodURLHeader" (BTreeMap::new()),
        /// How often the URL is asked.
        http_check_frequency: GoDuration = "httpCheckFrequency" (GoDuration::seconds(20), zero),
        /// Longest time between two looks at a pod.
        sync_frequency: GoDuration = "syncFrequency" (GoDuration::seconds(60), zero),
        /// Most pods on this node.
        max_pods: i32 = "maxPods" (110, zero),
        /// Most pods for each CPU; 0: no such limit.
        pods_per_core: i32 = "podsPerCore" (0),
        /// Most processes in a pod; -1: what the node has.
        pod_pids_limit: i64 = "podPidsLimit" (-1),
        /// Pod addresses when there is no control plane.
        pod_cidr: String = "podCIDR" (String::new()),
        /// Refused: the stock kubelet does not know it any more either.
        run_once: bool = "runOnce" (false),
        /// Crash back-off.
        crash_loop_back_off: CrashLoopBackOff = "crashLoopBackOff" (CrashLoopBackOff::default()),
        /// `RuntimeDefault` is the seccomp profile of containers that name none.
        seccomp_default: bool = "seccompDefault" (false),
        /// Sysctls outside the safe list that pods may set; a trailing `*` matches the rest.
        allowed_unsafe_sysctls: Vec<String> = "allowedUnsafeSysctls" (Vec::new()),
        /// Sysctls of every pod.
        default_pod_sysctls: BTreeMap<String, String> = "defaultPodSysctls" (BTreeMap::new()),
        /// User namespaces.
        user_namespaces: UserNamespaces = "userNamespaces" (UserNamespaces::default()),
        /// Local storage is limited and accounted.
        local_storage_capacity_isolation: bool = "localStorageCapacityIsolation" (true),
        /// How changes of ConfigMaps and Secrets are noticed: `Get`, `Cache` or `Watch`.
        change_detection: String =
            "configMapAndSecretChangeDetectionStrategy" ("Watch".to_owned(), zero),
        /// Folder with volume plugins run as commands.
        volume_plugin_dir: String = "volumePluginDir" (
            "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/".to_owned(), zero),
        /// How often disk usage of volumes is counted.
        volume_stats_agg_period: GoDuration =
            "volumeStatsAggPeriod" (GoDuration::seconds(60), zero),
        /// The control plane attaches volumes.
        enable_controller_attach_detach: bool = "enableControllerAttachDetach" (true),
    }
}

group! {
    /// Crash back-off.
    pub struct CrashLoopBackOff {
        /// Longest delay between two starts, 1 s to 300 s.
        max_container_restart_period: GoDuration =
            "maxContainerRestartPeriod" (GoDuration::seconds(300)),
    }
}

group! {
    /// User namespaces.
    pub struct UserNamespaces {
        /// User and group ids of each pod, a multiple of 65536.
        ids_per_pod: i64 = "idsPerPod" (65536),
    }
}
