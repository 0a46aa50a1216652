//! Which releases a plugin accepts, and which go first: constraint, pre-releases, blocked steps,
//! cooldown, hotfixes.

use decide::model::{Block, Expiry, Hotfix, Next};
use decide::{PluginPolicy, TierName, Version};

use super::context::Context;
use crate::file::{BlockFile, ChecksFile, ExpiryFile, HotfixFile, KeylessFile, PluginFile, SignedFile, VersionsFile};
use crate::wiring::{Chart, Keyless, Released, Signed};
use parse::forms::{Either, List};
use parse::read::Spanned;
use parse::report::Report;
use parse::scalar::Words;
use parse::tree::Span;
use parse::when::Instant;

/// Fills in what `versions` of a plugin says.
pub fn versions(
    file: Option<&Spanned<VersionsFile>>,
    policy: &mut PluginPolicy,
    context: &Context,
    report: &mut Report,
) {
    let Some(file) = file.map(|file| &file.value) else { return };
    report.within_key("versions", |report| {
        policy.constraint = file.constraint.as_ref().map(|constraint| constraint.value.0.clone());
        policy.prereleases = file.prereleases.as_ref().is_some_and(|flag| flag.value.0);
        if let (Some(flag), Some(constraint)) = (&file.prereleases, &policy.constraint)
            && !flag.value.0
            && constraint.names_prereleases()
        {
            let why = format!("no pre-releases, and the constraint `{}` asks for them", constraint.as_str());
            report.wrong(flag.at, &why, Some("take one of the two out"));
        }
        let blocks = file.block.iter().flat_map(|list| &list.value.items);
        policy.blocks =
            report.within_key("block", |report| blocks.filter_map(|file| block(file, context, report)).collect());
        policy.deprecated = file.deprecated.as_ref().map(|versions| versions.value.0.clone());
        let expires = file.expires.iter().flat_map(|list| &list.value.items);
        policy.expires =
            report.within_key("expires", |report| expires.filter_map(|file| expiry(file, context, report)).collect());
        policy.max_live = file.max_live.as_ref().map(|most| most.value.0);
    });
}

/// The checks that a release needs, and where the commit is found that has them.
pub fn checks(file: Option<&Spanned<VersionsFile>>, report: &mut Report) -> (Vec<String>, Released) {
    let Some(given) = file.and_then(|file| file.value.checks.as_ref()) else {
        return (Vec::new(), Released::default());
    };
    let mut names = |list: &List<Words>, at: Span| {
        report.within_key("versions", |report| report.within_key("checks", |report| named(list, at, report)))
    };
    match &given.value {
        Either::Short(list) => (names(list, given.at), Released::default()),
        Either::Long(ChecksFile { all, from, tag, .. }) => {
            let all = all.as_ref().map(|list| names(&list.value, list.at)).unwrap_or_default();
            let from = from.as_ref().map(|from| from.value.0.clone());
            (all, Released { from, tag: tag.as_ref().map(|tag| tag.value.0.clone()) })
        }
    }
}

/// Who has to have signed a release. Signatures of cosign lie in OCI registries alone, a provenance file lies beside any
/// package; a definition of a catalog brings its chart.
pub fn signed(
    file: Option<&Spanned<VersionsFile>>,
    (chart, plugin): (Option<&Chart>, &str),
    report: &mut Report,
) -> Option<Signed> {
    let given = file?.value.signed.as_ref()?;
    let SignedFile { cosign, keyless, pgp, refused, strange } = &given.value;
    if *refused || *strange {
        return None;
    }
    if cosign.is_none() && keyless.is_none() && pgp.is_none() {
        report.within_key("versions", |report| {
            let help = "write `cosign:` or `pgp:` with public keys, or `keyless:` with `identity` and `issuer`";
            report.wrong(given.key, "nobody is named who could have signed it", Some(help));
        });
        return None;
    }
    let wrong = match chart {
        Some(Chart::Git { .. }) => Some(("no signatures of tags are read", "take `signed` out")),
        Some(Chart::Http { .. }) if pgp.is_none() => {
            Some(("signatures of cosign are read in OCI registries alone", "write `pgp:`, or `chart: {oci: …}`"))
        }
        Some(Chart::Http { .. } | Chart::Oci { .. } | Chart::Catalog { .. }) | None => None,
    };
    match wrong {
        Some((why, help)) => {
            report.within_key("versions", |report| report.wrong(given.key, why, Some(help)));
            None
        }
        None => {
            let keyless = keyless.as_ref().and_then(|file| {
                let KeylessFile { identity, issuer, .. } = &file.value;
                let identity = identity.as_ref()?.value.0.replace("{plugin}", plugin);
                Some(Keyless { identity, issuer: issuer.as_ref()?.value.0.clone() })
            });
            let keys = cosign.as_ref().map(|keys| keys.value.0.clone());
            Some(Signed { keys, keyless, pgp: pgp.as_ref().map(|keys| keys.value.0.clone()) })
        }
    }
}

