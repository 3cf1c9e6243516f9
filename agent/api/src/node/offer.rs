//! What the Node object says that this node offers to pods.

use std::collections::BTreeMap;

use agent_core::{NodeOffer, ResourceName, Taint};
use k8s_openapi::api::core::v1::Node;

/// What the Node object does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferFacts {
    /// `allowedUnsafeSysctls`.
    pub unsafe_sysctls: Vec<String>,
    /// AppArmor is on.
    pub app_armor: bool,
}

/// The node as admission sees it.
pub fn offer(node: &Node, facts: &OfferFacts) -> NodeOffer {
    let status = node.status.clone().unwrap_or_default();
    let info = status.node_info.unwrap_or_default();
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone());
    let taints = taints.into_iter().flatten().map(|taint| Taint {
        key: taint.key,
        value: taint.value.unwrap_or_default(),
        effect: taint.effect,
    });
    let features = status.features.unwrap_or_default();
    let amounts = status.allocatable.unwrap_or_default();
    let amounts = amounts
        .into_iter()
        .filter_map(|(name, amount)| Some((ResourceName::new(name), amount.0.parse().ok()?)));
    NodeOffer {
        name: node.metadata.name.clone().unwrap_or_default(),
        labels: node.metadata.labels.clone().unwrap_or_default(),
        taints: taints.collect(),
        allocatable: amounts.collect::<BTreeMap<_, _>>(),
        unsafe_sysctls: facts.unsafe_sysctls.clone(),
        kernel: kernel(&info.kernel_version),
        strict_groups: features.supplemental_groups_policy == Some(true),
        app_armor: facts.app_armor,
        pod_level_resources: true,
        features: status
            .declared_features
            .unwrap_or_default()
            .into_iter()
            .collect(),
    }
}

/// Major and minor version of a release such as `6.1.0-18-amd64`.
fn kernel(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-', '+']);
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::kernel;

    #[test]
    fn a_release_has_two_numbers_that_count() {
        assert_eq!(kernel("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(kernel("6.18-rc1"), Some((6, 18)));
        assert_eq!(kernel("unknown"), None);
    }
}
