//! Presets: policy files that come with the product, and how a file lies over them. What they say
//! stands in `policies/`, with the reasons.

use super::file::{PolicyFile, TierFile};
use parse::SourceFile;
use parse::forms::{List, Words};
use parse::problem::{self, Problem};
use parse::read::{Over, Spanned};
use parse::report::Report;

/// A policy file of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Every cluster in one tier.
    AllAtOnce,
    /// Three tiers by label.
    BronzeSilverGold,
    /// A few clusters first, by weight.
    Canary,
    /// A preview first.
    BlueGreen,
    /// Three tiers by purpose, with grace periods.
    GardenerGrace,
    /// Four tiers by Greenhouse's labels.
    Greenhouse,
    /// Three stages with a file each.
    KustomizeOverlays,
}

impl Words<PolicyFile> for Preset {
    const NAME: &'static str = "Preset";
    const KNOWN: &'static [(&'static str, Self, &'static str)] = &[
        ("all-at-once", Self::AllAtOnce, "Every cluster in one tier."),
        (
            "bronze-silver-gold",
            Self::BronzeSilverGold,
            "Three tiers by the label `tier`, a day, two days, a day of health.",
        ),
        (
            "canary",
            Self::Canary,
            "Every cluster in one tier: a tenth of them, an hour later half, and the rest when somebody lets it go on.",
        ),
        (
            "blue-green",
            Self::BlueGreen,
            "Every cluster in one tier: those labelled `preview` first, and the rest at once when somebody lets it go on.",
        ),
        (
            "gardener-grace",
            Self::GardenerGrace,
            "Three tiers by the label `purpose`; who does not answer is updated after a grace period.",
        ),
        (
            "greenhouse",
            Self::Greenhouse,
            "Four tiers by the label `metadata.greenhouse.sap/tier`, with the patience that Greenhouse needs.",
        ),
        (
            "kustomize-overlays",
            Self::KustomizeOverlays,
            "Three stages by the label `stage`, each with one file for all of its clusters.",
        ),
    ];
}

impl Preset {
    /// What problems in it name as the file.
    pub fn title(self) -> &'static str {
        match self {
            Self::AllAtOnce => "preset all-at-once",
            Self::BronzeSilverGold => "preset bronze-silver-gold",
            Self::Canary => "preset canary",
            Self::BlueGreen => "preset blue-green",
            Self::GardenerGrace => "preset gardener-grace",
            Self::Greenhouse => "preset greenhouse",
            Self::KustomizeOverlays => "preset kustomize-overlays",
        }
    }

    /// Its file.
    pub fn text(self) -> &'static str {
        match self {
            Self::AllAtOnce => include_str!("../../policies/all-at-once.yaml"),
            Self::BronzeSilverGold => include_str!("../../policies/bronze-silver-gold.yaml"),
            Self::Canary => include_str!("../../policies/canary.yaml"),
            Self::BlueGreen => include_str!("../../policies/blue-green.yaml"),
            Self::GardenerGrace => include_str!("../../policies/gardener-grace.yaml"),
            Self::Greenhouse => include_str!("../../policies/greenhouse.yaml"),
            Self::KustomizeOverlays => include_str!("../../policies/kustomize-overlays.yaml"),
        }
    }
}

/// The problems as people read them, those of presets with the lines of the preset.
pub fn render(problems: &[Problem], files: &[SourceFile]) -> String {
    let named = |preset: &&Preset| problems.iter().any(|problem| problem.file == preset.title());
    let presets = Preset::KNOWN.iter().map(|(_, preset, _)| preset).filter(named);
    let presets =
        presets.map(|preset| SourceFile { path: preset.title().to_string(), text: preset.text().to_string() });
    let files: Vec<SourceFile> = files.iter().cloned().chain(presets).collect();
    problem::render(problems, &files)
}

/// The file with what it lacks taken from the preset below. Keys win as a whole, tiers merge by
/// name.
pub fn lay_over(mut file: PolicyFile, mut preset: PolicyFile, report: &mut Report) -> PolicyFile {
    let tiers = match (file.tiers.take(), preset.tiers.take()) {
        (Some(own), Some(below)) => {
            let refused = own.value.refused;
            let items = ladder(own.value.items, below.value.items, report);
            Some(Spanned { value: List { items, refused }, at: own.at, key: own.key })
        }
        (own, below) => own.or(below),
    };
    let mut file = file.over(preset);
    file.tiers = tiers;
    file
}

/// One ladder out of two. A tier that the preset does not have must stand beside its neighbours:
/// a guess at its place could let a release into the wrong clusters first.
fn ladder(own: Vec<Spanned<TierFile>>, preset: Vec<Spanned<TierFile>>, report: &mut Report) -> Vec<Spanned<TierFile>> {
    let name_of = |tier: &Spanned<TierFile>| tier.value.name.as_ref().map(|name| name.value.0.clone());
    let names: Vec<Option<String>> = preset.iter().map(name_of).collect();
    let place = |tier: &Spanned<TierFile>| {
        name_of(tier).and_then(|name| names.iter().position(|known| known.as_ref() == Some(&name)))
    };
    check_order(&own, &place, &names, report);
    let mut below: Vec<Option<Spanned<TierFile>>> = preset.into_iter().map(Some).collect();
    let mut tiers = Vec::new();
    let mut next = 0;
    for tier in own {
        if let Some(at) = place(&tier) {
            let passed = next.min(at)..at;
            tiers.extend(below[passed].iter_mut().filter_map(Option::take));
            next = next.max(at + 1);
            if let Some(base) = below[at].take() {
                let (at, key) = (tier.at, tier.key);
                tiers.push(Spanned { value: tier.value.over(base.value), at, key });
            }
        } else {
            tiers.push(tier);
        }
    }
    tiers.extend(below.into_iter().flatten());
    tiers
}

/// Reports tiers whose place on the ladder the file does not make clear.
fn check_order(
    own: &[Spanned<TierFile>],
    place: &impl Fn(&Spanned<TierFile>) -> Option<usize>,
    names: &[Option<String>],
    report: &mut Report,
) {
    let shown = |at: usize| names.get(at).cloned().flatten().unwrap_or_default();
    // Index in the preset of the known tier before, plus one.
    let mut before = 0;
    for (index, tier) in own.iter().enumerate() {
        let Some(name) = &tier.value.name else { continue };
        match place(tier) {
            Some(at) if at < before => {
                let why = format!(
                    "tier `{}` stands after `{}` here, and before it in the preset",
                    name.value.0,
                    shown(before - 1)
                );
                report.problem(name.at, why, Some("keep the order of the preset, or do without it"));
            }
            Some(at) => before = at + 1,
            None => {
                let after = own[index..].iter().find_map(place).unwrap_or(names.len());
                if after != before {
                    let help = format!(
                        "name its neighbours too; the preset's ladder is {}",
                        (0..names.len()).map(|at| format!("`{}`", shown(at))).collect::<Vec<_>>().join(", ")
                    );
                    report.problem(
                        name.at,
                        format!("where tier `{}` stands on the ladder is not clear", name.value.0),
                        Some(&help),
                    );
                }
            }
        }
    }
}
