//! Sends traces by OTLP over HTTP to the operator's collector, from a thread of its own. What is not taken is lost, and
//! said once in a while: nothing waits for it. Which spans there are is in `trace`.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use jiff::{SignedDuration, Timestamp};
use opentelemetry::{Key, KeyValue};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use percent_encoding::percent_decode_str;
use prost::Message as _;
use tokio::runtime::{self, Runtime};
use url::Url;

use crate::clock;
use crate::observe::net::causes;

/// The longest that one request may take.
const LONGEST: Duration = Duration::from_secs(10);
/// How long the last spans may take to be sent when the process ends: with what `serve` waits for its passes it stays
/// within the thirty seconds of Kubernetes.
const LAST: Duration = Duration::from_secs(5);
/// So often it is said that no spans are taken, at most.
const SELDOM: SignedDuration = SignedDuration::from_mins(10);

/// The traces of this process; none where nobody takes them.
pub struct Traces(Option<SdkTracerProvider>);

impl Traces {
    /// Those that go to this endpoint.
    ///
    /// # Errors
    /// Where nothing can be sent to it.
    pub fn open(endpoint: Option<&str>) -> anyhow::Result<Self> {
        let Some(endpoint) = endpoint else { return Ok(Self(None)) };
        speaks_http()?;
        let http = reqwest::Client::builder()
            // The collector is the operator's own, and what they give for it goes nowhere else.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .default_headers(headers(&std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default())?)
            .timeout(LONGEST)
            // Between two batches nobody would notice that the other end hangs up.
            .pool_max_idle_per_host(0)
            .build()
            .context("no HTTP client for traces")?;
        // It lasts as long as the process: dropping it would wait for a name server that does not answer.
        let runtime = Box::leak(Box::new(runtime::Builder::new_current_thread().enable_all().build()?));
        let exporter =
            Exporter { http, runtime, to: address(endpoint)?, from: (&resource()).into(), said: Mutex::default() };
        Ok(Self(Some(SdkTracerProvider::builder().with_batch_exporter(exporter).build())))
    }

    /// What makes spans of them.
    pub fn provider(&self) -> Option<&SdkTracerProvider> {
        self.0.as_ref()
    }

    /// Sends what is left, for a few seconds.
    pub fn end(self) {
        if let Some(provider) = self.0
            && provider.shutdown_with_timeout(LAST).is_err()
        {
            tracing::warn!("the last spans are lost: the collector did not take them in time");
        }
    }
}

/// Where a collector at this base takes traces.
fn address(endpoint: &str) -> anyhow::Result<Url> {
    let wrong = "--otlp-endpoint is the base of an OTLP receiver over HTTP, such as http://collector:4318, without a \
                 user; a token goes into OTEL_EXPORTER_OTLP_HEADERS";
    let mut url = Url::parse(endpoint).context(wrong)?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !matches!(url.scheme(), "http" | "https") || !plain {
        bail!(wrong);
    }
    url.set_path(&format!("{}/v1/traces", url.path().trim_end_matches('/')));
    Ok(url)
}

/// Who wants gRPC is told at once, and not by requests that never arrive.
fn speaks_http() -> anyhow::Result<()> {
    for name in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        let Ok(protocol) = std::env::var(name) else { continue };
        if !matches!(protocol.as_str(), "" | "http/protobuf") {
            bail!(
                "{name} is `{protocol}`, and traces are sent by `http/protobuf` alone: give the collector's port for \
                 HTTP, usually 4318"
            );
        }
    }
    Ok(())
}

/// The headers of each request, as the specification of OpenTelemetry writes them. They are a secret: no part of them is
/// told.
fn headers(given: &str) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (index, one) in given.split(',').map(str::trim).enumerate().filter(|(_, one)| !one.is_empty()) {
        let (name, value) = header(one).with_context(|| {
            let number = index + 1;
            format!(
                "header {number} of OTEL_EXPORTER_OTLP_HEADERS is not like `authorization=Bearer%20…`: a name, `=` and \
                 a value, with a comma to the next; within values a space is %20, a comma %2C, a percent sign %25"
            )
        })?;
        headers.insert(name, value);
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
    Ok(headers)
}

fn header(one: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = one.split_once('=')?;
    let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

/// Who sends: `coldframe`, unless the environment says another name.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let known = Resource::builder().build();
    let named = known.get(&Key::new("service.name")).is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder().with_attribute(version);
    if named { builder.build() } else { builder.with_service_name("coldframe").build() }
}

/// Sends batches on a runtime of its own: neither a slow name server nor a collector that is away holds up the process.
#[derive(Debug)]
struct Exporter {
    http: reqwest::Client,
    runtime: &'static Runtime,
    to: Url,
    from: ResourceAttributesWithSchema,
    /// When it was said last that nothing is taken.
    said: Mutex<Option<Timestamp>>,
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let request =
            ExportTraceServiceRequest { resource_spans: group_spans_by_resource_and_scope(batch, &self.from) };
        // The thread that asks does nothing else.
        let sent = self.runtime.block_on(async {
            let answer = self.http.post(self.to.clone()).body(request.encode_to_vec()).send().await;
            answer.and_then(reqwest::Response::error_for_status)
        });
        sent.map(drop).map_err(|error| {
            let why = causes(&error.without_url());
            self.say(&why);
            OTelSdkError::InternalFailure(why)
        })
    }
}

impl Exporter {
    fn say(&self, why: &str) {
        let now = clock::now();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_none_or(|at| now.duration_since(at) >= SELDOM) {
            *said = Some(now);
            let collector = self.to.host_str();
            tracing::warn!(collector, why, "traces are lost: the collector does not take them; all else goes on");
        }
    }
}
