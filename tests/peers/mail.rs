//! Mail as a real server takes it, aiosmtpd: over TLS and by STARTTLS, with a login, also where it refuses somebody.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::peers::{Running, here, python};
use crate::support::{REPOSITORY, Stage, is_open};

const OWNER: &str = "maria";

/// What a server took, oldest first.
type Taken = Arc<Mutex<Vec<Value>>>;

/// A server on two ports of this host, for the name `localhost`.
fn server(folder: &Path, ports: [u16; 2]) -> (Running, Taken) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let mut command = python();
    command.arg(here().join("mail.py")).arg(folder).args(ports.map(|port| port.to_string()));
    let mut running = Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(running.0.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "\"ready\"");
    let taken = Taken::default();
    let inbox = taken.clone();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            inbox.lock().unwrap().push(serde_json::from_str(&line).unwrap());
        }
    });
    (running, taken)
}

/// Mails to somebody whose text says this.
fn mails(taken: &Taken, to: &str, words: &str) -> Vec<Value> {
    let all = taken.lock().unwrap();
    let are = |mail: &&Value| mail["to"][0] == to && mail["text"].as_str().unwrap().contains(words);
    all.iter().filter(are).cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_taken_by_a_real_server_and_who_is_refused_gets_it_later() {
    let stage = Stage::set().await;
    let ports = [demo::free_port().unwrap(), demo::free_port().unwrap()];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("refuse"), "gone@acme.example").unwrap();
    let (_server, taken) = server(folder.path(), ports);
    let id = stage.world.github().repository_id(REPOSITORY).unwrap();
    let secrets = stage.secrets().join(id.to_string());
    std::fs::create_dir_all(&secrets).unwrap();
    let login = "coldframe:p%40ss%2Fword@localhost";
    let [wrapped, upgraded] = ports;
    for (name, address) in [
        ("MAIL", format!("smtps://{login}:{wrapped}?from=bot@acme.example")),
        ("RELAY", format!("smtp://{login}:{upgraded}?from=bot@acme.example&to=partner.example")),
        // Its certificate is for another name.
        ("ELSEWHERE", format!("smtps://{login}:{wrapped}?from=bot@acme.example").replace("localhost", "127.0.0.1")),
        ("CLOSED", format!("smtps://coldframe:wrong@localhost:{wrapped}?from=bot@acme.example")),
    ] {
        std::fs::write(secrets.join(name), format!("{address}\n")).unwrap();
    }
    let notify = "notify:\n  \
                  - {email: {smtp: {secret: MAIL}, to: [kim@acme.example, gone@acme.example]}, on: [blocked, finished]}\n  \
                  - {email: {smtp: {secret: RELAY}, to: [pat@partner.example]}, on: [finished]}\n  \
                  - {email: {smtp: {secret: MAIL}, to: [eve@evil.example]}, on: [finished]}\n  \
                  - {email: {smtp: {secret: CLOSED}, to: [noor@acme.example]}, on: [finished]}\n  \
                  - {email: {smtp: {secret: ELSEWHERE}, to: [lee@acme.example]}, on: [finished]}\n";
    stage.edit_policy("plugins:\n", &format!("{notify}plugins:\n"));
    let allowed = stage.allowed(&format!("localhost:{wrapped},localhost:{upgraded},127.0.0.1:{wrapped}"));
    let certificate = folder.path().join("cert.pem").display().to_string();
    let _bot = stage.serve_with(&[
        ("COLDFRAME_SECRETS", &stage.secrets().display().to_string()),
        ("COLDFRAME_ALLOW_HOSTS", &allowed),
        ("SSL_CERT_FILE", &certificate),
    ]);
    let pull = stage.until("bronze opens", |stage| stage.pull("cert-manager", "bronze").filter(is_open)).await;
    let done = "cert-manager 1.15.0 on qa has finished";
    let one = |to: &'static str, words: &'static str| {
        let taken = taken.clone();
        move |_: &Stage| mails(&taken, to, words).into_iter().next()
    };
    let mail = stage.until("kim gets it", one("kim@acme.example", done)).await;
    let relayed = stage.until("so does pat", one("pat@partner.example", done)).await;
    for (mail, way) in [(&mail, "smtps"), (&relayed, "smtp")] {
        assert_eq!(mail["way"], way);
        assert_eq!((&mail["encrypted"], &mail["raw"]), (&Value::Bool(true), &Value::Bool(true)), "{mail}");
        assert_eq!((mail["login"].as_str(), mail["from"].as_str()), (Some("coldframe"), Some("bot@acme.example")));
        assert_eq!(mail["defects"], serde_json::json!([]));
        assert_eq!(mail["headers"]["subject"], done);
        assert_eq!(mail["headers"]["from"], "Coldframe <bot@acme.example>");
        assert_eq!(mail["headers"]["auto-submitted"], "auto-generated");
    }
    assert_eq!(mail["headers"]["message-id"], relayed["headers"]["message-id"], "it is the same news");

    // What people write is a subject, whatever it holds; one that is refused says so and comes later.
    let why = "Prüfung läuft — 会議\nBcc: eve@evil.example";
    stage.world.github().comment(REPOSITORY, pull.number, OWNER, &format!("/coldframe hold {why}")).unwrap();
    let held = stage.until("the hold is told", one("kim@acme.example", "held by maria")).await;
    let subject = held["headers"]["subject"].as_str().unwrap();
    assert!(subject.starts_with("cert-manager 1.15.0 on bronze does not go on: held by maria: Prüfung läuft — 会議"));
    assert_eq!((&held["raw"], &held["headers"]["bcc"]), (&Value::Bool(true), &Value::Null), "{held}");
    assert_ne!(held["headers"]["references"], mail["headers"]["references"], "another tier");
    for said in [
        "MAIL, to gone@acme.example: localhost: ",
        "nobody is called that",
        "mail goes to acme.example alone; let the operator add `to=evil.example` to the secret",
        "CLOSED, to noor@acme.example: localhost: ",
        "535",
        "ELSEWHERE, to lee@acme.example: 127.0.0.1: ",
        "certificate not valid for name",
    ] {
        stage.until(said, |stage| stage.whole_log().contains(said).then_some(())).await;
    }
    std::fs::write(folder.path().join("refuse"), "").unwrap();
    let late = stage.until("gone is there again", one("gone@acme.example", done)).await;
    assert_eq!(late["headers"]["message-id"], mail["headers"]["message-id"]);
    for (to, words) in
        [("kim@acme.example", done), ("pat@partner.example", done), ("kim@acme.example", "held by maria")]
    {
        assert_eq!(mails(&taken, to, words).len(), 1, "{to}: {words}");
    }
    for nobody in ["eve@evil.example", "noor@acme.example", "lee@acme.example"] {
        assert!(mails(&taken, nobody, "").is_empty(), "{nobody}");
    }
    let log = stage.whole_log();
    assert!(!log.contains("p%40ss") && !log.contains("p@ss"), "the password is a secret: {log}");
}
