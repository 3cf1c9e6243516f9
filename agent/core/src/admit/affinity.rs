//! Node selector and required node affinity.

use std::collections::BTreeMap;

/// Where a pod may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Affinity {
    /// `nodeSelector`: all of these labels.
    pub selector: BTreeMap<String, String>,
    /// Terms of the required node affinity, of which one has to match. `None`: there is none; an empty
    /// list matches no node.
    pub terms: Option<Vec<Term>>,
}

/// One term: all of its requirements. Without any it matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Term {
    /// `matchExpressions`.
    pub labels: Vec<Requirement>,
    /// `matchFields`, of which there is only `metadata.name`.
    pub fields: Vec<Requirement>,
}

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Label or field.
    pub key: String,
    /// How to compare.
    pub operator: Operator,
    /// With what.
    pub values: Vec<String>,
}

/// How to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values; also without the label.
    NotIn,
    /// The label is there.
    Exists,
    /// It is not.
    DoesNotExist,
    /// A greater number than the one value.
    Gt,
    /// A smaller number than the one value.
    Lt,
    /// A word that this version does not know: the term matches nothing.
    Unknown,
}

type Labels<'a> = BTreeMap<&'a str, &'a str>;

impl Affinity {
    /// Whether a node with these labels and this name will do.
    pub(super) fn matches(&self, labels: &Labels<'_>, node: &str) -> bool {
        let selected = self
            .selector
            .iter()
            .all(|(key, value)| labels.get(key.as_str()) == Some(&value.as_str()));
        let matched = |terms: &Vec<Term>| terms.iter().any(|term| term.matches(labels, node));
        selected && self.terms.as_ref().is_none_or(matched)
    }
}

impl Term {
    fn matches(&self, labels: &Labels<'_>, node: &str) -> bool {
        let empty = self.labels.is_empty() && self.fields.is_empty();
        // A term with a mistake matches nothing, even where another requirement decides already.
        let sound = self.labels.iter().all(Requirement::is_sound)
            && self.fields.iter().all(Requirement::is_sound_field);
        !empty
            && sound
            && self.labels.iter().all(|each| each.matches(labels))
            && self.fields.iter().all(|each| each.matches_field(node))
    }
}

impl Requirement {
    fn is_sound(&self) -> bool {
        match self.operator {
            Operator::In | Operator::NotIn => !self.values.is_empty(),
            Operator::Exists | Operator::DoesNotExist => self.values.is_empty(),
            Operator::Gt | Operator::Lt => self.number().is_some(),
            Operator::Unknown => false,
        }
    }

    fn is_sound_field(&self) -> bool {
        matches!(self.operator, Operator::In | Operator::NotIn) && self.values.len() == 1
    }

    fn matches(&self, labels: &Labels<'_>) -> bool {
        let label = labels.get(self.key.as_str()).copied();
        let listed = |value: &str| self.values.iter().any(|each| each == value);
        let number = || label.and_then(|value| value.parse::<i64>().ok());
        match self.operator {
            Operator::In => label.is_some_and(listed),
            Operator::NotIn => !label.is_some_and(listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::Gt => number().is_some_and(|has| Some(has) > self.number()),
            Operator::Lt => number().is_some_and(|has| Some(has) < self.number()),
            Operator::Unknown => false,
        }
    }

    fn matches_field(&self, node: &str) -> bool {
        let field = match self.key.as_str() {
            "metadata.name" => node,
            _ => "",
        };
        let listed = self.values.iter().any(|value| value == field);
        listed == (self.operator == Operator::In)
    }

    /// The one value, as a number.
    fn number(&self) -> Option<i64> {
        match self.values.as_slice() {
            [value] => value.parse().ok(),
            _ => None,
        }
    }
}
