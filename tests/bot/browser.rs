//! A person with a browser at the pages of `coldframe setup`, of a dashboard and of the sandbox's GitHub, played by HTTP.

use std::collections::BTreeMap;

use reqwest::redirect::Policy;
use reqwest::{Client, Response};

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

/// A browser, with its cookies of a dashboard.
pub struct Browser {
    pub client: Client,
    pub jar: BTreeMap<String, String>,
    /// Where the dashboard is, where it leads to for GitHub, and where that is for a browser.
    home: String,
    led: String,
    hub: String,
}

impl Browser {
    pub fn new(home: &str, led: &str, hub: &str) -> Self {
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        let [home, led, hub] = [home, led, hub].map(str::to_owned);
        Self { client, jar: BTreeMap::new(), home, led, hub }
    }

    /// Asks for an address of the dashboard, and keeps the cookies that come back.
    pub async fn get(&mut self, address: &str) -> Response {
        let address = if address.starts_with('/') { format!("{}{address}", self.home) } else { address.to_owned() };
        let answer = self.client.get(address).header("cookie", self.cookies()).send().await.unwrap();
        self.keep(&answer);
        answer
    }

    pub async fn says(&mut self, address: &str) -> (u16, String) {
        let answer = self.get(address).await;
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    pub fn cookies(&self) -> String {
        self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    fn keep(&mut self, answer: &Response) {
        for cookie in answer.headers().get_all("set-cookie") {
            let text = cookie.to_str().unwrap();
            assert!(text.contains("; HttpOnly; SameSite=Lax"), "{text}");
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            self.jar.remove(name);
            if !value.is_empty() {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// From the page to sign in over the one of GitHub; gives where that sends the browser back to.
    pub async fn agrees(&mut self, to: &str, who: &str, agrees: bool) -> String {
        let page = self.get(&format!("/sign-in?to={to}")).await.text().await.unwrap();
        let next = unescaped(after(&page, "class=\"button\" href=\""));
        let away = self.get(&format!("/{next}")).await;
        assert_eq!(away.status(), 303);
        let hub = self.hub.clone();
        let asks = away.headers()["location"].to_str().unwrap().to_owned();
        assert!(
            asks.starts_with(&format!("{}/login/oauth/authorize?", self.led)) && !asks.contains("secret"),
            "{asks}"
        );
        let asks = asks.replacen(&self.led, &hub, 1);
        let cookie = format!("sandbox_who={who}");
        let page = self.client.get(asks).header("cookie", &cookie).send().await.unwrap().text().await.unwrap();
        let query = unescaped(after(&page, "name=\"query\" value=\""));
        let consent = if agrees { "yes" } else { "no" };
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        let form = form.append_pair("query", &query).append_pair("consent", consent).finish();
        let request = self.client.post(format!("{hub}/login/oauth/authorize")).header("cookie", &cookie);
        let done = request.header("origin", hub).body(form).send().await.unwrap().text().await.unwrap();
        unescaped(after(&done, "<a href=\""))
    }

    pub async fn signs_in(&mut self, who: &str) {
        let back = self.agrees("%2Facme%2Fother%3Fq%3Dcert", who, true).await;
        let answer = self.get(&back).await;
        assert_eq!(answer.status(), 303, "{answer:?}");
        let home = format!("{}/acme/other?q=cert", self.home);
        assert_eq!(answer.headers()["location"].to_str().unwrap(), home, "where they were going");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert_eq!(self.jar.len(), 1, "the attempt is over");
    }

    /// Sends a form of the dashboard, as from a page of this origin; gives what is said.
    pub async fn sends(&self, path: &str, fields: &[(&str, &str)], origin: Option<&str>) -> (u16, String) {
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.client.post(format!("{}{path}", self.home)).header("cookie", self.cookies()).body(form);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = origin.iter().fold(request, |request, origin| request.header("origin", *origin));
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}
