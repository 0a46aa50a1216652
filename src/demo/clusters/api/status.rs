//! The API's refusals: bodies of kind `Status`, as clients take them apart.

use http::StatusCode;
use serde_json::{Value, json};

use crate::clusters::kinds::Kind;

/// A refusal with everything that its body says.
#[derive(Debug)]
pub(super) struct Refusal {
    code: StatusCode,
    reason: &'static str,
    message: String,
    details: Value,
}

impl Refusal {
    fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: json!({}) }
    }

    pub(super) fn code(&self) -> StatusCode {
        self.code
    }

    pub(super) fn into_body(self) -> Value {
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code.as_u16(),
        })
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(super) fn forbidden(kind: &Kind, verb: &str, namespace: Option<&str>, name: Option<&str>) -> Self {
        let subject = match name {
            Some(name) => format!("{} \"{name}\" is forbidden", kind.resource()),
            None => format!("{} is forbidden", kind.resource()),
        };
        let scope = match namespace {
            Some(namespace) => format!("in the namespace \"{namespace}\""),
            None => "at the cluster scope".to_owned(),
        };
        let message = format!(
            "{subject}: User \"system:serviceaccount:coldframe:reader\" cannot {verb} resource \"{}\" \
             in API group \"{}\" {scope}",
            kind.plural, kind.group
        );
        let mut details = json!({"group": kind.group, "kind": kind.plural});
        if let Some(name) = name {
            details["name"] = name.into();
        }
        Self { details, ..Self::new(StatusCode::FORBIDDEN, "Forbidden", message) }
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let details = json!({"name": name, "group": kind.group, "kind": kind.plural});
        let message = format!("{} \"{name}\" not found", kind.resource());
        Self { details, ..Self::new(StatusCode::NOT_FOUND, "NotFound", message) }
    }

    pub(super) fn no_resource() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource")
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(super) fn bad_request(why: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", why)
    }

    /// The further pages of a list are gone.
    pub(super) fn expired_token() -> Self {
        let message = "The provided continue parameter is too old to display a consistent list result. \
                       You must start a new list without the continue parameter.";
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The changes since a revision are gone; inside a watch this is an ERROR event.
    pub(super) fn too_old(wanted: u64, current: u64) -> Self {
        Self::new(StatusCode::GONE, "Expired", format!("too old resource version: {wanted} ({current})"))
    }

    pub(super) fn too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {wanted}, current: {current}");
        let details =
            json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]});
        Self { details, ..Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message) }
    }
}
