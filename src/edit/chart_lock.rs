//! `Chart.lock` beside a `Chart.yaml`: `helm dependency build` refuses a chart whose lock is not of its dependencies,
//! so that a version is moved in both, and the digest with it. Pure.

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Map, Value, json};

use super::{FileFormat, Refusal, parsed, read, set};
use crate::place::Scalar;

/// Keys of a dependency in the order in which Helm writes them (helm v3, `chart.Dependency`), and which stand there
/// even when they are empty.
const KEYS: [(&str, bool); 8] = [
    ("name", true),
    ("version", false),
    ("repository", true),
    ("condition", false),
    ("tags", false),
    ("enabled", false),
    ("import-values", false),
    ("alias", false),
];

/// A dependency whose version moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// Its place in the list.
    pub index: usize,
    /// What may lie of it beside the chart, packed or not.
    pub archives: [String; 2],
}

/// The dependencies whose versions differ between two texts of a chart.
pub fn moved(before: &str, after: &str) -> Vec<Dependency> {
    let (Ok(before), Ok(after)) = (dependencies(before), dependencies(after)) else { return Vec::new() };
    let differing = before.iter().zip(&after).enumerate().filter(|(_, (before, after))| before != after);
    let dependency = |(index, (one, _)): (usize, (&Value, &Value))| {
        let text = |key: &str| one.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        Dependency { index, archives: [format!("charts/{name}-{version}.tgz"), format!("charts/{name}")] }
    };
    differing.map(dependency).collect()
}

/// The one that a place is of, before anything moves.
pub fn dependency_at(chart: &str, place: &Scalar) -> Option<Dependency> {
    // No chart is released as this one, so that it differs from whatever stands there.
    let other = set(FileFormat::Yaml, chart, place.document.as_ref(), &place.path, &place.spell("0.0.0-0")).ok()?;
    moved(chart, &other).pop()
}

/// Whether a lock is that of a chart as it stands, and locks the version that the dependency at `index` names, with a
/// `v` or without.
///
/// # Errors
/// Where it is not: then charts have to be fetched.
pub fn belongs(chart: &str, lock: &str, index: usize) -> Result<(), Refusal> {
    let path = version_at(index);
    let named = read(FileFormat::Yaml, chart, None, &path)?;
    let locked = read(FileFormat::Yaml, lock, None, &path).map_err(|refusal| not_its(&refusal.to_string()))?;
    let names = |text: &str| -> Result<Vec<Value>, Refusal> {
        let list = dependencies(text)?;
        // A chart that lies below `charts/` has no repository, and an empty one in the lock.
        let repository = |one: &Value| one.get("repository").filter(|url| !is_empty(url)).cloned().unwrap_or("".into());
        Ok(list.iter().map(|one| json!([one.get("name"), repository(one)])).collect())
    };
    if names(chart)? != names(lock)? {
        return Err(not_its("it locks other charts than Chart.yaml names"));
    }
    // A repository may spell it with a `v` and the chart without: to Helm both are one version.
    if bare(&locked.value) != bare(&named.value) {
        return Err(not_its(&format!("it locks {}, and Chart.yaml says {}", locked.value, named.value)));
    }
    let known = read(FileFormat::Yaml, lock, None, "$.digest").map_err(|refusal| not_its(&refusal.to_string()))?;
    if known.value == hash(chart, lock)? { Ok(()) } else { Err(not_its("its digest is not of these dependencies")) }
}

/// The lock that belongs to `after`, where `lock` belongs to `before`: everything that moved runs `to`.
///
/// # Errors
/// As [`belongs`].
pub fn relock(before: &str, after: &str, lock: &str, to: &str) -> Result<String, Refusal> {
    let mut locked = lock.to_string();
    for Dependency { index, .. } in moved(before, after) {
        belongs(before, lock, index)?;
        let (path, mut to) = (version_at(index), to.to_string());
        let held = |text: &str| read(FileFormat::Yaml, text, None, &path).map(|spot| spot.value);
        let (was, named) = (held(lock)?, held(before)?);
        if was != named && bare(&to).starts_with(|c: char| c.is_ascii_digit()) {
            // As its repository spells it, which is not as the chart does.
            to = if was == bare(&was) { bare(&to).to_string() } else { format!("v{}", bare(&to)) };
        }
        locked = set(FileFormat::Yaml, &locked, None, &path, &to)?;
    }
    let digest = hash(after, &locked)?;
    set(FileFormat::Yaml, &locked, None, "$.digest", &digest)
}

