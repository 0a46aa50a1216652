# A release is accepted when the tests of its repository are green, and a smoke test of ours has to succeed
# on the first clusters before the others get it.
story: Verified before the rest
policy:
  tiers:
    - name: all
      merge: automatic
      onFailure: stall
      strategy: {canary: {steps: [{setWeight: 25}, {verify: {workflow: smoke.yml, timeout: 30m}}]}}
  plugins:
    - name: loki
      chart: {oci: oci://registry.example/charts/loki}
      versions: {checks: [e2e]}
      write: [{file: "clusters/{cluster}/loki.yaml", path: $.spec.chart.spec.version}]
      signals: [{helmRelease: {namespace: loki, name: loki}}]
clusters: eu-1 eu-2 eu-3 eu-4
plugins: loki 3.1.0
owners: maria

2026-11-23 09:00  release loki 3.1.1
                  expect loki on all says the commit that released 3.1.1 waits for checks: e2e
                  check e2e fails for loki 3.1.1
+1h               expect 0 pull requests
                  check e2e passes for loki 3.1.1
+1m               expect all merged loki 3.1.1

# The first cluster is healthy on it, and the smoke test runs.
+12m              expect eu-1 runs loki 3.1.1
                  expect loki on all says smoke.yml verifies what has moved
                  expect eu-2 runs loki 3.1.0
+1h               expect eu-4 runs loki 3.1.1
                  expect 2 pull requests

# The next one is found wanting. The others keep what they have until somebody runs the test again.
                  workflow smoke.yml fails
                  release loki 3.1.2
                  check e2e passes for loki 3.1.2
+1h               expect loki on all says smoke.yml found what has moved wanting
                  expect eu-2 runs loki 3.1.1
                  workflow smoke.yml passes
+1h               expect eu-4 runs loki 3.1.2
                  expect all finished loki 3.1.2
