# A cluster of bronze flaps while the release soaks. Each time the soak begins anew; what is degraded for
# less than five minutes has not failed.
story: A fleet that flaps while it soaks
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor

2026-11-23 09:00  release cert-manager 1.15.1
10:00             expect cert-manager on bronze is soaking
20:00             bronze-1 degrades on cert-manager: readiness probe failed
20:03             expect cert-manager on bronze is paused
                  bronze-1 mends
20:04             expect cert-manager on bronze is soaking
# A day after it landed it would be done; the soak began anew at 20:03.
Tue 10:00         expect not bronze finished cert-manager 1.15.1
15:00             bronze-2 vanishes
19:00             expect cert-manager on bronze is paused
                  bronze-2 returns
# Four hours of silence pause it. They count after all: the cluster's own times prove that nothing happened.
Wed 02:00         expect bronze finished cert-manager 1.15.1
                  expect not bronze failed cert-manager 1.15.1
                  expect cert-manager on silver is open
