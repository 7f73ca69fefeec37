//! The signal that asks a running program to read its configuration again.

#[cfg(unix)]
mod unix {
    use std::sync::atomic::{AtomicBool, Ordering};

    static ASKED: AtomicBool = AtomicBool::new(false);

    extern "C" fn asked(_: libc::c_int) {
        // Nothing else is allowed here: whoever runs looks at it in its own time.
        ASKED.store(true, Ordering::SeqCst);
    }

    /// From now on SIGHUP ends nothing, and is remembered.
    ///
    /// # Errors
    /// When the system refuses it.
    #[expect(unsafe_code, reason = "a handler of a signal has no safe counterpart in the standard library")]
    pub fn listen() -> std::io::Result<()> {
        let handler: extern "C" fn(libc::c_int) = asked;
        // SAFETY: the structure is plain numbers, for which zero is a value; the handler stores one atomic and nothing else,
        // which is allowed at any moment; the pointers live as long as the call.
        let set = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGHUP, &raw const action, std::ptr::null_mut())
        };
        if set == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    /// Whether it came since the last look.
    pub fn take() -> bool {
        ASKED.swap(false, Ordering::SeqCst)
    }
}

#[cfg(not(unix))]
mod unix {
    /// There is no such signal here.
    ///
    /// # Errors
    /// Never.
    pub fn listen() -> std::io::Result<()> {
        Ok(())
    }

    /// It never comes.
    pub fn take() -> bool {
        false
    }
}

pub use unix::{listen, take};
