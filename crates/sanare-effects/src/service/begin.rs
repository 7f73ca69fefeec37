//! The last look before an effect leaves this process: whoever lets an act begin may look once more, and hold off whoever
//! sets the stop switch until it has begun or is known not to (S97).

use std::cell::RefCell;
use std::rc::Rc;

/// Lets what begins the effect run, if it still may; whether it did.
pub type Gate = dyn Fn(&mut dyn FnMut()) -> bool;

thread_local! {
    static GATE: RefCell<Option<Rc<Gate>>> = const { RefCell::new(None) };
}

/// Calls something whose effects begin behind this gate, on this thread.
pub fn behind(gate: Rc<Gate>, call: &mut dyn FnMut()) {
    let _back = Back(GATE.replace(Some(gate)));
    call();
}

/// Begins an effect; `None` where it may not begin any more. Outside of a gate everything may.
pub(crate) fn begin<T>(first: impl FnOnce() -> T) -> Option<T> {
    let Some(gate) = GATE.with_borrow(Option::clone) else { return Some(first()) };
    let (mut first, mut begun) = (Some(first), None);
    gate(&mut || begun = first.take().map(|first| first()));
    begun
}

/// Puts back what was there before, whatever happens to the call.
struct Back(Option<Rc<Gate>>);

impl Drop for Back {
    fn drop(&mut self) {
        GATE.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{begin, behind};

    #[test]
    fn nothing_begins_behind_a_gate_that_is_shut() {
        let count = std::cell::Cell::new(0);
        let act = || begin(|| count.set(count.get() + 1));
        behind(Rc::new(|_: &mut dyn FnMut()| false), &mut || assert_eq!(act(), None));
        assert_eq!(count.get(), 0);
        let open = |first: &mut dyn FnMut()| {
            first();
            true
        };
        behind(Rc::new(open), &mut || assert_eq!(act(), Some(())));
        assert_eq!((count.get(), act(), count.get()), (1, Some(()), 2));
    }
}
