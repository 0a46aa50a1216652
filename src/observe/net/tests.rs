//! Which hosts may be asked, and where redirects end.

#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use axum::Router;
use axum::response::Redirect;
use axum::routing::get;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    host
}

async fn fetch(net: &Net, text: &str) -> Result<Fetched, NetError> {
    net.get(&url(text), HeaderMap::new(), 1000).await
}

#[test]
fn a22_only_https_to_public_hosts() {
    let net = Net::new(vec!["charts.internal:8443".into(), "10.0.0.5".into()]).unwrap();
    for (address, allowed) in [
        ("https://charts.example/index.yaml", true),
        ("http://charts.example/", false),
        ("file:///etc/passwd", false),
        ("gopher://charts.example/", false),
        ("https://user:pw@charts.example/", false),
        ("https://127.0.0.1/", false),
        ("https://0x7f.1/", false),
        ("https://2130706433/", false),
        ("https://[::1]/", false),
        ("https://[::ffff:169.254.169.254]/", false),
        ("https://169.254.169.254/latest/meta-data", false),
        ("https://100.100.100.200/", false),
        ("https://192.168.1.1/", false),
        ("https://8.8.8.8/", true),
        ("https://[2606:4700::1111]/", true),
        ("https://10.0.0.5/", true),
        ("http://10.0.0.5:8080/", true),
        ("https://charts.internal:8443/", true),
        ("https://charts.internal/", false),
        ("http://charts.internal:8443/", true),
    ] {
        assert_eq!(net.check(&url(address)).is_ok(), allowed, "{address}");
    }
}

#[test]
fn a22_special_addresses_are_not_public() {
    for address in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.2",
        "169.254.1.1",
        "172.16.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "fe80::1",
        "fec0::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "100::1",
    ] {
        assert!(!is_public(address.parse().unwrap()), "{address}");
    }
    for address in ["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1", "64:ff9b::808:808", "2002:808:808::1"] {
        assert!(is_public(address.parse().unwrap()), "{address}");
    }
}

#[test]
fn settings_are_checked() {
    for entry in ["", "a/b", "user@host", "host?x", "http://host", "ho st"] {
        assert!(matches!(Net::new(vec![entry.into()]), Err(NetError::Settings { .. })), "{entry:?}");
    }
    assert_eq!(Named::parse("[::1]:5000").unwrap(), Named { host: "[::1]".into(), port: Some(5000) });
    assert_eq!(Named::parse("Charts.Example:443").unwrap(), Named { host: "charts.example".into(), port: Some(443) });
}

#[tokio::test]
async fn a22_a_name_that_resolves_to_a_private_address_is_refused() {
    let net = Net::new(Vec::new()).unwrap();
    let error = fetch(&net, "https://localhost:1/").await.unwrap_err();
    assert!(
        matches!(&error, NetError::Refused { url, why } if url == "localhost" && why.contains("private")),
        "{error}"
    );
    let net = Net::new(vec!["localhost".into()]).unwrap();
    let error = fetch(&net, "http://localhost:1/").await.unwrap_err();
    assert!(matches!(error, NetError::Failed { .. }), "allowed by name, and nobody there: {error}");
}

#[tokio::test]
async fn a22_each_redirect_is_checked() {
    let other = serve(Router::new().route("/", get(|| async { "reached" }))).await;
    let to_other = format!("http://{other}/");
    let router = Router::new()
        .route("/private", get(move || async move { Redirect::temporary(&to_other) }))
        .route("/metadata", get(|| async { Redirect::temporary("http://169.254.169.254/") }))
        .route("/loop", get(|| async { Redirect::temporary("/loop") }))
        .route("/once", get(|| async { Redirect::temporary("/end") }))
        .route("/end", get(|| async { "end" }));
    let host = serve(router).await;
    let net = Net::new(vec![host.clone()]).unwrap();
    for path in ["private", "metadata"] {
        let error = fetch(&net, &format!("http://{host}/{path}")).await.unwrap_err();
        assert!(matches!(error, NetError::Refused { .. }), "{path}: {error}");
    }
    let error = fetch(&net, &format!("http://{host}/loop")).await.unwrap_err();
    assert!(error.to_string().contains("too many redirects"), "{error}");
    assert_eq!(fetch(&net, &format!("http://{host}/once")).await.unwrap().body, "end");
}

#[tokio::test]
async fn bodies_are_bounded_with_and_without_a_length() {
    let endless = || async {
        let chunks = futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 400])));
        axum::body::Body::from_stream(chunks)
    };
    let router = Router::new().route("/long", get(|| async { "x".repeat(1001) })).route("/endless", get(endless));
    let host = serve(router).await;
    let net = Net::new(vec![host.clone()]).unwrap();
    for path in ["long", "endless"] {
        let error = fetch(&net, &format!("http://{host}/{path}?token=secret")).await.unwrap_err();
        assert_eq!(error, NetError::TooLarge { url: format!("http://{host}/{path}"), most: 1000 });
    }
}

#[tokio::test]
async fn a_proxy_of_the_operator_is_used_and_may_be_private() {
    let proxy = serve(Router::new().fallback(|uri: http::Uri| async move { format!("asked for {uri}") })).await;
    let settings = NetSettings {
        allow: vec!["charts.internal".into()],
        proxies: Proxies::read(|name| (name == "HTTP_PROXY").then(|| proxy.clone())).unwrap(),
        ..NetSettings::default()
    };
    let net = Net::open(settings).unwrap();
    let answer = fetch(&net, "http://charts.internal/index.yaml").await.unwrap();
    assert_eq!(answer.body, "asked for http://charts.internal/index.yaml");
    assert!(fetch(&net, "http://charts.example/").await.is_err(), "a proxy does not widen what may be asked");
}
