//! What is taken over of a kubeconfig, and what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const PEM: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==";

fn file(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\npreferences: {{}}\nclusters:\n- name: k\n  cluster: {{{cluster}}}\n\
         users:\n- name: u\n  user: {{{user}}}\ncontexts:\n- name: c\n  context: {{cluster: k, user: u, namespace: x}}\n"
    )
}

fn read(text: &str) -> Result<Connection, Refused> {
    Connection::read(text.as_bytes(), &["127.0.0.1".into(), "sandbox:8080".into()])
}

fn why(cluster: &str, user: &str) -> String {
    read(&file(cluster, user)).unwrap_err().to_string()
}

const SERVER: &str = "server: 'https://k.example:6443'";

#[test]
fn the_fields_of_a_connection_are_taken_over() {
    let cluster =
        format!("{SERVER}, certificate-authority-data: {PEM}, insecure-skip-tls-verify: false, extensions: [x]");
    let user = format!("token: ' secret-token ', client-certificate-data: {PEM}, client-key-data: {PEM}");
    let connection = read(&file(&cluster, &user)).unwrap();
    assert_eq!(connection.server.as_str(), "https://k.example:6443/");
    assert_eq!(connection.authority.as_deref(), Some(PEM));
    assert_eq!(connection.token.as_ref().map(Secret::reveal), Some("secret-token"));
    assert!(!format!("{connection:?}").contains("secret-token"));
}

#[test]
fn a28_whatever_starts_reads_or_goes_elsewhere_is_refused_by_name() {
    for (key, value) in [
        ("exec", "{command: sh, apiVersion: client.authentication.k8s.io/v1}"),
        ("auth-provider", "{name: gcp}"),
        ("client-certificate", "/x.pem"),
        ("client-key", "/x.key"),
        ("username", "u"),
        ("password", "hunter2"),
        ("as", "system:admin"),
        ("as-uid", "x"),
        ("as-groups", "[x]"),
        ("as-user-extra", "{a: [b]}"),
        ("impersonate", "x"),
    ] {
        let why = why(SERVER, &format!("token: t, {key}: {value}"));
        assert!(why.starts_with(&format!("`{key}` of its user is not ")), "{why}");
        assert!(!why.contains("hunter2"));
    }
    // What is torn may have a part of a credential where a key belongs.
    let strange = why(SERVER, "token: t, hunter2: x");
    assert!(strange.starts_with("its user has a key that is not known here"), "{strange}");
    assert!(!strange.contains("hunter2"));
    for (key, value) in [
        ("certificate-authority", "/ca.pem"),
        ("proxy-url", "http://proxy"),
        ("insecure-skip-tls-verify", "true"),
        ("tls-server-name", "x"),
    ] {
        let why = why(&format!("{SERVER}, {key}: {value}"), "token: t");
        assert!(why.starts_with(&format!("`{key}` of its cluster is not ")), "{why}");
    }
}

#[test]
fn plain_http_only_where_the_operator_allows_it() {
    for (server, allowed) in [
        ("http://127.0.0.1:1234", true),
        ("http://sandbox:8080/k/eu-1", true),
        ("http://sandbox:8081", false),
        ("http://k.example", false),
        ("https://10.0.0.1", true),
        ("ftp://k.example", false),
        ("k.example", false),
        ("https://u:p@k.example", false),
        ("https://k.example?x=y", false),
    ] {
        let found = read(&file(&format!("server: '{server}'"), "token: t"));
        assert_eq!(found.is_ok(), allowed, "{server}: {found:?}");
    }
}

#[test]
fn a28_a_server_that_is_not_checked_is_one_that_the_operator_allows() {
    let unverified = "insecure-skip-tls-verify: true";
    let of = |server: &str, more: &str| read(&file(&format!("server: '{server}', {unverified}{more}"), "token: t"));
    assert!(of("https://sandbox:8080", "").unwrap().unverified);
    for (server, more, part) in [
        ("https://k.example", "", "let the operator allow k.example"),
        ("https://sandbox:8081", "", "let the operator allow sandbox"),
        ("https://sandbox:8080", &format!(", certificate-authority-data: {PEM}"), "keep the one that is meant"),
    ] {
        let why = of(server, more).unwrap_err().to_string();
        assert!(why.contains(part), "{why}");
    }
    let why = why(&format!("{SERVER}, insecure-skip-tls-verify: 'yes'"), "token: t");
    assert!(why.contains("neither true nor false"), "{why}");
}

