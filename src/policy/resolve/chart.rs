//! Where a chart's releases are: exactly one address of one kind.

use crate::file::ChartFile;
use crate::wiring::Chart;
use parse::read::Spanned;
use parse::report::Report;

/// The source that a file names; none where it names none, or several, which was reported.
pub fn chart_of(file: &Spanned<ChartFile>, plugin: &str, report: &mut Report) -> Option<Chart> {
    let ChartFile { oci, repository, name, catalog, path, git, tag, folder, refused, strange } = &file.value;
    if *refused || *strange {
        return None;
    }
    if git.is_some() || tag.is_some() || folder.is_some() {
        return git_of(&file.value, plugin, report);
    }
    if catalog.is_some() || path.is_some() {
        return catalog_of(&file.value, report);
    }
    match (oci, repository, name) {
        (Some(oci), None, None) => Some(oci.value.0.clone()),
        (None, Some(repository), Some(name)) => {
            Some(Chart::Http { repository: repository.value.0.clone(), name: name.value.0.clone() })
        }
        (Some(_), Some(extra), _) => {
            report.wrong(extra.key, "a chart comes from one place", Some("keep `oci`, or `repository` with `name`"));
            None
        }
        (Some(_), None, Some(extra)) => {
            report.wrong(extra.key, "an OCI address names the chart already", Some("take `name` out"));
            None
        }
        (None, Some(given), None) => {
            report.wrong(
                given.key,
                "`name` is missing: a repository holds many charts",
                Some("add `name:`, as in the index"),
            );
            None
        }
        (None, None, _) => {
            report.wrong(
                file.at,
                "no address",
                Some(
                    "write `{oci: oci://host/path}`, `{repository: https://host, name: chart}`, `{catalog: https://host/path, path: folder/plugindefinition.yaml}`, or `{git: https://host/path, tag: \"v{version}\"}`",
                ),
            );
            None
        }
    }
}

/// A definition in a catalog, which comes from nowhere else.
fn catalog_of(file: &ChartFile, report: &mut Report) -> Option<Chart> {
    let ChartFile { oci, repository, name, catalog, path, git: _, tag: _, folder: _, refused: _, strange: _ } = file;
    let others = [oci.as_ref().map(|key| key.key), repository.as_ref().map(|key| key.key)];
    let extra = others.into_iter().flatten().next().or(name.as_ref().map(|key| key.key));
    match (catalog, path, extra) {
        (_, _, Some(extra)) => {
            report.wrong(extra, "a chart comes from one place", Some("keep `catalog` with `path`, or take both out"));
            None
        }
        (Some(catalog), Some(path), None) => {
            Some(Chart::Catalog { repository: catalog.value.0.clone(), path: path.value.0.clone() })
        }
        (Some(given), None, None) => {
            let help = "add `path:`, such as `perses/plugindefinition.yaml`";
            report.wrong(given.key, "`path` is missing: a catalog holds many definitions", Some(help));
            None
        }
        (None, given, None) => {
            let help = "add `catalog:` with the address of the git repository";
            report.wrong(given.as_ref()?.key, "`catalog` is missing: a path alone is in no repository", Some(help));
            None
        }
    }
}

/// The tags of a repository, and nothing else beside them.
fn git_of(file: &ChartFile, plugin: &str, report: &mut Report) -> Option<Chart> {
    let ChartFile { oci, repository, name, catalog, path, git, tag, folder, refused: _, strange: _ } = file;
    let addresses =
        [oci.as_ref().map(|key| key.key), repository.as_ref().map(|key| key.key), name.as_ref().map(|key| key.key)];
    let others = [catalog.as_ref().map(|key| key.key), path.as_ref().map(|key| key.key)];
    if let Some(extra) = addresses.into_iter().chain(others).flatten().next() {
        report.wrong(extra, "a chart comes from one place", Some("keep `git` with `tag`, or take both out"));
        return None;
    }
    match (git, tag) {
        (Some(git), Some(tag)) => {
            let tag = tag.value.0.replace("{plugin}", plugin);
            Some(Chart::Git {
                repository: git.value.0.clone(),
                tag,
                folder: folder.as_ref().map(|folder| folder.value.0.clone()),
            })
        }
        (Some(given), None) => {
            let help = "add `tag:`, such as `v{version}` or `{plugin}-{version}`";
            report.wrong(given.key, "`tag` is missing: which tags are its versions?", Some(help));
            None
        }
        (None, given) => {
            let at = given.as_ref().map(|given| given.key).or(folder.as_ref().map(|folder| folder.key))?;
            report.wrong(
                at,
                "`git` is missing: a tag alone is in no repository",
                Some("add `git:` with the address of the repository"),
            );
            None
        }
    }
}
