//! Where a key is read: a variable or a file. It goes into one header and nowhere else.

use std::io::Read as _;

use sanare_core::model::setup::KeyPlace;
use sanare_core::port::CallFault;

/// The key, if one is needed.
///
/// # Errors
/// [`CallFault::NoKey`] with the place where it should have been.
pub fn key_of(place: &KeyPlace) -> Result<Option<String>, CallFault> {
    let (text, place) = match place {
        KeyPlace::Nowhere => return Ok(None),
        KeyPlace::Variable(name) => {
            let Some(value) = std::env::var_os(name) else {
                return Err(CallFault::NoKey(format!("the variable `{name}` is not set")));
            };
            (value.into_string().unwrap_or_default(), format!("the variable `{name}`"))
        }
        KeyPlace::File(path) => {
            let mut text = String::new();
            let read = std::fs::File::open(path).and_then(|file| file.take(8_192).read_to_string(&mut text));
            if let Err(error) = read {
                return Err(CallFault::NoKey(format!("`{path}` cannot be read: {}", error.kind())));
            }
            (text, format!("`{path}`"))
        }
    };
    let key = text.trim();
    // Anything else could end the header that it goes into.
    match !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Some(key.to_owned())),
        false => Err(CallFault::NoKey(format!("{place} holds no key"))),
    }
}
