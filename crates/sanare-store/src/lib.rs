//! (room is being furnished)
