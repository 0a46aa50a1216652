//! The files of the config repo, word by word: what is written large is filled in by `fleet`.

pub(super) const README: &str = "\
# The fleet of Acme

Twelve clusters in four tiers. What runs where stands in `clusters/<tier>/<cluster>/<plugin>.yaml`;
each cluster pulls its own folder from `main`. perses comes by Greenhouse: its hub pulls `greenhouse/`.

| tier   | clusters | who says yes |
|--------|----------|--------------|
| qa     | 2        | nobody has to |
| bronze | 3        | @acme/platform |
| silver | 4        | @acme/platform |
| gold   | 3        | @acme/platform; kube-state-metrics has a grace period |

New versions of plugins climb by pull requests, one per tier. `coldframe.yaml` says when.
To stop one: close its pull request, or comment `/coldframe hold <why>`.
";

pub(super) const CODEOWNERS: &str = "\
# The last match decides. qa has no owners: it moves without a review.
/coldframe.yaml    @acme/platform
/clusters.yaml     @acme/platform
/.github/          @acme/platform
/clusters/bronze/  @acme/platform
/clusters/silver/  @acme/platform
/clusters/gold/    @acme/platform
/greenhouse/bronze/  @acme/platform
/greenhouse/silver/  @acme/platform
/greenhouse/gold/    @acme/platform
";

pub(super) const POLICY: &str = "\
# How plugin releases climb through the fleet. This is a sandbox: the durations are seconds, a real
# fleet would take days.
version: 1

clusters: {from: file, path: clusters.yaml}

tiers:
  - name: qa
    select: {matchLabels: {tier: qa}}
    merge: automatic                       # nobody owns clusters/qa/
    soak: 1s
    health: {progressDeadline: 60s, degradedFor: 2s}
  - name: bronze
    select: {matchLabels: {tier: bronze}}
    merge: approved
    approvals: {codeOwners: true, atLeast: 1}
    soak: 2s
    health: {progressDeadline: 60s, degradedFor: 2s}
  - name: silver
    select: {matchLabels: {tier: silver}}
    merge: approved
    approvals: {codeOwners: true, atLeast: 1}
    soak: 3s
    health: {progressDeadline: 60s, degradedFor: 2s}
  - name: gold
    select: {matchLabels: {tier: gold}}
    merge: approved
    approvals: {codeOwners: true, atLeast: 1}
    soak: 2s
    health: {progressDeadline: 60s, degradedFor: 2s}