#[test]
fn a_token_is_there_once() {
    let of = |user: &str, named: Option<&str>| {
        let text = file(SERVER, user);
        let named = named.map(Secret::new);
        let beside = Beside { token: named, ..Beside::default() };
        Connection::read_with(text.as_bytes(), beside, &[])
            .map(|connection| connection.token.unwrap().reveal().to_string())
    };
    assert_eq!(of("tokenFile: eu-1.token", Some("abc")).unwrap(), "abc");
    assert!(of("tokenFile: eu-1.token, token: t", Some("abc")).unwrap_err().to_string().contains("keep one"));
    assert!(of("tokenFile: eu-1.token", None).is_err(), "what a hub says names no file of the operator");
    let name = |user: &str| Connection::names(file(SERVER, user).as_bytes()).token;
    assert_eq!(name("tokenFile: eu-1.token").as_deref(), Some("eu-1.token"));
    assert_eq!((name("token: tokenFile"), Connection::names(b"tokenFile: [").token), (None, None));
}

#[test]
fn an_authority_is_there_once() {
    let of = |more: &str, pem: Option<&str>| {
        let text = file(&format!("{SERVER}{more}"), "token: t");
        let beside = Beside { authority: pem.map(Secret::new), ..Beside::default() };
        Connection::read_with(text.as_bytes(), beside, &[]).map(|connection| connection.authority)
    };
    let pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----";
    let named = ", certificate-authority: own.ca";
    assert_eq!(of(named, Some(pem)).unwrap(), Some(STANDARD.encode(pem)));
    assert!(of(named, Some("nothing")).unwrap_err().to_string().contains("not of a PEM"));
    let both = format!("{named}, certificate-authority-data: {PEM}");
    assert!(of(&both, Some(pem)).unwrap_err().to_string().contains("keep one"));
    assert!(
        of(named, None).unwrap_err().to_string().contains("it names another file; use `certificate-authority-data`")
    );
    let names = Connection::names(file(&format!("{SERVER}{named}"), "token: t").as_bytes());
    assert_eq!((names.authority.as_deref(), names.token), (Some("own.ca"), None));
}

#[test]
fn what_is_missing_or_broken_is_named_without_its_value() {
    for (cluster, user, part) in [
        ("", "token: t", "no `server`"),
        (SERVER, "", "neither `token`"),
        (SERVER, "token: ''", "neither `token`"),
        (SERVER, "token: 7", "`token` is not a text"),
        (SERVER, &format!("client-certificate-data: {PEM}"), "without `client-key-data`"),
        (SERVER, &format!("client-key-data: {PEM}"), "without `client-certificate-data`"),
        (SERVER, "client-key-data: hunter2!", "`client-key-data` is not base64"),
        (SERVER, "client-key-data: aHVudGVyMg==", "not of a PEM"),
    ] {
        let why = why(cluster, user);
        assert!(why.contains(part) && !why.contains("hunter2"), "{why}");
    }
    let whole = file(SERVER, "token: t");
    for (text, part) in [
        (whole.replace("current-context: c", "current-context: d"), "the context that it uses is not there"),
        (whole.replace("user: u,", "user: w,"), "the user that it uses is not there"),
        (whole.replace("cluster: k,", ""), "names no cluster"),
        (whole.replace("users:\n", "users:\n- {name: u, user: {token: x}}\n"), "twice"),
        ("token: hunter2: [".to_string(), "not a kubeconfig"),
        ("- hunter2".to_string(), "not a kubeconfig"),
        (String::new(), "current-context"),
        (format!("{whole}---\n{whole}"), "not a kubeconfig"),
    ] {
        let why = read(&text).unwrap_err().to_string();
        assert!(why.contains(part) && !why.contains("hunter2"), "{part}: {why}");
    }
    assert!(read(&whole.replace("current-context: c\n", "")).is_ok(), "one context needs no choice");
}

#[test]
fn the_kubeconfig_of_the_manual_is_read() {
    let page = include_str!("../../docs/credentials.md");
    let text = page.split_once("```yaml kubeconfig\n").unwrap().1.split("```").next().unwrap();
    let names = Connection::names(text.as_bytes());
    assert_eq!((names.token.as_deref(), names.authority.as_deref()), (Some("eu-1.token"), Some("eu-1.crt")));
    let pem = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----";
    let beside = Beside { token: Some(Secret::new("abc")), authority: Some(Secret::new(pem)) };
    let connection = Connection::read_with(text.as_bytes(), beside, &[]).unwrap();
    assert_eq!(connection.token.unwrap().reveal(), "abc");
}
