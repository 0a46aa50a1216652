# A major release waits before its first tier until a person says that the migration notes were read.
# The word is given once, for this version, by somebody who may write; it holds for every tier.
story: Breaking, acknowledged
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor
people: kim
strangers: eve

2026-11-23 09:00  maria approves everything
                  release cert-manager 2.0.0
09:30             expect cert-manager on qa says nobody has acknowledged the migration notes
                  eve acknowledges cert-manager 2.0.0
10:00             expect not qa merged cert-manager 2.0.0
Tue 09:00         expect cert-manager on qa is open
                  kim acknowledges cert-manager 2.0.0
09:30             expect qa finished cert-manager 2.0.0
                  expect bronze merged cert-manager 2.0.0
Wed 12:00         expect silver merged cert-manager 2.0.0
+3d               expect gold merged cert-manager 2.0.0
+2d               expect gold finished cert-manager 2.0.0

# Marked by its author although the number says patch: it waits as well.
                  release cert-manager 2.0.1, breaking
+1d               expect cert-manager on qa says may break
                  expect not qa merged cert-manager 2.0.1
