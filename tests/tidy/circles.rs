//! How many files import each other in a circle: whoever changes one of them has to have all of them in mind. Rooms
//! stand in an order (`rooms`); inside a room a small circle of things that belong together is allowed.

use std::collections::{BTreeMap, BTreeSet};

use super::rooms::PACKAGES;
use super::source::File;

/// Files in one circle, at most.
const WIDEST: usize = 6;

type Module = Vec<String>;

/// Circles that are wider, with the files in them.
pub fn are_small(files: &[File]) -> Vec<String> {
    let mut problems = Vec::new();
    for package in PACKAGES.iter().map(Some).chain([None]) {
        let modules = modules(files, package.copied());
        let graph = imports(&modules);
        for circle in circles(&graph).into_iter().filter(|circle| circle.len() > WIDEST) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            let whose = package.copied().unwrap_or("coldframe");
            problems.push(format!("{whose}: {} files import each other: {}", names.len(), names.join(", ")));
        }
    }
    problems
}

/// The modules of a package, or of the one that has the packages for rooms, with their code.
fn modules(files: &[File], package: Option<&str>) -> BTreeMap<Module, String> {
    let mut modules = BTreeMap::new();
    let product = |file: &&File| file.is_rust() && file.within("src/") && !file.is_for_tests();
    for file in files.iter().filter(product) {
        let mut parts: Vec<&str> = file.path.trim_end_matches(".rs").split('/').skip(1).collect();
        let room = parts.first().copied().unwrap_or_default();
        match package {
            Some(package) if room == package => drop(parts.remove(0)),
            None if !PACKAGES.contains(&room) => {}
            Some(_) | None => continue,
        }
        if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(last)) {
            parts.pop();
        }
        let code: Vec<&str> = file.product().map(|(_, line)| line).collect();
        // The front door of the whole names what it exports, and nobody below asks for it.
        if package.is_none() && parts.is_empty() {
            continue;
        }
        modules.insert(parts.into_iter().map(String::from).collect(), without_visibility(&code.join("\n")));
    }
    modules
}

/// `pub(in crate::init)` imports nothing.
fn without_visibility(code: &str) -> String {
    let mut parts = code.split("pub(");
    let mut rest = parts.next().unwrap_or_default().to_string();
    for part in parts {
        rest.push_str("pub ");
        rest.push_str(part.split_once(')').map_or("", |(_, after)| after));
    }
    rest
}

/// Which modules each one names.
fn imports(modules: &BTreeMap<Module, String>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let used: BTreeMap<&Module, Vec<(bool, Vec<String>)>> =
        modules.iter().map(|(module, code)| (module, used(code))).collect();
    let known = Known { modules, used };
    let names = |(module, code): (&Module, &String)| {
        let uses = known.used[module].iter().filter(|(public, _)| !public).map(|(_, path)| path.clone());
        let inline = without_uses(code);
        let paths = uses.chain(inline.iter().filter_map(|path| known.unfold(module, path)));
        paths.filter_map(|path| known.find(module, &path, 0)).filter(|found| *found != module).collect()
    };
    modules.iter().map(|(module, code)| (module, names((module, code)))).collect()
}

struct Known<'a> {
    modules: &'a BTreeMap<Module, String>,
    used: BTreeMap<&'a Module, Vec<(bool, Vec<String>)>>,
}

impl<'a> Known<'a> {
    /// The module in which a path ends, through what is exported anew on the way.
    fn find(&self, from: &Module, path: &[String], depth: u32) -> Option<&'a Module> {
        let mut at = from.clone();
        let mut rest = path.iter().peekable();
        match path.first()?.as_str() {
            "crate" => {
                at.clear();
                rest.next();
            }
            "self" => drop(rest.next()),
            "super" => {
                while rest.next_if(|part| *part == "super").is_some() {
                    at.pop();
                }
            }
            first if self.has(&at, first) => {}
            _ => return None,
        }
        while let Some(part) = rest.next_if(|part| self.has(&at, part)) {
            at.push(part.clone());
        }
        let exported = rest.peek().and_then(|name| {
            let exports = self.used.get(&at)?.iter().filter(|(public, _)| *public);
            exports.map(|(_, path)| path).find(|path| path.last() == Some(*name))
        });
        let further = exported.filter(|_| depth < 6).and_then(|path| self.find(&at, path, depth + 1));
        further.or_else(|| self.modules.get_key_value(&at).map(|(module, _)| module))
    }

    fn has(&self, at: &Module, child: &str) -> bool {
        self.modules.contains_key(&[at.as_slice(), &[child.to_string()]].concat())
    }

    /// An inline path from where it can be found: what it begins with may be imported.
    fn unfold(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        if ["crate", "self", "super"].contains(&first.as_str()) || self.has(module, first) {
            return Some(path.to_vec());
        }
        let imported = self.used.get(module)?.iter().find(|(_, path)| path.last() == Some(first))?;
        Some([imported.1.as_slice(), rest].concat())
    }
}

