//! placeholder until the redactor lands
use serde::Serialize;
/// Redacted text or JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Redacted<T>(T);
impl<T> AsRef<T> for Redacted<T> {
    fn as_ref(&self) -> &T {
        &self.0
    }
}
/// tmp
pub fn tmp(v: serde_json::Value) -> Redacted<serde_json::Value> {
    Redacted(v)
}
