//! Memory that a fork does not copy.
//!
//! Shared mappings (memory of several processes, locks and queues in it, files mapped for writing) are one and the same
//! in parent and child: a child that takes such a lock and dies would hang the parent for ever. So the child may read
//! them and no more; an attempt to write ends it with a signal. Bare system calls only, nothing is allocated.

/// Takes the right to write from every shared mapping; false when the list of mappings cannot be read.
#[expect(unsafe_code, reason = "mappings by address have no safe counterpart in the standard library")]
pub(super) fn make_read_only() -> bool {
    let mut lines = Lines::default();
    let mut buffer = [0_u8; 4096];
    // SAFETY: the name is NUL-terminated, the buffer as long as the call is told, and the ranges are the kernel's own.
    unsafe {
        let list = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if list < 0 {
            return false;
        }
        let mut whole = true;
        loop {
            let count = libc::read(list, buffer.as_mut_ptr().cast(), buffer.len());
            let Ok(count @ 1..) = usize::try_from(count) else {
                whole &= count == 0;
                break;
            };
            for byte in buffer.iter().take(count) {
                if let Some((start, end)) = lines.read(*byte) {
                    whole &= libc::mprotect(std::ptr::without_provenance_mut(start), end - start, libc::PROT_READ) == 0;
                }
            }
        }
        libc::close(list);
        whole
    }
}

/// Reads lines like `7f01-7f02 rw-s 00000000 00:01 1 /dev/zero`, byte by byte.
#[derive(Default)]
struct Lines {
    start: usize,
    end: usize,
    letters: [u8; 4],
    part: Part,
}

#[derive(Default)]
enum Part {
    #[default]
    Start,
    End,
    Letters(usize),
    Rest,
}

impl Lines {
    /// The range of a shared writable mapping, once its letters are read.
    fn read(&mut self, byte: u8) -> Option<(usize, usize)> {
        match (&self.part, byte) {
            (_, b'\n') => *self = Self::default(),
            (Part::Start, b'-') => self.part = Part::End,
            (Part::Start, digit) => self.start = self.start << 4 | hex(digit),
            (Part::End, b' ') => self.part = Part::Letters(0),
            (Part::End, digit) => self.end = self.end << 4 | hex(digit),
            (Part::Letters(at), letter) => {
                let at = *at;
                if let Some(slot) = self.letters.get_mut(at) {
                    *slot = letter;
                }
                self.part = if at < 3 { Part::Letters(at + 1) } else { Part::Rest };
                if at == 3 && self.letters[1] == b'w' && letter == b's' {
                    return Some((self.start, self.end));
                }
            }
            (Part::Rest, _) => {}
        }
        None
    }
}

fn hex(digit: u8) -> usize {
    char::from(digit).to_digit(16).map_or(0, |value| value as usize)
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn only_shared_and_writable() {
        let text = "55d0-55d1 rw-p 0 08:01 5 /bin/x s\n7f01a0-7f02b0 rw-s 00000000 00:01 1 /dev/shm/w s\n\
                    7f03-7f04 r--s 0 08:01 9 /usr/cache\nffff600000-ffff601000 rwxs 0 0 0\n";
        let mut lines = Lines::default();
        let found: Vec<_> = text.bytes().filter_map(|byte| lines.read(byte)).collect();
        assert_eq!(found, [(0x7f_01a0, 0x7f_02b0), (0xff_ff60_0000, 0xff_ff60_1000)]);
    }
}
