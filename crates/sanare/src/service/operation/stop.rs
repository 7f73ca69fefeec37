//! The stop switch: files beside the store, read before every act (S97). They need no store that works.

use sanare_core::service::Application;

use crate::operations::stop::at;
use crate::service::house::stop_path;
use crate::service::{Healer, Setup, gate};

impl Setup {
    /// Sets the switch for all, or for one application. When it returns, within two seconds, no act begins any more, in
    /// whatever process; one that is in progress is followed to its end.
    ///
    /// # Errors
    /// When it cannot be written; or, of the kind `TimedOut`, when it is set and a worker stands still right before an act.
    pub fn stop(&self, application: Option<&Application>) -> std::io::Result<()> {
        let path = stop_path(self, application);
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        folder.and_then(|()| std::fs::write(&path, b"")).map_err(|error| at(&path, &error))?;
        gate::pass(self).map_err(|error| at(&path, &error))
    }

    /// Lifts it; it begins nothing by itself.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn start_again(&self, application: Option<&Application>) -> std::io::Result<()> {
        let path = stop_path(self, application);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(at(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Whether this very switch is set; one that cannot be looked at is.
    pub fn is_stopped(&self, application: Option<&Application>) -> bool {
        stop_path(self, application).try_exists().unwrap_or(true)
    }
}

impl Healer {
    /// Stops all acting, or on one application. When it returns no act begins any more, and questions are void, whether they
    /// wait or are granted.
    ///
    /// # Errors
    /// When the switch cannot be written; the store's faults are told as such.
    pub fn stop(&self, application: Option<&Application>) -> std::io::Result<()> {
        self.setup().stop(application)?;
        let house = self.house();
        self.within(&house, |acting| acting.void_approvals(application, "stopped")).map_err(std::io::Error::other)?;
        Ok(())
    }

    /// Lifts the switch; it begins nothing by itself.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn start_again(&self, application: Option<&Application>) -> std::io::Result<()> {
        self.setup().start_again(application)
    }
}
