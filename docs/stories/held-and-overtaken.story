# A release breaks a cluster of bronze. It climbs no further, and the next one overtakes it.
story: Held and overtaken
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor

2026-11-23 09:00  release cert-manager 1.15.1
                  bronze-2 breaks on cert-manager 1.15.1: CrashLoopBackOff
10:00             expect bronze failed cert-manager 1.15.1
                  expect cert-manager on bronze says bronze-2 is degraded
Wed 09:00         expect not silver opened cert-manager 1.15.1

                  release cert-manager 1.15.2        # it mends what broke
10:00             expect bronze-2 runs cert-manager 1.15.2
                  expect cert-manager on bronze is soaking
Thu 12:00         maria approves cert-manager on silver
+50h              noor approves cert-manager on gold
+2d               expect gold finished cert-manager 1.15.2

expect never silver opens cert-manager 1.15.1
expect never gold opens cert-manager 1.15.1