plugins:
  - name: cert-manager
    chart: {oci: oci+http://OCI}
    poll: 1s
    versions: {constraint: \"^1.14\"}
    write:
      - file: clusters/{tier}/{cluster}/cert-manager.yaml
        document: {kind: HelmRelease, name: cert-manager}
        path: $.spec.chart.spec.version
    signals:
      - helmRelease: {namespace: cert-manager, name: cert-manager}

  - name: ingress-nginx
    chart: {repository: REPOSITORY, name: ingress-nginx}
    poll: 1s
    write:
      - file: clusters/{tier}/{cluster}/ingress-nginx.yaml
        document: {kind: HelmRelease, name: ingress-nginx}
        path: $.spec.chart.spec.version
    signals:
      - helmRelease: {namespace: ingress-nginx, name: ingress-nginx}

  - name: kube-state-metrics
    chart: {repository: REPOSITORY, name: kube-state-metrics}
    poll: 1s
    write:
      - file: clusters/{tier}/{cluster}/kube-state-metrics.yaml
        document: {kind: Application, name: kube-state-metrics}
        path: $.spec.source.targetRevision
    signals:
      - application: {namespace: argocd, name: kube-state-metrics}
    tiers:
      gold:
        force: {after: GRACEs, notice: [10s, 4s]}   # if nobody looks at it, it goes on all the same

  - name: podinfo
    chart: {repository: REPOSITORY, name: podinfo}
    poll: 1s
    write:
      - file: clusters/{tier}/{cluster}/podinfo.yaml
        document: {kind: HelmRelease, name: podinfo}
        path: $.spec.chart.spec.version
    signals:
      - rollout: {namespace: podinfo, name: podinfo}   # Helm is done long before the canary is

  - name: perses
    chart: {catalog: EXTENSIONS, path: perses/plugindefinition.yaml}   # its own version climbs, not its chart's
    poll: 1s
    write:
      - file: greenhouse/{tier}/catalog.yaml
    signals:
      - pluginPreset: {namespace: acme, name: \"perses-{tier}\", catalog: \"extensions-{tier}\"}
        connection: greenhouse-reader       # the hub knows how each cluster is
";

pub(super) const HELM_RELEASE: &str = "\
# NAME on CLUSTER (TIER). Only the version is moved by the bot; the rest is ours.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    app.kubernetes.io/part-of: fleet
spec:
  interval: 5m
  chart:
    spec:
      chart: NAME
      version: VERSION # exact, never a range
      sourceRef:
        kind: HelmRepository
        name: charts
        namespace: flux-system
  install:
    crds: Create
  upgrade:
    crds: CreateReplace
  values:
    replicas: REPLICAS
";

/// A chart whose workload is a Rollout.
pub(super) const ROLLOUT: &str = "    controller: {kind: Rollout}
    cache: redis:6379
";

/// The values of a chart that can cache.
pub(super) const CACHED: &str = "\
# How many pods serve.
replicas: 2
image:
  repository: registry.example/podinfo
  tag: \"\"
resources:
  limits: {memory: 256Mi}
# Where answers are cached.
cache: \"\"
";

/// The schema of the chart that asks for a host.
pub(super) const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["host"],
  "properties": {"host": {"type": "string"}}
}
"#;

/// What the host is for.
pub(super) const INGRESS: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ .Release.Name }}
spec:
  rules:
    - host: {{ .Values.host | quote }}
";

pub(super) const PASSED_NOTES: &str = "\
- A smaller image
- Fixes a leak when a connection breaks (#231, thanks @vera)
";

pub(super) const BREAKING_NOTES: &str = "\
- Answers are cached in memory
- BREAKING: `cache` is gone, no other cache is asked any more
- BREAKING: `host` has to be set, for an Ingress that comes with the chart now
";

pub(super) const CATALOG: &str = "\
# What TIER takes of the extensions. Only the tag is moved by the bot; the rest is ours.
apiVersion: greenhouse.sap/v1alpha1
kind: Catalog
metadata:
  name: extensions-TIER
  namespace: acme
spec:
  sources:
    - repository: EXTENSIONS
      resources: [NAME/plugindefinition.yaml]
      ref:
        tag: NAME/VERSION # exact, never a branch
      overrides:
        - name: NAME
          alias: NAME-TIER
";

pub(super) const DEFINITION: &str = "\
apiVersion: greenhouse.sap/v1alpha1
kind: PluginDefinition
metadata:
  name: NAME
spec:
  version: VERSION
  displayName: NAME
  helmChart:
    name: NAME
    repository: REPOSITORY
    version: CHART
  options:
    - name: config.frontend.retention
      type: string
      default: 30d
";

pub(super) const PRESET: &str = "\
# NAME on every cluster of TIER.
apiVersion: greenhouse.sap/v1alpha1
kind: PluginPreset
metadata:
  name: NAME-TIER
  namespace: acme
spec:
  clusterSelector:
    matchLabels: {tier: TIER}
  plugin:
    pluginDefinitionRef: {kind: PluginDefinition, name: NAME-TIER}
    releaseNamespace: NAME
";

pub(super) const APPLICATION: &str = "\
# NAME on CLUSTER (TIER). Only targetRevision is moved by the bot; the rest is ours.
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: NAME
  namespace: argocd
  labels:
    app.kubernetes.io/part-of: fleet
spec:
  project: default
  source:
    repoURL: SOURCE
    chart: NAME
    targetRevision: VERSION # exact, never a range
    helm:
      valuesObject:
        replicas: REPLICAS
  destination:
    server: https://kubernetes.default.svc
    namespace: NAMESPACE
  syncPolicy:
    automated: {prune: true, selfHeal: true}
";
