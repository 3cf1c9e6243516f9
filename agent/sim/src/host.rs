//! A host in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use agent_core::{ContainerId, ContainerName, Fail, PodUid, Time};
use agent_loops::ports::{
    ContainerInstance, Host, LogOwner, PreparedContainer, PreparedPod, References, ResolverConfig,
    WantedPod,
};
use async_trait::async_trait;

use crate::calls::Verb;
use crate::state::State;
use crate::world::World;

/// The host as one life of the agent sees it.
#[derive(Debug)]
pub(crate) struct FakeHost {
    pub(crate) world: World,
    pub(crate) life: u32,
}

#[async_trait]
impl Host for FakeHost {
    async fn prepare_pod(
        &self,
        pod: &WantedPod,
        _references: &Arc<References>,
    ) -> Result<PreparedPod, Fail> {
        let uid = &pod.want.uid;
        let effect = |state: &mut State, _| {
            state.prepared.insert(uid.clone());
            Ok(PreparedPod {
                log_directory: PathBuf::from(format!("/logs/{uid}")),
                cgroup_parent: format!("/kubepods/pod{uid}"),
                volumes: BTreeMap::new(),
                resolver: ResolverConfig::default(),
                stale: Vec::new(),
                user_namespace: None,
            })
        };
        self.world
            .call(self.life, Verb::PreparePod, Some(uid), effect)
            .await
    }

    async fn prepare_container(
        &self,
        instance: ContainerInstance<'_>,
    ) -> Result<PreparedContainer, Fail> {
        let ContainerInstance {
            pod,
            container,
            ips,
            ..
        } = instance;
        let uid = &pod.want.uid;
        let effect = |state: &mut State, now: Time| {
            if !state.prepared.contains(uid) {
                let what = format!("{now:?}: {container} of {uid} on a host that is not prepared");
                state.violations.push(what);
            }
            if ips.is_empty() {
                state
                    .violations
                    .push(format!("{now:?}: {container} of {uid} without an address"));
            }
            Ok(PreparedContainer::default())
        };
        self.world
            .call(self.life, Verb::PrepareContainer, Some(uid), effect)
            .await
    }

    async fn clean_pod(&self, uid: &PodUid) -> Result<(), Fail> {
        let effect = |state: &mut State, now: Time| {
            if state.running(uid).next().is_some() {
                state
                    .violations
                    .push(format!("{now:?}: host of {uid} is cleaned while it runs"));
            }
            state.prepared.remove(uid);
            Ok(())
        };
        self.world
            .call(self.life, Verb::CleanPod, Some(uid), effect)
            .await
    }

    async fn leftovers(&self) -> Result<BTreeSet<PodUid>, Fail> {
        let effect = |state: &mut State, _| Ok(state.prepared.clone());
        self.world
            .call(self.life, Verb::Leftovers, None, effect)
            .await
    }

    async fn termination_message(
        &self,
        _pod: &WantedPod,
        container: &ContainerName,
        attempt: u32,
        _failed: bool,
    ) -> Result<String, Fail> {
        Ok(format!("last words of {container} {attempt}"))
    }

    async fn remove_logs(
        &self,
        pod: &LogOwner,
        instance: Option<(&ContainerName, u32)>,
    ) -> Result<(), Fail> {
        let effect = |state: &mut State, _| {
            if instance.is_none() {
                state.logs.remove(&pod.uid);
            }
            Ok(())
        };
        self.world
            .call(self.life, Verb::RemoveLogs, Some(&pod.uid), effect)
            .await
    }

    /// There are no collectors in this world.
    async fn link_log(
        &self,
        _pod: &LogOwner,
        _container: &ContainerName,
        _attempt: u32,
        _id: &ContainerId,
    ) -> Result<(), Fail> {
        Ok(())
    }

    async fn rotate_log(
        &self,
        _pod: &LogOwner,
        container: &ContainerName,
        _attempt: u32,
    ) -> Result<bool, Fail> {
        Ok(self.world.change(|state| state.big_logs.remove(container)))
    }
}
