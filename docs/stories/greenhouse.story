# Preset greenhouse: a release climbs from qa to gold. Greenhouse tries a failed upgrade again by itself, so
# that a plugin which is not ready for ten minutes has not failed.
story: Plugins of Greenhouse
zone: Europe/Berlin
policy:
  extends: [greenhouse]
clusters: qa-1  metadata.greenhouse.sap/tier=qa
clusters: bronze-1 bronze-2  metadata.greenhouse.sap/tier=bronze
clusters: silver-1  metadata.greenhouse.sap/tier=silver
clusters: gold-1 gold-2  metadata.greenhouse.sap/tier=gold
plugins: kube-monitoring 16.0.0
owners: maria noor
rollout: 20m

2026-11-23 09:00  release kube-monitoring 16.0.1
                  bronze-2 breaks on kube-monitoring 16.0.1: upgrade retries exhausted
10:00             expect kube-monitoring on qa is soaking
# bronze gets it without a question, and the upgrade of one cluster is tried again.
Tue 09:50         expect kube-monitoring on bronze is rolling-out
                  expect not bronze failed kube-monitoring 16.0.1
                  bronze-2 mends
Wed 12:00         expect bronze finished kube-monitoring 16.0.1
                  expect kube-monitoring on silver says waits for an approval by @maria, @noor
                  maria approves kube-monitoring on silver
Fri 14:00         noor approves kube-monitoring on gold
Sat 15:00         expect gold finished kube-monitoring 16.0.1
                  expect 4 pull requests
