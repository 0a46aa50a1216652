# The year's end is closed in the policy file, and a person freezes gold on top of it. Pull requests are
# opened meanwhile so that people can review; nothing merges.
story: Frozen over the year's end
zone: Europe/Berlin
policy:
  windows:
    zone: Europe/Berlin
    closed: [{from: 2026-12-20, to: 2027-01-04, why: year-end freeze}]
  extends: [bronze-silver-gold]
clusters: bronze-1  tier=bronze
clusters: silver-1  tier=silver
clusters: gold-1  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor

2026-12-18 09:00  maria approves everything
Sat 12:00         release cert-manager 1.15.1
12:30             expect bronze merged cert-manager 1.15.1
Sun 14:00         expect cert-manager on silver is open
                  expect cert-manager on silver says year-end freeze
2026-12-24 18:00  expect not silver merged cert-manager 1.15.1
2027-01-04 23:59  expect not silver merged cert-manager 1.15.1
2027-01-05 00:01  expect silver merged cert-manager 1.15.1
09:00             noor freezes gold: audit
2027-01-07 09:00  expect cert-manager on gold says frozen by noor: audit
2027-01-12 09:00  expect not gold merged cert-manager 1.15.1
                  noor lifts the freeze
09:01             expect gold merged cert-manager 1.15.1
