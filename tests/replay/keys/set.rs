//! Setting one key of a YAML value by its path: `tiers[gold].soak.min`, `plugins[app].write[0].file`. In
//! brackets stands the name of an item, or its number.

use serde_yaml::{Mapping, Value};

/// One step of a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub name: String,
    /// An item of a list.
    pub item: bool,
}

/// The steps of a path.
pub fn steps(path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in path.split('.') {
        let mut pieces = part.split('[');
        steps.push(Step { name: pieces.next().unwrap_or("").to_string(), item: false });
        steps.extend(pieces.map(|piece| Step { name: piece.trim_end_matches(']').to_string(), item: true }));
    }
    steps
}

/// Sets the value at a path; `absent` takes the key out. What is missing on the way is made.
pub fn set(value: &mut Value, path: &str, to: &Value) {
    let absent = to.as_str() == Some("absent");
    let steps = steps(path);
    let mut here = value;
    for (index, step) in steps.iter().enumerate() {
        let last = index + 1 == steps.len();
        if step.item {
            if here.is_null() {
                *here = Value::Sequence(Vec::new());
            }
            let list = here.as_sequence_mut().unwrap_or_else(|| panic!("{path}: `[{}]` is of no list", step.name));
            let at = step.name.parse().ok().or_else(|| list.iter().position(|item| item["name"] == step.name.as_str()));
            let at: usize = at.unwrap_or_else(|| panic!("{path}: there is no `{}`", step.name));
            while list.len() <= at {
                list.push(Value::Null);
            }
            here = &mut list[at];
        } else {
            if !here.is_mapping() {
                *here = Value::Mapping(Mapping::new());
            }
            let map = here.as_mapping_mut().unwrap();
            if last && absent {
                map.remove(step.name.as_str());
                return;
            }
            here = map.entry(Value::from(step.name.as_str())).or_insert(Value::Null);
        }
    }
    *here = to.clone();
}

#[test]
fn a_path_names_one_key() {
    let yaml = |text: &str| serde_yaml::from_str::<Value>(text).unwrap();
    let mut value = yaml("{tiers: [{name: qa}, {name: gold, soak: 1h}]}");
    set(&mut value, "tiers[gold].soak.min", &yaml("2h"));
    set(&mut value, "tiers[qa].merge", &yaml("manual"));
    set(&mut value, "freeze[0].why", &yaml("x"));
    set(&mut value, "tiers[qa].name", &yaml("absent"));
    assert_eq!(value, yaml("{tiers: [{merge: manual}, {name: gold, soak: {min: 2h}}], freeze: [{why: x}]}"));
}
