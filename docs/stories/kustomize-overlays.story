# Preset kustomize-overlays: one file per stage, so that its clusters move together, and production is told a
# day before, also when it has approved at once.
story: Overlays of Kustomize
policy:
  extends: [kustomize-overlays]
  plugins:
    - name: ingress
      chart: {oci: oci://registry.example/charts/ingress}
      write: [{file: "apps/{tier}/ingress.yaml", path: $.spec.chart.spec.version}]
      signals: [{helmRelease: {namespace: ingress, name: ingress}}]
clusters: qa-1  stage=qa
clusters: staging-1 staging-2  stage=staging
clusters: production-1 production-2 production-3  stage=production
plugins: ingress 4.10.0
owners: maria

2026-11-23 09:00  release ingress 4.11.0
Tue 09:20         expect qa finished ingress 4.11.0
                  expect ingress on staging says waits for an approval by @maria
                  maria approves ingress on staging
Thu 10:00         expect staging finished ingress 4.11.0
                  maria approves ingress on production
                  expect ingress on production says people have to be told 1 d before it merges
Fri 08:00         expect not production merged ingress 4.11.0
11:00             expect production runs ingress 4.11.0
                  expect production-3 runs ingress 4.11.0
                  expect 3 pull requests
Sat 12:00         expect production finished ingress 4.11.0
