//! Helm's own record of a release, `sh.helm.release.v1.<release>.v<revision>` (helm, `pkg/storage/driver`). The
//! values in it are secrets: only labels are listed, and of the newest one nothing but its chart and state is
//! looked at.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use decide::Version;
use decide::snapshot::Health;
use flate2::read::GzDecoder;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::answer::Signal;
use super::kind::{Kind, Make, Proves, anything};
use super::object::{Object, Verdict, told};
use super::settings::{self, NAMESPACE, required};
use super::target::{Api, Target};
use parse::read::{Form, Shape};

/// Its kind.
pub(super) const KIND: Kind = Kind {
    name: "helmSecret",
    shape: Shape {
        what: "helmSecret",
        keys: &[NAMESPACE, required("release", Form::ObjectName, &["The name of the release."])],
        unsupported: &[],
        about: &["Helm: the Secrets in which Helm keeps a release; for clusters without a controller."],
    },
    proves: Proves::Less("what Helm has deployed, not that its pods are well, unless Helm was told to wait"),
    dates: true,
    refuse: anything,
    make: Make::Object(|settings| {
        Ok(Box::new(HelmSecret { namespace: settings.required("namespace")?, release: settings.required("release")? }))
    }),
};

const API: Api = Api { group: "", version: "v1", kind: "Secret", plural: "secrets" };
/// The largest release that is unpacked, in bytes.
const MOST: u64 = 32 << 20;
const GZIP: [u8; 3] = [0x1f, 0x8b, 0x08];

struct HelmSecret {
    namespace: String,
    release: String,
}

/// What is looked at of a release; the rest is skipped while it is read.
#[derive(Deserialize)]
struct Release {
    name: String,
    #[serde(default)]
    version: i64,
    info: Info,
    chart: Chart,
}

#[derive(Deserialize)]
struct Info {
    #[serde(default)]
    status: String,
    #[serde(default)]
    last_deployed: String,
    /// The revision that a rollback went back to.
    #[serde(default)]
    rollback_revision: i64,
}

#[derive(Deserialize)]
struct Chart {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    version: String,
}

impl Signal for HelmSecret {
    fn target(&self) -> Target {
        let selector = format!("owner=helm,name={}", self.release);
        API.labelled(Some(self.namespace.clone()), selector, true)
    }

    fn more(&self, list: &Value) -> Vec<Target> {
        let newest = self.newest(list).and_then(|(_, metadata)| Object(metadata).text("/metadata/name"));
        let named = |name: &str| API.named(Some(self.namespace.clone()), name.to_string());
        newest.filter(|name| settings::name("name", (*name).to_string()).is_ok()).map(named).into_iter().collect()
    }

    fn around(&self) -> Vec<Target> {
        vec![API.all(Some(self.namespace.clone()))]
    }

    fn judge(&self, list: &Value, more: &[Option<Value>]) -> Verdict {
        let Some((revision, metadata)) = self.newest(list) else {
            return Verdict::new(Health::NotFound, format!("Helm keeps no release {} there", self.release));
        };
        let metadata = Object(metadata);
        let Some(Some(secret)) = more.first() else {
            return Verdict::progressing(format!("revision {revision} is being replaced"));
        };
        let release = match unpacked(secret) {
            Ok(release) => release,
            Err(why) => return Verdict::unknown(format!("revision {revision}: {why}")),
        };
        // The labels are Helm's word of the same moment; a record of another release proves nothing.
        let status = metadata.mark("labels", "status").unwrap_or("?");
        if release.name != self.release || release.version != revision || release.info.status != status {
            return Verdict::progressing(format!("the record and its labels do not agree on revision {revision}"));
        }
        self.state(list, &release)
    }
}

