//! temp
use super::signal::Signal;
use crate::policy::wiring::ListedCluster;
use decide::snapshot::{Health, Reading};
use std::collections::BTreeMap;
use std::path::Path;
pub struct Ask {
    pub cluster: ListedCluster,
    pub signal: Box<dyn Signal>,
}
pub struct Clusters {
    clients: BTreeMap<String, kube::Client>,
}
impl Clusters {
    pub fn none() -> Self {
        Self { clients: BTreeMap::new() }
    }
    pub fn open(folder: &Path, _allow: &[String]) -> anyhow::Result<Self> {
        let mut clients = BTreeMap::new();
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
            let kc: kube::config::Kubeconfig = serde_yaml::from_str(&std::fs::read_to_string(&path)?)?;
            let config =
                futures_util::FutureExt::now_or_never(kube::Config::from_custom_kubeconfig(kc, &Default::default()))
                    .ok_or_else(|| anyhow::anyhow!("x"))??;
            clients.insert(name, kube::Client::try_from(config)?);
        }
        Ok(Self { clients })
    }
    pub async fn readings(&self, asks: Vec<Ask>) -> Vec<Reading> {
        futures_util::future::join_all(asks.into_iter().map(|ask| async move {
            let t = ask.signal.target();
            let unknown = |health, why: String| Reading {
                signal: ask.signal.kind().to_string(),
                health,
                running: None,
                digest: None,
                observed_at: crate::clock::now(),
                since: None,
                evidence: why,
            };
            let Some(client) = self.clients.get(&ask.cluster.credential) else {
                return unknown(Health::Unknown, "no connection".into());
            };
            let ar = kube::api::ApiResource::from_gvk_with_plural(&t.gvk, &t.plural);
            let api: kube::Api<kube::api::DynamicObject> = match &t.namespace {
                Some(ns) => kube::Api::namespaced_with(client.clone(), ns, &ar),
                None => kube::Api::all_with(client.clone(), &ar),
            };
            match api.get_opt(&t.name).await {
                Ok(Some(o)) => ask.signal.judge(&serde_json::to_value(&o).unwrap_or_default(), crate::clock::now()),
                Ok(None) => unknown(Health::NotFound, "none".into()),
                Err(e) => unknown(Health::Unknown, e.to_string()),
            }
        }))
        .await
    }
}
