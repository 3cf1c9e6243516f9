//! Taints and tolerations.

/// A taint of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value, may be empty.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// What a pod stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toleration {
    /// Empty: every key.
    pub key: String,
    /// `Exists`, `Equal` or empty, which is the same as `Equal`. `Lt` and `Gt` stand nothing: their
    /// feature gate is off by default.
    pub operator: String,
    /// Value for `Equal`.
    pub value: String,
    /// Empty: every effect.
    pub effect: String,
}

/// Whether every taint that reaches running pods is tolerated. The kubelet looks at `NoExecute` only:
/// the scheduler has looked at the others.
pub(super) fn tolerated(taints: &[Taint], tolerations: &[Toleration]) -> bool {
    taints
        .iter()
        .filter(|taint| taint.effect == "NoExecute")
        .all(|taint| tolerations.iter().any(|each| each.tolerates(taint)))
}

impl Toleration {
    fn tolerates(&self, taint: &Taint) -> bool {
        let same = |mine: &str, theirs: &str| mine.is_empty() || mine == theirs;
        same(&self.effect, &taint.effect)
            && same(&self.key, &taint.key)
            && match self.operator.as_str() {
                "" | "Equal" => self.value == taint.value,
                "Exists" => true,
                _ => false,
            }
    }
}
