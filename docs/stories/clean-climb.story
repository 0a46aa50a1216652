# A release climbs from qa to gold. Patches reach bronze by themselves; silver and gold ask their owners.
story: A clean climb
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2 bronze-3  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor

2026-11-23 09:00  release cert-manager 1.15.1
09:30             expect cert-manager on qa is finished
                  expect bronze merged cert-manager 1.15.1
10:00             expect bronze-1 runs cert-manager 1.15.1
                  expect cert-manager on bronze is soaking
Tue 12:00         expect cert-manager on silver says waits for an approval by @maria, @noor
14:00             maria approves cert-manager on silver
14:01             expect silver merged cert-manager 1.15.1
+49h              noor approves cert-manager on gold
+2h               expect gold runs cert-manager 1.15.1
+1d               expect gold finished cert-manager 1.15.1
                  expect 4 pull requests
                  expect 0 forced merges
