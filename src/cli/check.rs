//! `coldframe check`: a policy file, and in a checkout the files that it speaks of. What a checkout holds is read in
//! `observe/checkout`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use decide::model::Empty;
use decide::snapshot::Read;
use decide::{ClusterName, Tier};

use super::Check;
use super::run::say;
use super::settings::limits;
use crate::git::Checkout;
use crate::hub::CodeOwners;
use crate::hub::code_owners::LOCATIONS;
use crate::inventory::ListedCluster;
use crate::observe::checkout::{self, Holds, Listed, Unread};
use crate::policy::wiring::Inventory;
use crate::policy::{self, Loaded, Mode, Part, Problem, Setting, SourceFile, about};

/// The two places where the bot reads the policy file.
const FILES: [&str; 2] = ["coldframe.yaml", ".github/coldframe.yaml"];

/// Reads a policy file from this disk, and what it speaks of, and shows all errors at once.
pub fn check(arguments: &Check) -> anyhow::Result<ExitCode> {
    let mut files = policy_files(arguments.file.as_deref())?;
    for (name, path) in &arguments.presets {
        let text = std::fs::read_to_string(path).with_context(|| format!("the preset `{}`", path.display()))?;
        files.push(SourceFile { path: name.clone(), text });
    }
    let setting = Setting { limits: limits(arguments.limits.as_deref())?, mode: Mode::default() };
    if arguments.resolved {
        let (text, good) = policy::check_resolved(&files, &setting);
        return told(&text, good);
    }
    match policy::load_in(&files, &setting) {
        Ok(loaded) => {
            let (text, good) = in_checkout(&loaded, files);
            told(&text, good)
        }
        Err(_) => told(&policy::check_in(&files, &setting).0, false),
    }
}

fn told(text: &str, good: bool) -> anyhow::Result<ExitCode> {
    say(text)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is said of a policy without mistakes, and whether what it speaks of is there as far as anybody can see.
fn in_checkout(loaded: &Loaded, mut files: Vec<SourceFile>) -> (String, bool) {
    let read = around(&files).and_then(|checkout| checkout::read(&checkout, loaded).map_err(|error| error.to_string()));
    let holds = match read {
        Ok(holds) => holds,
        Err(why) => {
            let not = "Not looked at, and so not known to be there: the clusters, the places of versions, CODEOWNERS";
            return (format!("{}\n{not}. {why}\n", policy::good(loaded, &loaded.warnings, &files)), true);
        }
    };
    let problems = problems(loaded, &files, &holds);
    let warnings: Vec<Problem> = loaded.warnings.iter().cloned().chain(warnings(loaded, &files, &holds)).collect();
    let there = there(&holds);
    if let Listed::Broken(_, file) = holds.listed {
        files.push(file);
    }
    if let Read::Known(Some(file)) = holds.owners {
        files.push(file);
    }
    if problems.is_empty() {
        return (format!("{}\n{there}\n", policy::good(loaded, &warnings, &files)), true);
    }
    let count = if problems.len() == 1 { "1 problem".to_string() } else { format!("{} problems", problems.len()) };
    let shown = policy::render(&problems, &files);
    (format!("{shown}\n{count}. The policy itself reads well; what it speaks of is not as it says.\n"), false)
}

/// The checkout whose policy these files are, or why there is none.
pub(super) fn around(files: &[SourceFile]) -> Result<Checkout, String> {
    let main = files.first().map(|file| Path::new(&file.path)).unwrap_or(Path::new(FILES[0]));
    let main = std::fs::canonicalize(main).map_err(|error| format!("{}: {error}.", main.display()))?;
    let folder = main.parent().unwrap_or(&main);
    let checkout = Checkout::around(folder).map_err(|error| format!("{error}."))?;
    let checkout = checkout.ok_or("This is no checkout of a repository; `coldframe check` in one looks at them.")?;
    let root =
        std::fs::canonicalize(&checkout.root).map_err(|error| format!("{}: {error}.", checkout.root.display()))?;
    if FILES.iter().any(|file| root.join(file) == main) {
        return Ok(checkout);
    }
    Err(format!("The bot reads {}, from the root of the repository, and this is another file.", FILES.join(" or ")))
}

/// What stops the bot.
fn problems(loaded: &Loaded, files: &[SourceFile], holds: &Holds) -> Vec<Problem> {
    let mut all = match &holds.listed {
        Listed::Known(clusters) => selected(loaded, files, clusters),
        Listed::Broken(problems, _) => problems.0.clone(),
        Listed::Missing(why) => {
            let help = "write `clusters: [{name: …, labels: {…}}]` there, or name the file by `clusters: {path: …}`";
            vec![about(files, Part::Inventory, format!("no clusters: {why}"), help)]
        }
        Listed::Elsewhere => Vec::new(),
    };
    let mut rest = holds.unread.as_slice();
    // Those of one `write` lie beside each other only within a tier.
    let mut seen: Vec<(&str, usize)> = Vec::new();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let write = (first.plugin.as_str(), first.write);
        if !seen.contains(&write) {
            seen.push(write);
            let more = others.iter().filter(|other| (other.plugin.as_str(), other.write) == write).count();
            all.push(unread(files, first, more));
        }
    }
    all
}

