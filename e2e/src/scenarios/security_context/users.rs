//! Users and groups, of the pod, of the container and of the image.

use anyhow::{Context, Result, ensure};
use e2e::{Cluster, POD, STAY, api_pod, container};
use serde_json::{Value, json};

use super::{BY_NAME, BY_NUMBER, Look};

const WHO: &str = "id -u; id -g; id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' '";

pub(super) fn looks() -> Vec<Look> {
    let context = |context: Value| json!({ "securityContext": context });
    let owned = "stat -c '%g %a' /data; touch /data/one; stat -c '%u %g' /data/one";
    let mut everything = everything();
    everything["volumes"] = json!([{ "name": "data", "emptyDir": {} }]);
    let mount = json!({ "volumeMounts": [{ "name": "data", "mountPath": "/data" }] });
    let everybody = |policy: Value| {
        context(json!({
            "runAsUser": 1000,
            "supplementalGroups": [4001],
            "supplementalGroupsPolicy": policy,
        }))
    };
    vec![
        Look::new(
            "groups",
            &format!("{WHO}; echo; {owned}"),
            mount,
            everything,
            "1001\n2001\n2001 3001 4001 \n3001 2777\n1001 3001\n",
        ),
        Look::new(
            "container-first",
            WHO,
            context(json!({ "runAsUser": 1002 })),
            context(json!({ "runAsUser": 1001, "runAsGroup": 2001 })),
            "1002\n2001\n2001 ",
        ),
        Look::new(
            "image-number",
            WHO,
            json!({ "image": BY_NUMBER }),
            context(json!({ "runAsNonRoot": true })),
            "1234\n0\n0 ",
        ),
        Look::new(
            "image-name",
            WHO,
            json!({ "image": BY_NAME }),
            json!({}),
            "1000\n1000\n50 1000 ",
        ),
        // The image's own groups count, unless the pod says otherwise.
        Look::new(
            "merged",
            WHO,
            json!({}),
            everybody(json!("Merge")),
            "1000\n1000\n50 1000 4001 ",
        ),
        Look::new(
            "strict",
            WHO,
            json!({}),
            everybody(json!("Strict")),
            "1000\n1000\n1000 4001 ",
        ),
    ]
}

fn everything() -> Value {
    json!({ "securityContext": {
        "runAsUser": 1001,
        "runAsGroup": 2001,
        "fsGroup": 3001,
        "supplementalGroups": [4001],
        "runAsNonRoot": true,
    } })
}

/// The status says as whom a container runs, and a user's name cannot prove that it is not root.
pub(super) async fn stated(cluster: &Cluster) -> Result<()> {
    let objects = cluster.objects();
    let mut spec = everything();
    spec["containers"] = json!([container("main", STAY, json!({}))]);
    objects.apply(&api_pod("stated", spec)).await?;
    let main = json!({ "name": "main", "image": BY_NAME, "command": ["true"] });
    let unproven = json!({
        "securityContext": { "runAsNonRoot": true },
        "containers": [main],
    });
    objects.apply(&api_pod("unproven", unproven)).await?;

    let user = objects.until(POD, "stated", |pod| {
        let user = &pod["status"]["containerStatuses"][0]["user"]["linux"];
        user.is_object().then(|| user.clone()).context("no user")
    });
    let user = user.await?;
    let expected = json!({ "uid": 1001, "gid": 2001, "supplementalGroups": [2001, 3001, 4001] });
    ensure!(user == expected, "the status says {user}");
    let refused = "image has non-numeric user (user), cannot verify user is non-root";
    objects.told("unproven", "Failed", refused).await?;
    Ok(())
}