/// A version without its `v`.
fn bare(version: &str) -> &str {
    version.strip_prefix('v').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(version)
}

fn version_at(index: usize) -> String {
    format!("$.dependencies[{index}].version")
}

fn not_its(why: &str) -> Refusal {
    Refusal::Lock { why: why.to_string() }
}

fn dependencies(text: &str) -> Result<Vec<Value>, Refusal> {
    let parsed = parsed(FileFormat::Yaml, text)?;
    let tree = parsed.documents.first().map(|document| &document.tree);
    let list = tree.and_then(|tree| tree.get("dependencies")).and_then(Value::as_array);
    list.cloned().ok_or_else(|| not_its("it has no list of dependencies"))
}

/// The digest as Helm computes it (helm v3, `resolver.HashReq`): of the JSON of what is asked for and what is locked.
///
/// # Errors
/// Where one of the two has no list of dependencies, or a dependency that no chart can have.
pub fn hash(chart: &str, lock: &str) -> Result<String, Refusal> {
    let written = |text: &str| -> Result<String, Refusal> {
        let all = dependencies(text)?;
        Ok(format!("[{}]", all.iter().map(dependency).collect::<Result<Vec<_>, _>>()?.join(",")))
    };
    let text = format!("[{},{}]", written(chart)?, written(lock)?);
    // Go escapes these in every JSON, so that it may stand in HTML.
    let text = [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
        .iter()
        .fold(text, |text, (from, to)| text.replace(*from, to));
    let hex: String = digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("sha256:{hex}"))
}

fn dependency(value: &Value) -> Result<String, Refusal> {
    let empty = Map::new();
    let given = value.as_object().unwrap_or(&empty);
    let mut written = Vec::new();
    for (key, always) in KEYS {
        let value = match given.get(key) {
            Some(value) if !is_empty(value) => value.to_string(),
            Some(_) | None if always => "\"\"".to_string(),
            Some(_) | None => continue,
        };
        if matches!(key, "name" | "version" | "repository" | "condition" | "alias") && !value.starts_with('"') {
            return Err(not_its(&format!("`{key}` of a dependency is not a text; put it in quotes")));
        }
        written.push(format!("\"{key}\":{value}"));
    }
    Ok(format!("{{{}}}", written.join(",")))
}

/// What Go leaves out.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => !is,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CHART: &str = "apiVersion: v2\nname: shop\ndependencies:\n- {name: redis, version: 1.0.0, repository: r, alias: a}\n\
                         - {name: redis, version: 1.0.0, repository: r, alias: b}\n";

    fn lock(chart: &str) -> String {
        let version = |index: usize| read(FileFormat::Yaml, chart, None, &version_at(index)).unwrap().value;
        let locked = format!(
            "dependencies:\n- {{name: redis, repository: r, version: {}}}\n- {{name: redis, repository: r, version: {}}}\n\
             digest: sha256:{}\n",
            version(0),
            version(1),
            "0".repeat(64)
        );
        set(FileFormat::Yaml, &locked, None, "$.digest", &hash(chart, &locked).unwrap()).unwrap()
    }

    #[test]
    fn two_dependencies_that_move_together_are_both_locked() {
        let moves = |path: &str, text: &str| set(FileFormat::Yaml, text, None, path, "1.1.0").unwrap();
        let one = moves("$.dependencies[1].version", CHART);
        let both = moves("$.dependencies[0].version", &one);
        for after in [one, both] {
            assert_eq!(relock(CHART, &after, &lock(CHART), "1.1.0").unwrap(), lock(&after));
        }
        assert_eq!(relock(CHART, CHART, &lock(CHART), "1.1.0").unwrap(), lock(CHART), "nothing moved");
        assert!(moved(CHART, "dependencies: [").is_empty());
        let place = Scalar { document: None, path: "$.dependencies[?@.alias=='b'].version".into(), value: None };
        assert_eq!(dependency_at(CHART, &place).unwrap().index, 1);
    }
}
