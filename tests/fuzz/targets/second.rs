//! The second parsers: what they read of a text before and after an edit, and at the place of a scalar.

use coldframe::edit::{FileFormat, Spot, Style};
use coldframe::jsonpath::{Step, node_at};
use hcl_edit::expr::{Expression, ObjectKey};
use hcl_edit::structure::{Body, Structure};
use serde::Deserialize as _;
use serde_json::Value as Json;
use serde_yaml::Value as Yaml;

/// A leaf: where it is, and what it is.
type Leaf = (String, String);

/// Nothing but one leaf differs, and that one is the new value.
pub fn differ_in_one(format: FileFormat, before: &str, after: &str, to: &str) {
    let Some(first) = leaves(format, before) else { return };
    let second = leaves(format, after).unwrap_or_else(|| panic!("others do not read it any more:\n{after}"));
    assert_eq!(first.len(), second.len(), "{after}");
    let changed: Vec<(&Leaf, &Leaf)> = first.iter().zip(&second).filter(|(was, is)| was != is).collect();
    let new = format!("{to:?}");
    // An anchor of its own takes its aliases along, also those that are keys.
    let shared = format == FileFormat::Yaml && before.contains('*');
    let expected = |(was, is): &(&Leaf, &Leaf)| (was.0 == is.0 && is.1 == new) || (shared && is.0.contains(&new));
    assert!(changed.iter().all(expected), "{changed:#?}\n{after}");
    assert!(shared || changed.len() <= 1, "{changed:#?}\n{after}");
}

fn leaves(format: FileFormat, text: &str) -> Option<Vec<Leaf>> {
    let mut found = Vec::new();
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        FileFormat::Yaml => {
            for document in serde_yaml::Deserializer::from_str(text) {
                of_yaml(&Yaml::deserialize(document).ok()?, "", &mut found);
                found.push(("---".to_string(), String::new()));
            }
        }
        FileFormat::Json => of_json(&serde_json::from_str(bare).ok()?, "", &mut found),
        FileFormat::Toml => of_toml(&toml_edit::Document::parse(bare).ok()?.as_table().clone().into(), "", &mut found),
        FileFormat::Hcl => of_hcl(&hcl_edit::parser::parse_body(bare).ok()?, "", &mut found),
        // Nobody else reads it.
        FileFormat::Text => return None,
    }
    Some(found)
}

fn of_yaml(value: &Yaml, at: &str, leaves: &mut Vec<Leaf>) {
    match value {
        Yaml::Sequence(list) => {
            leaves.push((at.to_string(), format!("{} items", list.len())));
            list.iter().enumerate().for_each(|(index, value)| of_yaml(value, &format!("{at}[{index}]"), leaves));
        }
        Yaml::Mapping(map) => {
            leaves.push((at.to_string(), format!("{} members", map.len())));
            map.iter().for_each(|(key, value)| of_yaml(value, &format!("{at}.{key:?}"), leaves));
        }
        Yaml::Tagged(tagged) => of_yaml(&tagged.value, &format!("{at}!{}", tagged.tag), leaves),
        Yaml::String(text) => leaves.push((at.to_string(), format!("{text:?}"))),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => leaves.push((at.to_string(), format!("{value:?} of YAML"))),
    }
}

fn of_json(value: &Json, at: &str, leaves: &mut Vec<Leaf>) {
    match value {
        Json::Array(list) => {
            leaves.push((at.to_string(), format!("{} items", list.len())));
            list.iter().enumerate().for_each(|(index, value)| of_json(value, &format!("{at}[{index}]"), leaves));
        }
        Json::Object(map) => {
            leaves.push((at.to_string(), format!("{} members", map.len())));
            map.iter().for_each(|(key, value)| of_json(value, &format!("{at}.{key:?}"), leaves));
        }
        Json::String(text) => leaves.push((at.to_string(), format!("{text:?}"))),
        Json::Null | Json::Bool(_) | Json::Number(_) => leaves.push((at.to_string(), format!("{value} of JSON"))),
    }
}