fn named(list: &List<Words>, at: Span, report: &mut Report) -> Vec<String> {
    if list.is_empty() {
        report.wrong(at, "an empty list: no check is asked for", Some("name one, or take the key out"));
    }
    let mut names: Vec<String> = Vec::new();
    for name in &list.items {
        if names.contains(&name.value.0) {
            report.wrong(name.at, &format!("`{}` stands here twice", name.value.0), Some("keep one"));
        } else {
            names.push(name.value.0.clone());
        }
    }
    names
}

fn block(file: &Spanned<BlockFile>, context: &Context, report: &mut Report) -> Option<Block> {
    let BlockFile { from, to, why, fixed_in, above, .. } = &file.value;
    let to = to.as_ref()?;
    if let Some(fixed) = fixed_in.as_ref().filter(|fixed| to.value.0.covers(&fixed.value.0)) {
        let why = format!("{} is blocked, too, so that it mends nothing", fixed.value.0);
        report.wrong(fixed.at, &why, Some("end `to` before it, such as `>=1.15.0 <1.15.1`"));
    }
    let above = above.as_ref().filter(|above| context.knows_tier(above, report));
    if let Some(last) =
        above.filter(|above| context.ladder.last().is_some_and(|last| last.name.as_str() == above.value.0))
    {
        let why = format!("no tier is above `{}`, so that nothing is blocked", last.value.0);
        report.wrong(last.at, &why, Some("name the tier that may still take the step, or take `above` out"));
    }
    Some(Block {
        from: from.as_ref().map(|from| from.value.0.clone()),
        to: to.value.0.clone(),
        why: why.as_ref()?.value.0.clone(),
        fixed_in: fixed_in.as_ref().map(|version| version.value.0.clone()),
        above: above.map(|above| TierName::new(above.value.0.clone())),
    })
}

fn expiry(file: &Spanned<ExpiryFile>, context: &Context, report: &mut Report) -> Option<Expiry> {
    let ExpiryFile { versions, until, why, .. } = &file.value;
    let until = until.as_ref()?;
    let at = match until.value.0 {
        Instant::At(at) => at,
        Instant::Day(day) => super::context::end_of(day, context.zone.as_ref(), until.at, report)?,
    };
    Some(Expiry {
        versions: versions.as_ref()?.value.0.clone(),
        at,
        why: why.as_ref().map(|why| why.value.0.clone()).unwrap_or_default(),
    })
}

/// How long releases gather before the first tier takes them.
pub fn cooldown(file: &PluginFile, policy: &mut PluginPolicy, report: &mut Report) {
    let Some(given) = &file.cooldown else { return };
    policy.cooldown = given.value.0;
    if policy.next == Next::Every && !given.value.0.is_zero() {
        let why = "releases are taken together, and `next: every` takes each of them";
        report.within_key("cooldown", |report| report.wrong(given.at, why, Some("keep one of the two")));
    }
}

/// Releases that may pass others; one that is never accepted passes nobody.
pub fn hotfixes(file: &PluginFile, policy: &mut PluginPolicy, report: &mut Report) {
    let mut list: Vec<Hotfix> = Vec::new();
    report.within_key("hotfixes", |report| {
        for item in file.hotfixes.iter().flat_map(|list| &list.value.items) {
            let HotfixFile { version, why, soak, through_windows, .. } = &item.value;
            let (Some(version), Some(why)) = (version, why) else { continue };
            if list.iter().any(|hotfix| hotfix.version == version.value.0) {
                report.wrong(version.at, &format!("{} stands here twice", version.value.0), Some("keep one"));
                continue;
            }
            if let Some(constraint) = outside(policy, &version.value.0) {
                let why = format!("{} is never accepted: {constraint}", version.value.0);
                report.wrong(version.at, &why, Some("name a version that `versions` accepts, or widen that"));
            }
            list.push(Hotfix {
                version: version.value.0.clone(),
                why: why.value.0.clone(),
                soak: soak.as_ref().map(|soak| soak.value.0),
                through_windows: through_windows.as_ref().is_some_and(|flag| flag.value.0),
            });
        }
    });
    policy.hotfixes = list;
}

/// What keeps a version out of a plugin altogether.
fn outside(policy: &PluginPolicy, version: &Version) -> Option<String> {
    if let Some(deprecated) = policy.deprecated.as_ref().filter(|deprecated| deprecated.covers(version)) {
        return Some(format!("it is deprecated (`{}`)", deprecated.as_str()));
    }
    let constraint = policy.constraint.as_ref();
    let allows = constraint.is_none_or(|constraint| {
        if policy.prereleases { constraint.allows_with_prereleases(version) } else { constraint.allows(version) }
    });
    constraint.filter(|_| !allows).map(|constraint| format!("it is outside the constraint `{}`", constraint.as_str()))
}
