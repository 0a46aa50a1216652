# A fix overtakes the release that it mends, and gold comes by itself when nobody answers.
story: Overtaken on bronze, forced on gold
zone: Europe/Berlin
policy: coldframe.yaml
clusters: qa-1  metadata.greenhouse.sap/tier=qa
clusters: bronze-1 bronze-2  metadata.greenhouse.sap/tier=bronze
clusters: silver-1  metadata.greenhouse.sap/tier=silver
clusters: gold-1 gold-2  metadata.greenhouse.sap/tier=gold
plugins: kube-monitoring 16.0.0
owners: maria noor
rollout: 20m

2026-10-05 09:00  release kube-monitoring 16.0.1
                  bronze-2 breaks on kube-monitoring 16.0.1: upgrade retries exhausted
Tue 14:00         expect bronze failed kube-monitoring 16.0.1
                  release kube-monitoring 16.0.2
Wed 18:00         expect bronze-2 runs kube-monitoring 16.0.2
Thu 18:00         expect bronze finished kube-monitoring 16.0.2
                  noor approves kube-monitoring on silver
Mon 09:00         expect silver finished kube-monitoring 16.0.2
                  expect kube-monitoring on gold says waits for an approval by @maria, @noor
+32d              expect gold forced kube-monitoring 16.0.2
                  expect 3 notices
                  expect gold-2 runs kube-monitoring 16.0.2

expect never silver opens kube-monitoring 16.0.1
