//! Kubernetes' LabelSelector over a cluster's labels.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Labels of a cluster.
pub type Labels = BTreeMap<String, String>;

/// `matchLabels` and `matchExpressions`, all of which must hold; an empty selector matches all
/// (apimachinery, `LabelSelectorAsSelector`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// Each key must be there with this value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: Labels,
    /// Each expression must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Expression>,
}

/// One line of `matchExpressions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expression {
    /// The label's key.
    pub key: String,
    /// How the label is compared.
    pub operator: Operator,
    /// What it is compared with; empty for `Exists` and `DoesNotExist`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

/// The four operators of a LabelSelector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// The label is there with one of the values.
    In,
    /// The label is absent, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl Selector {
    /// Whether a cluster with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|expression| expression.holds(labels))
    }
}

impl Expression {
    fn holds(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use alloc::string::ToString;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    }

    fn expression(key: &str, operator: Operator, values: &[&str]) -> Expression {
        Expression { key: key.to_string(), operator, values: values.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn expressions() {
        let with = labels(&[("tier", "gold"), ("region", "")]);
        let cases = [
            (expression("tier", Operator::In, &["gold", "platinum"]), true),
            (expression("tier", Operator::In, &["silver"]), false),
            (expression("absent", Operator::In, &["silver"]), false),
            (expression("tier", Operator::NotIn, &["gold"]), false),
            (expression("tier", Operator::NotIn, &["silver"]), true),
            (expression("absent", Operator::NotIn, &["silver"]), true),
            (expression("region", Operator::Exists, &[]), true),
            (expression("absent", Operator::Exists, &[]), false),
            (expression("region", Operator::DoesNotExist, &[]), false),
            (expression("absent", Operator::DoesNotExist, &[]), true),
            (expression("region", Operator::In, &[""]), true),
        ];
        for (expression, expected) in cases {
            assert_eq!(expression.holds(&with), expected, "{expression:?}");
        }
    }

    #[test]
    fn all_parts_must_hold_and_an_empty_selector_matches_all() {
        let gold = labels(&[("tier", "gold"), ("region", "eu")]);
        assert!(Selector::default().matches(&gold) && Selector::default().matches(&labels(&[])));
        let mut selector = Selector { match_labels: labels(&[("tier", "gold")]), match_expressions: Vec::new() };
        assert!(selector.matches(&gold));
        assert!(!selector.matches(&labels(&[("tier", "silver")])) && !selector.matches(&labels(&[])));
        selector.match_expressions =
            alloc::vec![expression("region", Operator::In, &["eu"]), expression("paused", Operator::DoesNotExist, &[])];
        assert!(selector.matches(&gold));
        selector.match_labels.insert("region".to_string(), "us".to_string());
        assert!(!selector.matches(&gold));
    }
}
