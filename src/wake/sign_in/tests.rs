//! The way in, and sessions against the sandbox's GitHub: what a person may read, and what becomes of a session when that ends.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use demo::github::{Access, GitHub, Options, Role};
use reqwest::Client;

use super::sessions::KEPT;
use super::*;
use crate::hub::Bases;
use crate::secret::Secret;

const HOME: &str = "http://127.0.0.1:9";

struct Town {
    github: GitHub,
    session: Arc<Session>,
    /// Its private repository, and one that the App is not installed on.
    both: [u64; 2],
    _folder: tempfile::TempDir,
}

/// A GitHub where eve, who may read two private repositories, has signed in by an App that is installed on one.
async fn town() -> Town {
    let folder = tempfile::tempdir().unwrap();
    let github = GitHub::start(Options::new(folder.path())).await.unwrap();
    github.add_org("acme");
    github.add_user("eve");
    let app = github.add_app("coldframe", &[("contents", Access::Write)]).unwrap().id;
    let both = ["fleet", "other"].map(|name| {
        let id = github.add_repository("acme", name, &[]).unwrap();
        let name = format!("acme/{name}");
        github.set_private(&name, true).unwrap();
        github.set_permission(&name, "eve", Role::Read).unwrap();
        id
    });
    github.install_app(app, "acme/fleet").unwrap();
    let back = callback(&Url::parse(HOME).unwrap());
    let (id, secret) = github.sign_in_at(app, back.as_str()).unwrap();
    let hub = SignIn::new(Bases::from_hub(github.url()).unwrap(), (id, Secret::new(&secret)), back).unwrap();
    let verifier = random().unwrap();
    let page = hub.page("state", &URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes())));
    let consent = [("query", page.query().unwrap()), ("consent", "yes")];
    let form = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(consent).finish();
    let sent = Client::new().post(format!("{}/login/oauth/authorize", github.url())).body(form);
    let sent = sent.header("cookie", "sandbox_who=eve").header("origin", github.url());
    let said = sent.send().await.unwrap().text().await.unwrap().replace("&#x3D;", "=");
    let code = said.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let visitor = hub.take(code, &verifier).await.unwrap();
    assert_eq!(visitor.login, "eve");
    let sessions = Sessions::default();
    sessions.begin("id", visitor, clock::now());
    Town { github, session: sessions.find("id", clock::now()).unwrap(), both, _folder: folder }
}

impl Town {
    /// What she may read, and whether GitHub did not say of all; none once her session has ended.
    async fn sees(&self) -> Option<(BTreeSet<u64>, bool)> {
        match self.session.readable(&self.both.into()).await {
            Seen::Readable { may, unsaid } => Some((may, unsaid)),
            Seen::Ended => None,
        }
    }

    /// As if the answers were so old that they are believed no more.
    async fn later(&self) {
        self.session.age(KEPT).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a46_a_right_that_is_taken_is_noticed_when_the_answers_are_old() {
    let town = town().await;
    let fleet: BTreeSet<u64> = [town.both[0]].into();
    assert_eq!(town.sees().await, Some((fleet.clone(), false)), "what she and the App may read, both");
    town.github.set_permission("acme/fleet", "eve", Role::None).unwrap();
    assert_eq!(town.sees().await, Some((fleet.clone(), false)), "they are believed for a while");
    town.later().await;
    assert_eq!(town.sees().await, Some((BTreeSet::new(), false)));
    town.github.set_permission("acme/fleet", "eve", Role::Read).unwrap();
    town.later().await;
    assert_eq!(town.sees().await, Some((fleet, false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a46_a_token_that_counts_no_more_ends_the_session_and_a_hub_that_is_silent_shows_nothing() {
    let town = town().await;
    assert!(town.sees().await.is_some_and(|(may, _)| !may.is_empty()));
    town.github.shift_clock(jiff::SignedDuration::from_hours(9));
    town.later().await;
    assert_eq!(town.sees().await, None);
    let Town { github, session, both, _folder } = self::town().await;
    drop(github);
    let seen = session.readable(&both.into()).await;
    assert!(matches!(seen, Seen::Readable { may, unsaid: true } if may.is_empty()));
}

#[test]
fn people_come_back_below_the_address_of_the_pages() {
    for (home, back) in [
        ("https://coldframe.example", "https://coldframe.example/signed-in"),
        ("https://coldframe.example/", "https://coldframe.example/signed-in"),
        ("https://example.com/board/?x=1#y", "https://example.com/board/signed-in"),
    ] {
        assert_eq!(callback(&Url::parse(home).unwrap()).as_str(), back);
    }
}

#[test]
fn a46_an_attempt_is_read_whole_or_not_at_all() {
    let way = URL_SAFE_NO_PAD.encode("/acme/fleet?q=a");
    let text = format!("s.v.{way}");
    let attempt = Attempt::read(&text).unwrap();
    assert_eq!((attempt.state, attempt.verifier, attempt.way.as_str()), ("s", "v", "/acme/fleet?q=a"));
    for broken in ["", ".", "..", "s", "s.v", ".v.", "s..", "s.v.%", "s.v._w"] {
        assert!(Attempt::read(broken).is_none(), "{broken}");
    }
}
