//! What a registry of charts says when something was pushed: how it shows its token, and whether it names a source, which
//! is then asked. The forms are those of goharbor.io (webhook notifications), docs.quay.io (repository notifications)
//! and docs.jfrog.com (webhooks, event types).

use axum::http::{HeaderMap, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::receiver::Answer;

/// The secret token of a webhook of Artifactory.
const JFROG: &str = "x-jfrog-event-auth";

/// As much of a delivery is searched, in bytes; what names a push is shorter.
pub(super) const MOST: usize = 64 << 10;

/// The token, as a registry can show one: a bearer's, the password of an address (Quay), or in a header of its own.
pub(super) fn token(headers: &HeaderMap) -> Result<Vec<u8>, Answer> {
    let refused =
        (StatusCode::UNAUTHORIZED, "a token is missing: `Authorization: Bearer …`, or the password of the address");
    let one = |name: &str| {
        let mut given = headers.get_all(name).iter();
        given.next().filter(|_| given.next().is_none()).map(|value| value.as_bytes().trim_ascii())
    };
    let given = match (one(header::AUTHORIZATION.as_str()), one(JFROG)) {
        (Some(given), _) => given,
        (None, Some(token)) if !token.is_empty() => return Ok(token.to_vec()),
        (None, _) => return Err(refused),
    };
    let (scheme, rest) =
        given.split_at_checked(given.iter().position(|byte| *byte == b' ').ok_or(refused)?).ok_or(refused)?;
    let rest = rest.trim_ascii();
    let token = match scheme.to_ascii_lowercase().as_slice() {
        b"bearer" => rest.to_vec(),
        b"basic" => {
            let pair = STANDARD.decode(rest).map_err(|_| refused)?;
            let colon = pair.iter().position(|byte| *byte == b':').ok_or(refused)?;
            pair.get(colon + 1..).unwrap_or_default().to_vec()
        }
        _ => return Err(refused),
    };
    if token.is_empty() { Err(refused) } else { Ok(token) }
}

/// A delivery as it is searched.
pub(super) fn plain(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..MOST).unwrap_or(body)).to_lowercase().replace("\\/", "/")
}

/// Whether a delivery is about a source: the path of an OCI repository stands in it, or a repository of packages and the
/// package of a chart.
pub(super) fn names(text: &str, source: &str) -> bool {
    let whole = |at: usize| {
        let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        let (before, after) = (text.get(..at), text.get(at + source.len()..));
        ends(before.and_then(|text| text.chars().next_back())) && ends(after.and_then(|text| text.chars().next()))
    };
    let package = |(repository, chart): (&str, &str)| {
        text.contains(&format!("\"{repository}\""))
            && [format!("\"{chart}-"), format!("/{chart}-")].iter().any(|part| text.contains(part))
    };
    text.match_indices(source).any(|(at, _)| whole(at)) || source.rsplit_once('/').is_some_and(package)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_delivery_names_what_was_pushed() {
        let harbor = r#"{"type":"PUSH_ARTIFACT","occur_at":1790000000,"operator":"ci","event_data":{"resources":[{"digest":
            "sha256:8a9e","tag":"1.2.3","resource_url":"harbor.example/Library/charts/loki:1.2.3"}],"repository":{"name":"charts/loki",
            "namespace":"library","repo_full_name":"library/charts/loki","repo_type":"private"}}}"#;
        let quay = r#"{"name":"loki","repository":"acme/loki","namespace":"acme","docker_url":"quay.io\/acme\/loki","updated_tags":["1.2.3"]}"#;
        let artifactory = r#"{"domain":"artifact","event_type":"deployed","data":{"repo_key":"helm-local","path":"logs/loki-1.2.3.tgz",
            "name":"loki-1.2.3.tgz","sha256":"8a9e","size":4711}}"#;
        for (body, source, named) in [
            (harbor, "library/charts/loki", true),
            (harbor, "library/charts/lok", false),
            (harbor, "charts/loki", true),
            (quay, "acme/loki", true),
            (quay, "acme/loki-stack", false),
            (artifactory, "helm-local/loki", true),
            (artifactory, "helm-local/mimir", false),
            (artifactory, "helm-remote/loki", false),
            ("", "acme/loki", false),
        ] {
            assert_eq!(names(&plain(body.as_bytes()), source), named, "{source} in {body}");
        }
    }

    #[test]
    fn a_token_comes_as_each_can_show_it() {
        let of = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_str(value).unwrap());
            token(&headers).ok()
        };
        let basic = format!("Basic {}", STANDARD.encode("coldframe:word"));
        for (name, value) in [("authorization", "Bearer word"), ("authorization", &basic), (JFROG, "word")] {
            assert_eq!(of(name, value).as_deref(), Some(&b"word"[..]), "{name}: {value}");
        }
        for (name, value) in [
            ("authorization", "word"),
            ("authorization", "Bearer "),
            ("authorization", "Basic %"),
            ("authorization", "Digest word"),
            (JFROG, ""),
            ("x-other", "word"),
        ] {
            assert_eq!(of(name, value), None, "{name}: {value}");
        }
    }
}