fn of_toml(item: &toml_edit::Item, at: &str, leaves: &mut Vec<Leaf>) {
    if let Some(table) = item.as_table_like() {
        leaves.push((at.to_string(), format!("{} members", table.len())));
        table.iter().for_each(|(key, item)| of_toml(item, &format!("{at}.{key:?}"), leaves));
    } else if let Some(tables) = item.as_array_of_tables() {
        let tables = tables.iter().cloned().map(toml_edit::Item::from).enumerate();
        tables.for_each(|(index, table)| of_toml(&table, &format!("{at}[[{index}]]"), leaves));
    } else if let Some(array) = item.as_array() {
        leaves.push((at.to_string(), format!("{} items", array.len())));
        let items = array.iter().cloned().map(toml_edit::Item::from).enumerate();
        items.for_each(|(index, item)| of_toml(&item, &format!("{at}[{index}]"), leaves));
    } else if let Some(text) = item.as_str() {
        leaves.push((at.to_string(), format!("{text:?}")));
    } else {
        let bare = (item.as_integer(), item.as_float(), item.as_bool(), item.as_datetime());
        leaves.push((at.to_string(), format!("{bare:?} of TOML")));
    }
}

fn of_hcl(body: &Body, at: &str, leaves: &mut Vec<Leaf>) {
    for (index, structure) in body.iter().enumerate() {
        match structure {
            Structure::Attribute(attribute) => {
                let at = format!("{at}.{index} {}", attribute.key.as_str());
                of_expression(&attribute.value, &at, leaves);
            }
            Structure::Block(block) => {
                let labels: Vec<&str> = block.labels.iter().map(|label| label.as_str()).collect();
                of_hcl(&block.body, &format!("{at}.{index} {} {labels:?}", block.ident.as_str()), leaves);
            }
        }
    }
}

fn of_expression(expression: &Expression, at: &str, leaves: &mut Vec<Leaf>) {
    if let Some(array) = expression.as_array() {
        array.iter().enumerate().for_each(|(index, item)| of_expression(item, &format!("{at}[{index}]"), leaves));
    } else if let Some(object) = expression.as_object() {
        for (key, value) in object.iter() {
            let key = match key {
                ObjectKey::Ident(name) => name.to_string(),
                ObjectKey::Expression(key) => key.to_string(),
            };
            of_expression(value.expr(), &format!("{at}.{}", key.trim()), leaves);
        }
    } else if let Some(text) = expression.as_str() {
        leaves.push((at.to_string(), format!("{text:?}")));
    } else {
        leaves.push((at.to_string(), format!("{} of HCL", expression.to_string().trim())));
    }
}

/// What another parser reads at the place of a scalar is what we read there.
pub fn agrees(format: FileFormat, text: &str, documents: usize, steps: &[Step], spot: &Spot) {
    let quoted = matches!(spot.style, Style::Single | Style::Double);
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    match format {
        FileFormat::Json => {
            let Ok(tree) = serde_json::from_str::<Json>(bare) else { return };
            // Where a key stands twice, the last one counts for others.
            if let (true, Some(Json::String(other))) = (quoted, node_at(&tree, steps)) {
                assert_eq!(&spot.value, other, "others read it otherwise: {steps:?}");
            }
        }
        FileFormat::Yaml if documents == 1 => {
            let Ok(tree) = serde_yaml::from_str::<Yaml>(text) else { return };
            let other = steps.iter().try_fold(&tree, |node, step| match step {
                Step::Key(key) => node.get(key.as_str()),
                Step::Index(index) => node.get(*index),
            });
            if let Some(Yaml::String(other)) = other {
                assert_eq!(&spot.value, other, "others read it otherwise: {steps:?}");
            }
        }
        FileFormat::Yaml | FileFormat::Toml | FileFormat::Hcl | FileFormat::Text => {}
    }
}