/// One problem for all places of one `write`.
fn unread(files: &[SourceFile], first: &Unread, more: usize) -> Problem {
    let Unread { plugin, tier, write, file, cluster, why } = first;
    let whom = cluster.as_ref().map_or(format!("tier `{tier}`"), |name| format!("cluster `{name}` of tier `{tier}`"));
    let more = match more {
        0 => String::new(),
        1 => "; nor does another place of it".to_string(),
        _ => format!("; nor do {more} other places of it"),
    };
    let message = format!("`{file}` holds no version of plugin `{plugin}` for {whom}: {why}{more}");
    let help = "correct `file` or `path`, or write the version that runs there now";
    about(files, Part::Write(plugin.as_str(), *write), message, help)
}

/// Whom the tiers select: somebody each, and nobody twice.
fn selected(loaded: &Loaded, files: &[SourceFile], clusters: &[ListedCluster]) -> Vec<Problem> {
    let path = match &loaded.wiring.inventory {
        Inventory::File { path } => path.as_str(),
        Inventory::Listed(_) => "the inventory",
    };
    if clusters.is_empty() {
        let help = "list those that releases go to";
        return vec![about(files, Part::Inventory, format!("`{path}` lists no cluster"), help)];
    }
    let members = |tier: &Tier| -> Vec<&ClusterName> {
        let of = clusters.iter().filter(|cluster| tier.select.matches(&cluster.labels));
        of.map(|cluster| &cluster.name).collect()
    };
    let mut found = Vec::new();
    for (rung, tier) in loaded.ladder.iter().enumerate() {
        let (name, own) = (tier.name.as_str(), members(tier));
        if own.is_empty() && tier.empty == Empty::Error {
            let message = format!("tier `{name}` selects none of the {} clusters of `{path}`", clusters.len());
            let help = "correct `select` or the labels; `empty: pass` lets releases climb past a tier without clusters";
            found.push(about(files, Part::Tier(name), message, help));
        }
        for lower in loaded.ladder.iter().take(rung) {
            let Some(cluster) = members(lower).into_iter().find(|one| own.contains(one)) else { continue };
            let message = format!("cluster `{cluster}` is on tier `{name}`, and on tier `{}`, too", lower.name);
            found.push(about(files, Part::Tier(name), message, "let a cluster be on one tier"));
            break;
        }
    }
    found
}

/// What stops nobody, and most likely is not what was meant.
fn warnings(loaded: &Loaded, files: &[SourceFile], holds: &Holds) -> Vec<Problem> {
    let branch = |name: &String| {
        let tier = loaded.ladder.iter().find(|tier| tier.branch.as_ref() == Some(name));
        let tier = tier.map_or("", |tier| tier.name.as_str());
        let message =
            format!("the branch `{name}` of tier `{tier}` is not known here, and what it holds not looked at");
        about(files, Part::Tier(tier), message, "fetch it, and check again")
    };
    holds.strange.iter().map(branch).chain(owners(&holds.owners)).collect()
}

/// What is wrong with the file of code owners.
fn owners(file: &Read<Option<SourceFile>>) -> Vec<Problem> {
    let at = |path: &str, line: usize, message: String, help: Option<&str>| Problem {
        file: path.to_string(),
        line,
        column: 1,
        message,
        help: help.map(str::to_string),
        span: 0..0,
    };
    match file {
        Read::Known(None) => {
            let message = "there is no such file: nobody owns what the bot changes, and `force`, `hotfix` and whatever \
                           else asks for a code owner is left to administrators";
            vec![at(LOCATIONS[0], 1, message.to_string(), Some("write `* @organization/team`"))]
        }
        Read::Unread(why) => vec![at(LOCATIONS[0], 1, why.clone(), None)],
        Read::Known(Some(SourceFile { path, text })) => match CodeOwners::parse(text) {
            Ok(owners) => owners.problems().iter().map(|one| at(path, one.line, one.why.clone(), None)).collect(),
            Err(error) => vec![at(path, 1, error.to_string(), None)],
        },
    }
}

/// What was found, where nothing is missing.
fn there(holds: &Holds) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let places = counted(holds.places, "place");
    match &holds.listed {
        Listed::Known(clusters) => {
            let clusters = counted(clusters.len(), "cluster");
            format!("This checkout has {clusters}, and {places} with a version, each where the policy says.")
        }
        Listed::Broken(..) | Listed::Missing(_) | Listed::Elsewhere => {
            format!(
                "This checkout has {places} with a version; those of single clusters, which a hub lists, were not looked at."
            )
        }
    }
}

/// The policy file that was named, or the one of this folder, with the plugins beside it.
pub(super) fn policy_files(named: Option<&Path>) -> anyhow::Result<Vec<SourceFile>> {
    let first = match named {
        Some(path) => path.to_path_buf(),
        None => {
            let found: Vec<PathBuf> = FILES.iter().map(PathBuf::from).filter(|path| path.exists()).collect();
            match found.as_slice() {
                [one] => one.clone(),
                [] => bail!(
                    "there is neither {} here; name the file, or let `coldframe init` propose one",
                    FILES.join(" nor ")
                ),
                _ => bail!("there are both {}; keep one", FILES.join(" and ")),
            }
        }
    };
    let mut paths = vec![first];
    if named.is_none() && Path::new("coldframe.d").is_dir() {
        let folder = std::fs::read_dir("coldframe.d").context("the folder coldframe.d")?;
        let mut more: Vec<PathBuf> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
        more.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        more.sort();
        paths.extend(more);
    }
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).with_context(|| format!("the policy file `{}`", path.display()))?;
        Ok(SourceFile { path: path.display().to_string(), text })
    };
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests;
