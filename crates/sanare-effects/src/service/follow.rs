//! A log file that is followed: whole lines as they come, through rotation, truncation and half lines, in bounded memory
//! (S30).

use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::regular_file;

/// Bytes of a line; what stands behind them is passed over.
pub const LINE: usize = 16 * 1024;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// Bytes at the beginning and before the place that was come to, by which it is known that they are still the same: of
/// groups of lines that are alike, those of one end may well stand there again.
const HEAD: usize = 4 * 1024;
const TAIL: usize = 4 * 1024;
/// Bytes that one look reads at most, so that a flood holds nobody up.
const LOOK: u64 = 8 << 20;

/// A file that is followed from where it ends when it is first seen.
#[derive(Debug)]
pub struct Follow {
    path: PathBuf,
    open: Option<Open>,
    /// Whether a file that turns up is read from its beginning: it is a new one.
    from_start: bool,
    /// A line without its end.
    half: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    file: File,
    identity: (u64, u64),
    position: u64,
    /// The first bytes of the file, none of them behind `position`.
    head: Vec<u8>,
    /// The last bytes before `position`.
    tail: Vec<u8>,
}

impl Open {
    /// Whether what was read is still there: a file that was truncated may have grown past its old length since. It ends
    /// where the next bytes are.
    fn is_same(&mut self) -> std::io::Result<bool> {
        if self.file.metadata()?.len() < self.position {
            return Ok(false);
        }
        Ok(stands(&mut self.file, 0, &self.head)?
            && stands(&mut self.file, self.position.saturating_sub(self.tail.len() as u64), &self.tail)?)
    }

    /// The file is read anew.
    fn begin(&mut self) -> std::io::Result<()> {
        self.position = self.file.seek(SeekFrom::Start(0))?;
        self.head.clear();
        self.tail.clear();
        Ok(())
    }

    /// These bytes were read.
    fn pass(&mut self, bytes: &[u8]) {
        if self.position == self.head.len() as u64 {
            self.head.extend_from_slice(bytes.get(..bytes.len().min(HEAD - self.head.len())).unwrap_or_default());
        }
        self.position += bytes.len() as u64;
        self.tail.extend_from_slice(bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or_default());
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }
}

/// Whether these bytes stand at this place of a file.
fn stands(file: &mut File, place: u64, bytes: &[u8]) -> std::io::Result<bool> {
    file.seek(SeekFrom::Start(place))?;
    let mut there = vec![0; bytes.len()];
    match file.read_exact(&mut there) {
        Ok(()) => Ok(there == bytes),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

impl Follow {
    /// Follows a file; it need not be there yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), open: None, from_start: false, half: Vec::new() }
    }

    /// Gives each line that has come since the last look, without its end, cut at [`LINE`] bytes.
    ///
    /// # Errors
    /// Whatever the system says; then nobody knows what was logged.
    pub fn look(&mut self, mut line: impl FnMut(&[u8])) -> std::io::Result<()> {
        let mut left = LOOK;
        // At most an old file and the new one in its place.
        for _ in 0..2 {
            if self.open.is_none() {
                self.open = Some(self.enter()?);
            }
            if !self.drain(&mut left, &mut line)? {
                return Ok(());
            }
            let there = match std::fs::metadata(&self.path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    // It was taken away: what is written to it still arrives, until another one stands in its place.
                    self.from_start = true;
                    return Err(error);
                }
                there => there?,
            };
            let same = self.open.as_ref().is_some_and(|open| open.identity == identity(&there));
            if same {
                return Ok(());
            }
            // The old file will not end its last line.
            if !self.half.is_empty() {
                line(&std::mem::take(&mut self.half));
            }
            (self.open, self.from_start) = (None, true);
        }
        Ok(())
    }

    fn enter(&self) -> std::io::Result<Open> {
        let file = regular_file::open(&self.path)?;
        let about = file.metadata()?;
        let mut open = Open { file, identity: identity(&about), position: 0, head: Vec::new(), tail: Vec::new() };
        if !self.from_start {
            let end = open.file.seek(SeekFrom::End(0))?;
            open.file.seek(SeekFrom::Start(0))?;
            std::io::Read::by_ref(&mut open.file).take(end.min(HEAD as u64)).read_to_end(&mut open.head)?;
            open.position = open.file.seek(SeekFrom::Start(end.saturating_sub(TAIL as u64)))?;
            let mut tail = Vec::new();
            std::io::Read::by_ref(&mut open.file).take(end - open.position).read_to_end(&mut tail)?;
            open.pass(&tail);
        }
        Ok(open)
    }

    /// Reads to the end; whether it got there.
    fn drain(&mut self, left: &mut u64, line: &mut impl FnMut(&[u8])) -> std::io::Result<bool> {
        let Some(open) = &mut self.open else { return Ok(true) };
        if !open.is_same()? {
            // Copied away and truncated: what was half will not be whole.
            open.begin()?;
            self.half.clear();
        }
        let mut chunk = vec![0; CHUNK];
        while *left > 0 {
            let count = open.file.read(&mut chunk)?;
            if count == 0 {
                return Ok(true);
            }
            open.pass(chunk.get(..count).unwrap_or_default());
            *left = left.saturating_sub(count as u64);
            let mut rest = chunk.get(..count).unwrap_or_default();
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let (begin, after) = rest.split_at(end);
                keep(&mut self.half, begin);
                line(self.half.strip_suffix(b"\r").unwrap_or(&self.half));
                self.half.clear();
                rest = after.get(1..).unwrap_or_default();
            }
            keep(&mut self.half, rest);
        }
        Ok(false)
    }
}

