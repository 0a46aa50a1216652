//! Whether somebody sets what a difference is about.

use serde_json::json;

use crate::Settings;

#[test]
fn what_is_set_is_found_at_its_path_below_and_around() {
    let values = json!({
        "image": {"tag": "1"}, "hosts": ["a"], "gone": null, "empty": {}, "nothing": {"a": null},
        "annotations": {"acme.example/team": "logs"}
    });
    let settings = Settings::new(values, vec!["auth.password".to_owned(), "rules[0].name".to_owned()]);
    for (path, set) in [
        ("image.tag", true),
        ("image", true),
        ("image.tag.inner", true),
        ("image.repository", false),
        ("imag", false),
        ("hosts", true),
        ("hosts[].name", true),
        ("hosts.*", true),
        ("gone", false),
        ("gone.below", false),
        ("empty", false),
        ("nothing", false),
        ("annotations[\"acme.example/team\"]", true),
        ("annotations[\"acme.example/unit\"]", false),
        ("auth", true),
        ("auth.password", true),
        ("auth.password.key", true),
        ("auth.pass", false),
        ("rules[]", true),
        ("rules", true),
    ] {
        assert_eq!(settings.has(path), set, "{path}");
    }
    assert!(!Settings::default().has("a"));
}
