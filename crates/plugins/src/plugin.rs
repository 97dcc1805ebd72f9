//! placeholder
use crate::{Event, Payload, Reply};
/// A plugin.
#[derive(Debug)]
pub struct Plugin {}
impl Plugin {
    pub(crate) fn events(&self) -> Vec<Event> {
        Vec::new()
    }
    pub(crate) async fn hook(&self, _: &Payload) -> Option<Result<Reply, String>> {
        None
    }
}
