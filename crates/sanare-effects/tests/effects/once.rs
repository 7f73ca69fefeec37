//! One apply with a receipt, as the engine does it, small enough to be killed at every step.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use sanare_core::hash::Digest;
use sanare_effects::apply::{Step, clean_up, write_watched};

const RECEIPT: &str = "receipt.json";

/// `apply FILE`, `recover FILE` or `check FILE`; the answer is the exit code.
pub fn run(arguments: &[&str], kill_at: Option<&str>) -> Result<(), String> {
    let [verb, file] = arguments else { return Err("apply, recover or check, and a file".into()) };
    let file = Path::new(file);
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match *verb {
        "apply" => apply(file, folder, kill_at),
        "recover" => recover(file, folder),
        "check" => check(file, folder),
        other => Err(format!("no such verb: {other}")),
    }
}

/// What the repair turns a text into.
pub fn repaired(old: &[u8]) -> Vec<u8> {
    let mut new = old.to_vec();
    new.extend_from_slice(b"# repaired\r\n");
    new
}

fn apply(file: &Path, folder: &Path, kill_at: Option<&str>) -> Result<(), String> {
    let old = std::fs::read(file).map_err(|fault| fault.to_string())?;
    let new = repaired(&old);
    let receipt = serde_json::json!({ "before": Digest::of(&old), "after": Digest::of(&new) });
    write_durably(folder, RECEIPT, receipt.to_string().as_bytes()).map_err(|fault| fault.to_string())?;
    let mut watch = |step: Step| {
        if kill_at == Some(format!("{step:?}").as_str()) {
            kill_this_process();
        }
    };
    let done = write_watched(file, &Digest::of(&old), &new, &mut watch);
    if done.as_ref().is_err_and(|fault| fault.left_new()) {
        return done.map(|_| ()).map_err(|fault| fault.to_string());
    }
    finish(folder)?;
    done.map(|_| ()).map_err(|fault| fault.to_string())
}

/// Looks at the world, never at the receipt alone.
fn recover(file: &Path, folder: &Path) -> Result<(), String> {
    let cleaned = clean_up(folder).map_err(|fault| fault.to_string())?;
    if !cleaned.kept.is_empty() {
        return Err(format!("kept: {:?}", cleaned.kept));
    }
    for name in [RECEIPT, "receipt.tmp"] {
        if name == RECEIPT
            && let Ok(text) = std::fs::read_to_string(folder.join(RECEIPT))
        {
            let receipt: serde_json::Value = serde_json::from_str(&text).map_err(|fault| fault.to_string())?;
            let found = Digest::of(&std::fs::read(file).map_err(|fault| fault.to_string())?);
            if receipt["before"] != found.as_str() && receipt["after"] != found.as_str() {
                return Err("neither as before nor as after".into());
            }
        }
        match std::fs::remove_file(folder.join(name)) {
            Err(fault) if fault.kind() != std::io::ErrorKind::NotFound => return Err(fault.to_string()),
            _ => {}
        }
    }
    Ok(())
}

/// `FILE.old` is a copy of the old text: the file must hold that or what the repair makes of it, and nothing may be left.
fn check(file: &Path, folder: &Path) -> Result<(), String> {
    let old = std::fs::read(file.with_extension("old")).map_err(|fault| fault.to_string())?;
    let found = std::fs::read(file).map_err(|fault| fault.to_string())?;
    if found != old && found != repaired(&old) {
        return Err(format!("damaged: {}", found.escape_ascii()));
    }
    for entry in std::fs::read_dir(folder).map_err(|fault| fault.to_string())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(".sanare") || name.starts_with("receipt") {
            return Err(format!("left behind: {name}"));
        }
    }
    Ok(())
}

fn finish(folder: &Path) -> Result<(), String> {
    std::fs::remove_file(folder.join(RECEIPT)).map_err(|fault| fault.to_string())
}

fn write_durably(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = folder.join("receipt.tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(temporary, folder.join(name))?;
    File::open(folder)?.sync_all()
}

#[expect(unsafe_code, reason = "the point is to die without any cleaning up")]
fn kill_this_process() {
    // SAFETY: a signal to this process takes no pointers.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
}
