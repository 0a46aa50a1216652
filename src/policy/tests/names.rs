//! Names and versions become branches, paths, titles and queries: no other text passes for one.
use proptest::prelude::*;

use super::*;
use decide::Version;

/// What the design says of a name, in other words than the code's.
fn plain(text: &str) -> bool {
    let inner = |c: char| matches!(c, 'a'..='z' | '0'..='9');
    text.len() <= 63 && text.starts_with(inner) && text.ends_with(inner) && text.chars().all(|c| inner(c) || c == '-')
}

/// Near names, and what a shell, a path, a log or a query would obey.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9-]{1,12}",
        1 => proptest::sample::select(vec![
            "\";echo${IFS}\"x\";#", "../", "..", "/", "\\", "$(x)", "`x`", "\n", "\r\n::set-output ", "\u{1b}[31m",
            "\u{202e}", "\0", " ", "A", "ä", "%2e", "@{", "~", "^", ":", "?", "*", "[", ".lock", "{plugin}", "|", "&",
        ]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat())
}

fn loads(plugin: &str, tier: &str) -> bool {
    let quote = |text: &str| serde_json::to_string(text).unwrap();
    let text = format!(
        "tiers:\n  - {{name: {}, select: {{}}}}\nplugins:\n  - name: {}\n    chart: {{oci: oci://registry.example/x}}\n    \
         signals: [{{helmRelease: {{namespace: a, name: b}}}}]\n    write: [{{file: \"{{tier}}.yaml\", path: $.version}}]\n",
        quote(tier),
        quote(plugin)
    );
    load(&[file("coldframe.yaml", &text)]).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a18_only_a_plain_name_is_one(text in texts()) {
        prop_assert_eq!(loads(&text, "qa"), plain(&text), "plugin {:?}", text);
        prop_assert_eq!(loads("app", &text), plain(&text), "tier {:?}", text);
    }

    #[test]
    fn a27_a_version_has_nothing_but_its_letters(text in texts(), pre in "[0-9A-Za-z.-]{0,9}") {
        for text in [text.clone(), format!("1.2.3-{pre}{text}"), format!("v1.2.3+{text}"), format!("{text}1.2.3")] {
            if let Ok(version) = text.parse::<Version>() {
                let shown = version.to_string();
                let letters = shown.chars().all(|c| c.is_ascii_alphanumeric() || ".+-".contains(c));
                prop_assert!(letters && shown.len() <= 128, "{:?} of {:?}", shown, text);
            }
        }
    }
}

/// Whoever reads an address takes `..` out of it, and then asks another one than stands there.
#[test]
fn an_address_is_asked_as_it_is_written() {
    for (chart, expected) in [
        ("{repository: 'https://charts.example/a/../b', name: loki}", "has `.` or `..` in its path"),
        ("{repository: 'https://charts.example/..', name: loki}", "has `.` or `..` in its path"),
        ("{oci: 'oci://registry.example/a/../b'}", "has `.` or `..` in its path"),
        ("{repository: 'https://charts.example/{{ region }}', name: loki}", "holds `{{`"),
        ("{oci: 'oci://registry.example/{{ region }}/loki'}", "holds `{{`"),
        ("{oci: 'oci://${registry}/loki'}", "holds `${`"),
    ] {
        let told = problems(&PLUGIN.replace("{oci: oci://registry.example/loki}", chart));
        assert!(told.len() == 1 && told[0].contains(expected), "{chart}: {told:?}");
    }
    let fine =
        PLUGIN.replace("{oci: oci://registry.example/loki}", "{repository: https://charts.example/a..b, name: loki}");
    assert_eq!(of(&fine).warnings.len(), 0);
}

#[test]
fn a_tier_that_can_only_be_all_is_a_warning() {
    let placed = PLUGIN.replace("loki.yaml", "'{tier}/loki.yaml'");
    let warned = of(&placed).warnings;
    assert!(warned.len() == 1 && warned[0].message.contains("`{tier}` can only be `all` here"), "{warned:?}");
    let help = warned[0].help.as_deref().unwrap();
    assert!(help.contains("write `tiers:`") && warned[0].line == 5, "{warned:?}");
    let tiers = "tiers: [{name: qa, select: {matchLabels: {t: a}}}, {name: gold, select: {matchLabels: {t: b}}}]";
    assert_eq!(of(&format!("{tiers}{placed}")).warnings.len(), 0);
    assert_eq!(of(&format!("tiers: [{{name: qa}}]{placed}")).warnings.len(), 0);
}