/// What the `use` lines name, each path by itself, and whether it is exported.
fn used(code: &str) -> Vec<(bool, Vec<String>)> {
    let mut paths = Vec::new();
    for (exported, tree) in uses(code) {
        let mut all = Vec::new();
        spread(&[], &tree.split_whitespace().collect::<Vec<_>>().join(" "), &mut all);
        paths.extend(all.into_iter().map(|path| (exported, path)));
    }
    paths
}

/// What stands between each `use` and its semicolon, and whether `pub` stands before it.
fn uses(code: &str) -> impl Iterator<Item = (bool, &str)> {
    code.match_indices("use ").filter_map(|(at, _)| {
        let before = code[..at].trim_end_matches(' ');
        let exported = before.ends_with("pub");
        let word = before.len() == at && before.ends_with(|last: char| last.is_alphanumeric() || last == '_');
        (exported || !word).then(|| (exported, code[at + 4..].split(';').next().unwrap_or_default()))
    })
}

/// `a::{b, c::d}` is `a::b` and `a::c::d`.
fn spread(prefix: &[String], tree: &str, into: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let (head, group) = tree.split_once('{').map_or((tree, None), |(head, group)| (head, Some(group)));
    let own = head.split(" as ").next().unwrap_or_default().split("::").map(str::trim).filter(|part| !part.is_empty());
    let prefix: Vec<String> = prefix.iter().cloned().chain(own.map(String::from)).collect();
    let Some(group) = group else { return into.push(prefix) };
    let (mut depth, mut item) = (0, String::new());
    for letter in group.strip_suffix('}').unwrap_or(group).chars().chain([',']) {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                spread(&prefix, &std::mem::take(&mut item), into);
                continue;
            }
            _ => {}
        }
        item.push(letter);
    }
}

/// Paths of the code beside its `use` lines.
fn without_uses(code: &str) -> Vec<Vec<String>> {
    let plain = uses(code).fold(code.to_string(), |code, (_, tree)| code.replacen(tree, "", 1));
    let path = |word: &str| word.split("::").map(String::from).collect::<Vec<_>>();
    let words = plain.split(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'));
    words.filter(|word| word.contains("::")).map(|word| path(word.trim_matches(':'))).collect()
}

/// Sets of modules each of which reaches all others.
fn circles<'a>(graph: &BTreeMap<&'a Module, BTreeSet<&'a Module>>) -> Vec<BTreeSet<&'a Module>> {
    let reach = |from: &'a Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(module) = next.pop() {
            next.extend(graph[module].iter().copied().filter(|to| seen.insert(*to)));
        }
        seen
    };
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = graph.keys().map(|module| (*module, reach(module))).collect();
    let with = |module: &'a Module| -> BTreeSet<&'a Module> {
        reached[module].iter().copied().filter(|other| reached[other].contains(module)).collect()
    };
    graph
        .keys()
        .map(|module| with(module))
        .filter(|circle| circle.len() > 1)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

#[test]
fn a_circle_is_found_through_groups_exports_and_inline_paths() {
    let file = |name: &str, text: &str| File::new(format!("src/{name}.rs"), text.to_string());
    let ring = |last: &str| {
        let mut files = vec![
            file("hub/mod", "pub(crate) mod a;\nmod b;\npub use b::Thing;\npub(in crate::hub) fn f() {}\n"),
            file("hub/a", "use crate::{hub::{Thing, c}, other};\n"),
            file("hub/b", "// use super::a;\nfn g() { super::c::h() }\n"),
        ];
        for (from, to) in [("c", "d"), ("d", "e"), ("e", "f"), ("f", "g")] {
            files.push(file(&format!("hub/{from}"), &format!("use super::{to}::x;\n")));
        }
        files.push(file("hub/g", last));
        files
    };
    assert_eq!(are_small(&ring("")), [""; 0]);
    assert_eq!(are_small(&ring("use super::c;\nfn f() { c::y() }\n")), [""; 0], "five");
    assert_eq!(are_small(&ring("#[cfg(test)]\nmod tests { use super::super::a; }\n")), [""; 0]);
    let problems = are_small(&ring("use super::b::Thing;\nfn f() { super::a::z() }\n"));
    let all = "coldframe: 7 files import each other: hub::a, hub::b, hub::c, hub::d, hub::e, hub::f, hub::g";
    assert_eq!(problems, [all]);
}
