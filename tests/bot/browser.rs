//! A person with a browser at the pages of `coldframe setup` and of the sandbox's GitHub, played by HTTP.

use reqwest::Client;

/// The value of an attribute after a mark in a page.
pub fn after<'p>(page: &'p str, mark: &str) -> &'p str {
    let from = page.find(mark).unwrap_or_else(|| panic!("{mark}: {page}")) + mark.len();
    page[from..].split('"').next().unwrap()
}

pub fn unescaped(text: &str) -> String {
    text.replace("&quot;", "\"")
        .replace("&#x27;", "'")
        .replace("&#x3D;", "=")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// The page's form as the browser of a person sends it, up to where GitHub sends that browser back.
pub async fn registers(hub: &str, page: &str, who: &str) -> String {
    let client = Client::new();
    let shown = client.get(page).send().await.unwrap().text().await.unwrap();
    let manifest = unescaped(after(&shown, "name=\"manifest\" value=\""));
    let action = unescaped(after(&shown, "formaction=\""));
    assert!(action.starts_with(&format!("{hub}/organizations/acme/settings/apps/new?state=")), "{action}");
    let cookie = format!("sandbox_who={who}");
    let origin = page.split('/').take(3).collect::<Vec<_>>().join("/");
    let form =
        |fields: &[(&str, &str)]| url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let sent = |origin: &str, body: String| {
        let request = client.post(&action).header("cookie", &cookie).header("origin", origin);
        request.header("content-type", "application/x-www-form-urlencoded").body(body).send()
    };
    let proposed = sent(&origin, form(&[("manifest", &manifest)])).await.unwrap().text().await.unwrap();
    assert!(proposed.contains("Create GitHub App for acme"), "{proposed}");
    let fields = [
        ("manifest", unescaped(after(&proposed, "name=\"manifest\" value=\""))),
        ("state", unescaped(after(&proposed, "name=\"state\" value=\""))),
        ("name", unescaped(after(&proposed, "name=\"name\" value=\""))),
        ("create", "yes".to_owned()),
    ];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    let elsewhere = sent(&origin, form(&fields)).await.unwrap();
    assert_eq!(elsewhere.status().as_u16(), 403, "another site's form makes no App");
    let made = sent(hub, form(&fields)).await.unwrap().text().await.unwrap();
    unescaped(after(&made, "<a href=\""))
}

/// Installs the App of which the last page of `setup` tells.
pub async fn installs(hub: &str, told: &str, who: &str, repository: &str) {
    let install = unescaped(after(told, "class=\"button\" href=\""));
    let form = url::form_urlencoded::Serializer::new(String::new()).append_pair("repository", repository).finish();
    let request = Client::new().post(&install).header("cookie", format!("sandbox_who={who}")).header("origin", hub);
    let done = request.body(form).send().await.unwrap().text().await.unwrap();
    assert!(done.contains(&format!("is installed on {repository}")), "{done}");
}
