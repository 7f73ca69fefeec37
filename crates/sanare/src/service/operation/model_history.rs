//! Which version of a model was live when, and what is known of each (S87).

use sanare_core::service::Application;
use sanare_core::service::context::LiveSpan;

use crate::service::Healer;

impl Healer {
    /// Spans in which versions were live, oldest first, as they are known to this process and in its store.
    pub fn model_history(&self, application: &Application) -> Vec<LiveSpan> {
        self.house().history(application)
    }
}
