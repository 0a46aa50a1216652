//! Signing people in for an App: consent, codes, and tokens that read what both may.
use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};

use super::*;

const BACK: &str = "http://127.0.0.1:9/signed-in";

struct Client<'t> {
    town: &'t Town,
    id: String,
    secret: String,
}

impl Client<'_> {
    /// What an address to ask for consent says.
    fn asks(&self, redirect: &str, verifier: &str) -> String {
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let fields = [
            ("client_id", self.id.as_str()),
            ("redirect_uri", redirect),
            ("state", "s"),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }

    /// A person's answer on the page; gives where the browser goes.
    async fn answer(&self, query: &str, who: &str, consent: &str, origin: &str) -> (u16, String) {
        let fields = [("query", query), ("consent", consent)];
        let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.town.http.post(format!("{}/login/oauth/authorize", self.town.hub.url())).body(form);
        let request = request.header("cookie", format!("sandbox_who={who}")).header("origin", origin);
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap().replace("&amp;", "&").replace("&#x3D;", "="))
    }

    async fn code(&self, who: &str, verifier: &str) -> String {
        let page = self.answer(&self.asks(BACK, verifier), who, "yes", self.town.hub.url()).await.1;
        assert!(page.contains(&format!("{BACK}?code=")) && page.contains("&state=s\""), "{page}");
        page.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned()
    }

    async fn exchange(&self, change: &[(&str, &str)], code: &str, verifier: &str) -> Value {
        let mut fields = BTreeMap::from([
            ("client_id", self.id.as_str()),
            ("client_secret", &self.secret),
            ("redirect_uri", BACK),
            ("code", code),
            ("code_verifier", verifier),
        ]);
        fields.extend(change.iter().copied());
        let url = format!("{}/login/oauth/access_token", self.town.hub.url());
        let answer = self.town.http.post(url).header("accept", "application/json").json(&fields).send().await.unwrap();
        assert_eq!(answer.status(), 200, "refusals, too");
        answer.json().await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_is_for_whom_it_was_given_once_and_for_ten_minutes() {
    let town = town().await;
    let (id, secret) = town.hub.sign_in_at(town.bot.id, BACK).unwrap();
    let client = Client { town: &town, id, secret };
    let other = client.answer(&client.asks("http://127.0.0.1:9/other", "v"), "eve", "yes", town.hub.url()).await;
    assert!(other.0 == 400 && other.1.contains("redirect_uri"), "{other:?}");
    let foreign = client.answer(&client.asks(BACK, "v"), "eve", "yes", "http://evil.example").await;
    assert_eq!(foreign.0, 403, "another site's form consents to nothing");
    let denied = client.answer(&client.asks(BACK, "v"), "eve", "no", town.hub.url()).await.1;
    assert!(denied.contains("error=access_denied"), "{denied}");

    for (change, error) in [
        (("client_secret", "x"), "incorrect_client_credentials"),
        (("code_verifier", "x"), "bad_verification_code"),
        (("redirect_uri", "http://127.0.0.1:9/other"), "redirect_uri_mismatch"),
        (("code", "x"), "bad_verification_code"),
    ] {
        let code = client.code("eve", "v").await;
        assert_eq!(client.exchange(&[change], &code, "v").await, json!({ "error": error }), "{change:?}");
    }
    let code = client.code("eve", "v").await;
    let given = client.exchange(&[], &code, "v").await;
    assert!(given["access_token"].as_str().unwrap().starts_with("ghu_") && given["expires_in"] == 28_800, "{given}");
    assert_eq!(client.exchange(&[], &code, "v").await["error"], "bad_verification_code", "once");
    let code = client.code("eve", "v").await;
    town.hub.shift_clock(jiff::SignedDuration::from_mins(10));
    assert_eq!(client.exchange(&[], &code, "v").await["error"], "bad_verification_code", "too late");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_person_reads_what_they_and_the_app_may() {
    let town = town().await;
    let (id, secret) = town.hub.sign_in_at(town.bot.id, BACK).unwrap();
    let client = Client { town: &town, id, secret };
    let mut numbers = BTreeMap::new();
    for (name, installed, private) in [("secret", true, true), ("apart", false, true), ("open", false, false)] {
        let repository = format!("acme/{name}");
        numbers.insert(name, town.hub.add_repository("acme", name, &[]).unwrap());
        town.hub.set_private(&repository, private).unwrap();
        town.hub.set_permission(&repository, "alice", Role::Write).unwrap();
        if installed {
            town.hub.install_app(town.bot.id, &repository).unwrap();
        }
    }
    for (who, secret) in [("alice", 200), ("eve", 404)] {
        let given = client.exchange(&[], &client.code(who, "v").await, "v").await;
        let token = given["access_token"].as_str().unwrap();
        let ask = async |path: String| town.ask(Method::GET, &path, token, Value::Null).await;
        assert_eq!(ask("/user".to_owned()).await.1["login"], who);
        for (name, status) in [("secret", secret), ("apart", 404), ("open", 200)] {
            assert_eq!(ask(format!("/repositories/{}", numbers[name])).await.0, status, "{who} {name}");
        }
        assert_eq!(ask("/repos/acme/open".to_owned()).await.0, 404, "nothing else is modelled");
        town.hub.shift_clock(jiff::SignedDuration::from_hours(8));
        assert_eq!(ask("/user".to_owned()).await.0, 401);
    }
}
