use super::*;
use crate::objects::trust;
use agent_loops::ports::ProjectedSource;
use http::Method;

const BUNDLES: &str = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles";

fn serve(node: &Node) {
    for version in ["v1", "v1beta1"] {
        let name = if version == "v1" {
            "certificatesigningrequests"
        } else {
            "clustertrustbundles"
        };
        let resource = json!({
            "name": name, "namespaced": false, "kind": "X", "singularName": "", "verbs": [],
        });
        let group = format!("certificates.k8s.io/{version}");
        let list = json!({"groupVersion": group, "resources": [resource]});
        let path = format!("/apis/{group}");
        node.api
            .always(Method::GET, &path, move |_| (200, list.clone()));
    }
}

fn bundle(name: &str, signer: &str, content: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {"signerName": signer, "trustBundle": block(content)},
    })
}

fn block(content: &str) -> String {
    trust::certificates([content.as_bytes().to_vec()])
}

fn text(references: &References, index: usize) -> String {
    let source = ProjectedSource {
        volume: "p".into(),
        index,
    };
    references.trust_bundles[&source]
        .as_ref()
        .unwrap()
        .to_string()
}

#[tokio::test(start_paused = true)]
async fn bundles_come_by_name_or_signer_in_the_version_that_is_served() {
    let node = Node::new();
    serve(&node);
    node.api.put(BUNDLES, bundle("roots", "", "root"));
    node.api.put(BUNDLES, bundle("a", "example.com/s", "one"));
    node.api.put(BUNDLES, bundle("b", "example.com/t", "other"));
    let sources = json!([
        {"clusterTrustBundle": {"name": "roots", "path": "r"}},
        {"clusterTrustBundle": {"signerName": "example.com/s", "labelSelector": {}, "path": "s"}},
        {"clusterTrustBundle": {"name": "absent", "optional": true, "path": "t"}},
    ]);
    let volumes = json!([{"name": "p", "projected": {"sources": sources}}]);
    let pod = pod("1", json!({"volumes": volumes}));
    let references = node.references(&pod).await;
    assert_eq!(text(&references, 0), block("root"));
    assert_eq!(text(&references, 1), block("one"));
    assert_eq!(text(&references, 2), "");

    node.quiet().await;
    node.api.put(BUNDLES, bundle("c", "example.com/s", "two"));
    node.touched(&pod, 0).await;
    let references = node.references(&pod).await;
    assert_eq!(
        text(&references, 1),
        format!("{}{}", block("one"), block("two"))
    );
    node.objects.forget(&pod.want.uid).await;
    node.quiet().await;
    assert_eq!(node.api.open_watches(), 1, "the Services");
}
