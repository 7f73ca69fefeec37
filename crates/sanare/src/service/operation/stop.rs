//! The stop switch: files beside the store, read before every act (S97).

use sanare_core::service::Application;

use crate::service::Healer;
use crate::service::house::stop_path;

impl Healer {
    /// Stops all acting, or on one application. When it returns no act begins any more, and questions are void.
    ///
    /// # Errors
    /// When the switch cannot be written; the store's faults are told as such.
    pub fn stop(&self, application: Option<&Application>) -> std::io::Result<()> {
        let path = stop_path(self.setup(), application);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, b"")?;
        let house = self.house();
        self.within(&house, |acting| acting.void_approvals(application, "stopped")).map_err(std::io::Error::other)?;
        Ok(())
    }

    /// Lifts the switch; it begins nothing by itself.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn start_again(&self, application: Option<&Application>) -> std::io::Result<()> {
        match std::fs::remove_file(stop_path(self.setup(), application)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
