# A person closes the pull request of silver. That is a no to this release on silver and above; the next
# release may come.
story: Closed by a person
zone: Europe/Berlin
policy: ladder.yaml
clusters: qa-1 qa-2  tier=qa
clusters: bronze-1 bronze-2  tier=bronze
clusters: silver-1 silver-2  tier=silver
clusters: gold-1 gold-2  tier=gold
plugins: cert-manager 1.15.0
owners: maria noor

2026-11-23 09:00  release cert-manager 1.15.1
Tue 10:00         expect cert-manager on silver is open
                  noor closes cert-manager on silver
                  expect cert-manager on silver is rejected
Fri 10:00         expect cert-manager on silver says noor closed
                  expect not gold opened cert-manager 1.15.1
                  release cert-manager 1.15.2
Sat 12:00         expect silver opened cert-manager 1.15.2
                  maria approves cert-manager on silver
+3d               expect gold opened cert-manager 1.15.2

expect never silver merges cert-manager 1.15.1
expect never gold opens cert-manager 1.15.1
expect never gold opens cert-manager 1.15.0