/// Which file it is, whatever its name: device and number, or the moment of its making where there are no such numbers.
fn identity(about: &Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (about.dev(), about.ino())
    }
    #[cfg(not(unix))]
    {
        let made = about.created().ok().and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        made.map_or((0, 0), |made| (made.as_secs(), u64::from(made.subsec_nanos())))
    }
}

fn keep(half: &mut Vec<u8>, more: &[u8]) {
    let room = LINE.saturating_sub(half.len());
    half.extend_from_slice(more.get(..room.min(more.len())).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::PathBuf;

    use super::{Follow, LINE};

    struct Log {
        folder: PathBuf,
        follow: Follow,
    }

    impl Log {
        fn new(name: &str, before: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("sanare-follow-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).expect("a folder");
            let mut log = Self { follow: Follow::new(&folder.join("log")), folder };
            log.write(before);
            assert_eq!(log.look(), Vec::<String>::new(), "what was there before is not counted");
            log
        }

        fn write(&self, bytes: impl AsRef<[u8]>) {
            let path = self.folder.join("log");
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("a file");
            file.write_all(bytes.as_ref()).expect("written");
        }

        fn look(&mut self) -> Vec<String> {
            let mut lines = Vec::new();
            drop(self.follow.look(|line| lines.push(String::from_utf8_lossy(line).into_owned())));
            lines
        }
    }

    impl Drop for Log {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }

    #[test]
    fn lines_come_whole_and_once() {
        let mut log = Log::new("whole", "old\nhalf of the o");
        log.write("ld one\nfirst\r\nsec");
        assert_eq!(log.look(), ["ld one", "first"]);
        assert_eq!(log.look(), Vec::<String>::new());
        log.write(b"ond\n\nb\xffd\n");
        assert_eq!(log.look(), ["second", "", "b\u{fffd}d"], "what is no UTF-8 is a line all the same");
    }

    #[test]
    fn a_rotated_file_is_read_to_its_end_and_the_new_one_from_its_beginning() {
        let mut log = Log::new("rotated", "");
        log.write("one\ntw");
        assert_eq!(log.look(), ["one"]);
        log.write("o\nthree without an end");
        std::fs::rename(log.folder.join("log"), log.folder.join("log.1")).expect("renamed");
        assert_eq!(log.look(), ["two"], "nothing stands in its place yet");
        assert!(log.follow.look(|_| {}).is_err(), "and nobody knows what is logged");
        log.write("four\n");
        assert_eq!(log.look(), ["three without an end", "four"]);
    }

    #[test]
    fn a_truncated_file_is_read_from_its_beginning() {
        let mut log = Log::new("truncated", "a long line that was there before\n");
        log.write("one\nha");
        assert_eq!(log.look(), ["one"]);
        let file = std::fs::OpenOptions::new().write(true).open(log.folder.join("log")).expect("a file");
        file.set_len(0).expect("truncated");
        assert_eq!(log.look(), Vec::<String>::new());
        log.write("two\n");
        assert_eq!(log.look(), ["two"]);
    }

    #[test]
    fn a_file_that_was_truncated_and_has_grown_past_its_old_length_is_read_from_its_beginning() {
        for before in ["", "a line that was there before\n"] {
            let mut log = Log::new("regrown", before);
            log.write("one\nha");
            assert_eq!(log.look(), ["one"]);
            let file = std::fs::OpenOptions::new().write(true).open(log.folder.join("log")).expect("a file");
            file.set_len(0).expect("truncated");
            let many: Vec<String> = (0..100).map(|number| format!("after {number}")).collect();
            log.write(many.join("\n") + "\n");
            assert_eq!(log.look(), many, "all of it, and once");
            assert_eq!(log.look(), Vec::<String>::new());
            // To the very length that it had.
            let length = std::fs::metadata(log.folder.join("log")).expect("a file").len();
            file.set_len(0).expect("truncated");
            log.write("y".repeat(usize::try_from(length).expect("a length") - 1) + "\n");
            assert_eq!(log.look().len(), 1);
        }
    }

    #[test]
    fn groups_of_lines_that_are_alike_are_told_apart_by_where_the_file_begins() {
        let alike = "connection timed out\n".repeat(400);
        for before in ["", "what stood there when it began\n"] {
            let mut log = Log::new("alike", before);
            log.write(format!("run 1\n{alike}"));
            assert_eq!(log.look().len(), 401);
            // Truncated, and more of the same since, so that it ends alike at the very place that was come to.
            let file = std::fs::OpenOptions::new().write(true).open(log.folder.join("log")).expect("a file");
            file.set_len(0).expect("truncated");
            log.write(format!("{before}run 2\n{alike}{alike}"));
            assert_eq!(log.look().len(), 801 + usize::from(!before.is_empty()), "all of it");
            log.write("one more\n");
            assert_eq!(log.look(), ["one more"], "and once");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_more_room_than_a_line() {
        let mut log = Log::new("endless", "");
        for _ in 0..64 {
            log.write(vec![b'x'; 1 << 20]);
            assert_eq!(log.look(), Vec::<String>::new());
        }
        assert!(log.follow.half.capacity() <= 4 * LINE);
        log.write("\nnext\n");
        assert_eq!(log.look().iter().map(String::len).collect::<Vec<_>>(), [LINE, 4]);
    }

    #[test]
    fn what_is_no_file_is_not_followed() {
        for path in ["/dev/zero", "/", "/no/such/file"] {
            assert!(Follow::new(std::path::Path::new(path)).look(|_| {}).is_err(), "{path}");
        }
    }
}
