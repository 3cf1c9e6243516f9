//! What a new cluster is given beside the API server's own roles: the objects that kubeadm makes for nodes to join,
//! and the API server's right to ask kubelets for logs and exec.

use serde_json::{Value, json};

use super::identity::{BOOTSTRAPPERS, KUBELET_CLIENT, TOKEN};

/// All of them, each with its place in the API.
pub(super) fn objects() -> Vec<Value> {
    let approve = "system:certificates.k8s.io:certificatesigningrequests";
    let group = |name: &str| json!({ "kind": "Group", "name": name });
    vec![
        binding(
            "e2e:kubelet-api-admin",
            "system:kubelet-api-admin",
            &json!({ "kind": "User", "name": KUBELET_CLIENT }),
        ),
        binding(
            "kubeadm:kubelet-bootstrap",
            "system:node-bootstrapper",
            &group(BOOTSTRAPPERS),
        ),
        binding(
            "kubeadm:node-autoapprove-bootstrap",
            &format!("{approve}:nodeclient"),
            &group(BOOTSTRAPPERS),
        ),
        binding(
            "kubeadm:node-autoapprove-certificate-rotation",
            &format!("{approve}:selfnodeclient"),
            &group("system:nodes"),
        ),
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": format!("bootstrap-token-{}", TOKEN.0), "namespace": "kube-system" },
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": TOKEN.0,
                "token-secret": TOKEN.1,
                "usage-bootstrap-authentication": "true",
                "usage-bootstrap-signing": "true",
                "auth-extra-groups": BOOTSTRAPPERS,
            },
        }),
    ]
}

fn binding(name: &str, role: &str, subject: &Value) -> Value {
    let group = "rbac.authorization.k8s.io";
    let mut subject = subject.clone();
    subject["apiGroup"] = json!(group);
    json!({
        "apiVersion": format!("{group}/v1"),
        "kind": "ClusterRoleBinding",
        "metadata": { "name": name },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": role },
        "subjects": [subject],
    })
}
