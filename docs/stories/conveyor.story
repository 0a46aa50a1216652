# Releases come faster than gold can take them. Each free tier takes the newest that finished below, so that
# a stream of releases never starves the top.
story: A stream of releases
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor

2026-11-23 09:00  maria approves everything
                  release cert-manager 1.15.1
+12h              release cert-manager 1.15.2
+12h              release cert-manager 1.15.3
+12h              release cert-manager 1.15.4
+12h              release cert-manager 1.15.5
+36h              expect silver finished cert-manager 1.15.1
+1d               expect gold merged cert-manager 1.15.1
+6d               expect gold runs cert-manager 1.15.5

expect never gold opens cert-manager 1.15.2
