//! JSON without the liberties of JSON: no doubled keys, bounded depth, bounded numbers.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

use super::Code;

const DEPTH: usize = 16;
const NUMBER: usize = 64;

// Our own words inside the parser's errors; a text of the reply never gets there.
const TWICE: &str = "sanare: a key stands twice";
const DEEP: &str = "sanare: too deep";

/// The object that this text is, all of it.
pub(super) fn object(text: &str) -> Result<Map<String, Json>, Code> {
    if has_long_number(text) {
        return Err(Code::LongNumber);
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Bounded(DEPTH).deserialize(&mut deserializer).map_err(|error| code_of(&error.to_string()))?;
    // Whatever follows the object makes it text around a bare object, or a second one.
    deserializer.end().map_err(|_| Code::NotOneObject)?;
    match value {
        Json::Object(map) => Ok(map),
        _ => Err(Code::NotOneObject),
    }
}

fn code_of(message: &str) -> Code {
    if message.starts_with(TWICE) {
        Code::DuplicateKey
    } else if message.starts_with(DEEP) || message.starts_with("recursion limit") {
        Code::TooDeep
    } else {
        Code::NotJson
    }
}

/// Whether a number outside strings is longer than allowed.
fn has_long_number(text: &str) -> bool {
    let (mut in_string, mut escaped, mut run) = (false, false, 0);
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        in_string = byte == b'"';
        run = if byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E') { run + 1 } else { 0 };
        if run > NUMBER {
            return true;
        }
    }
    false
}

/// A value with so many levels left.
struct Bounded(usize);

impl<'de> DeserializeSeed<'de> for Bounded {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::from(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Number::from_f64(number).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let below = self.0.checked_sub(1).ok_or_else(|| A::Error::custom(DEEP))?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Bounded(below))? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let below = self.0.checked_sub(1).ok_or_else(|| A::Error::custom(DEEP))?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Bounded(below))?;
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom(TWICE));
            }
        }
        Ok(Json::Object(map))
    }
}
