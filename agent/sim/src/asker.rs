//! Network questions in memory: everything answers well, or nothing does.

use std::time::Duration;

use agent_core::{Fail, HttpGet};
use agent_loops::ports::{Answer, Asker};
use async_trait::async_trait;

use crate::world::World;

/// The network.
#[derive(Debug)]
pub(crate) struct FakeAsker {
    pub(crate) world: World,
}

impl FakeAsker {
    fn answer(&self, host: &str, who: &str) -> Answer {
        if host.is_empty() {
            let what = format!("{who} is asked without an address");
            self.world.change(|state| state.violations.push(what));
        }
        let deaf = self.world.read(|state| state.deaf);
        Answer {
            success: !deaf,
            answered: !deaf,
            detail: format!("{who} {}", if deaf { "is deaf" } else { "answers" }),
        }
    }
}

#[async_trait]
impl Asker for FakeAsker {
    async fn http(&self, get: &HttpGet, ip: &str, _timeout: Duration) -> Result<Answer, Fail> {
        Ok(self.answer(ip, &format!("http {ip}{}", get.path)))
    }

    async fn tcp(&self, host: &str, port: u16, _timeout: Duration) -> Result<Answer, Fail> {
        Ok(self.answer(host, &format!("tcp {host}:{port}")))
    }

    async fn grpc(
        &self,
        ip: &str,
        port: u16,
        service: &str,
        _timeout: Duration,
    ) -> Result<Answer, Fail> {
        Ok(self.answer(ip, &format!("grpc {ip}:{port} {service}")))
    }
}