impl HelmSecret {
    fn state(&self, list: &Value, release: &Release) -> Verdict {
        let Release { version: revision, info, .. } = release;
        let version = &release.chart.metadata.version;
        let parsed: Option<Version> = version.parse().ok();
        let at: Option<Timestamp> = info.last_deployed.parse().ok();
        let mut evidence = format!("revision {revision} is {}, {}", told(version), state(&info.status));
        if info.rollback_revision > 0 {
            evidence.push_str(&format!(", rolled back to revision {}", info.rollback_revision));
        }
        let (health, runs) = match info.status.as_str() {
            // What somebody rolled back to has failed before, whatever its number is.
            "deployed" if info.rollback_revision > 0 => (Health::Degraded, true),
            "deployed" => (Health::Healthy, true),
            "pending-install" | "pending-upgrade" | "pending-rollback" | "uninstalling" => (Health::Progressing, false),
            "failed" => (Health::Degraded, false),
            "uninstalled" => (Health::NotFound, false),
            _ => (Health::Unknown, false),
        };
        if health == Health::Degraded && self.deployed(list).is_some() {
            evidence.push_str(&format!("; revision {} still runs", self.deployed(list).unwrap_or_default()));
        }
        let mut verdict = Verdict::new(health, evidence).since(at);
        if runs {
            verdict.running.clone_from(&parsed);
        }
        verdict.attempted = parsed;
        verdict
    }

    /// The newest revision by number, with its metadata.
    fn newest<'a>(&self, list: &'a Value) -> Option<(i64, &'a Value)> {
        let numbered = |item: &'a Value| {
            let object = Object(item);
            let own = object.mark("labels", "name") == Some(&self.release);
            let number: i64 = object.mark("labels", "version")?.parse().ok()?;
            (own && object.mark("labels", "owner") == Some("helm")).then_some((number, item))
        };
        Object(list).list("/items").iter().filter_map(numbered).max_by_key(|(number, _)| *number)
    }

    /// The newest older revision that is deployed.
    fn deployed(&self, list: &Value) -> Option<i64> {
        let (newest, _) = self.newest(list)?;
        let of = |item: &Value| {
            let object = Object(item);
            let number: i64 = object.mark("labels", "version")?.parse().ok()?;
            (object.mark("labels", "status") == Some("deployed") && number < newest).then_some(number)
        };
        Object(list).list("/items").iter().filter_map(of).max()
    }
}

/// A state of Helm's; what else stands there is not told.
fn state(text: &str) -> &str {
    let known = [
        "deployed",
        "pending-install",
        "pending-upgrade",
        "pending-rollback",
        "uninstalling",
        "failed",
        "uninstalled",
        "superseded",
        "unknown",
    ];
    known.into_iter().find(|known| *known == text).unwrap_or("in no state that is known")
}

/// The record in a Secret: base64 of Kubernetes, base64 of Helm, gzip, JSON. No error repeats a byte of it.
fn unpacked(secret: &Value) -> Result<Release, &'static str> {
    let text = Object(secret).text("/data/release").ok_or("data.release is missing")?;
    let once = STANDARD.decode(text).map_err(|_| "data.release is not base64")?;
    let packed = STANDARD.decode(once).map_err(|_| "data.release is not what Helm writes")?;
    let mut bytes = packed;
    if bytes.starts_with(&GZIP) {
        let mut plain = Vec::new();
        let read = GzDecoder::new(bytes.as_slice()).take(MOST + 1).read_to_end(&mut plain);
        read.map_err(|_| "data.release is damaged")?;
        bytes = plain;
    }
    if bytes.len() as u64 > MOST {
        return Err("data.release is larger than any release");
    }
    serde_json::from_slice(&bytes).map_err(|_| "data.release is not a release of Helm 3")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use super::*;

    #[test]
    fn a26_a_record_that_unpacks_without_end_is_refused() {
        let secret = |bytes: u64| {
            let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::copy(&mut std::io::repeat(b' ').take(bytes), &mut packed).unwrap();
            packed.write_all(b"}").unwrap();
            let text = STANDARD.encode(STANDARD.encode(packed.finish().unwrap()));
            serde_json::json!({ "data": { "release": text } })
        };
        assert_eq!(unpacked(&secret(MOST * 4)).err(), Some("data.release is larger than any release"));
        assert_eq!(unpacked(&secret(1)).err(), Some("data.release is not a release of Helm 3"));
    }
}
