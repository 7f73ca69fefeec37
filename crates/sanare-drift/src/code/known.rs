//! Helpers of earlier layers that know new names: their texts, by which they are known again, and the names they know.
//!
//! A name that drifts once more gets one more alias in the helper that is there, no second helper around it.

use sanare_source::ast::{Stmt, StmtFunctionDef};

use super::{Code, text_of};

/// What a helper with aliases reads: expected name, name in the data.
pub type Alias = (String, String);

/// The text of a helper that gives columns their known names: comment, dictionary, whether a name has several aliases.
pub type Form = fn(&str, &str, bool) -> String;

/// `field(row, "name", "alias")`. With several aliases exactly one must be there: two would be a guess.
pub fn field(parameter: &str, comment: &str, several: bool) -> String {
    if several {
        return format!(
            "def field({parameter}, name, *aliases):\n    # {comment}\n    if name in {parameter}:\n        return {parameter}[name]\n    \
             there = [alias for alias in aliases if alias in {parameter}]\n    if len(there) != 1:\n        \
             raise KeyError(f\"neither {{name!r}} nor exactly one of {{aliases}} in {{list({parameter})}}\")\n    \
             return {parameter}[there[0]]"
        );
    }
    format!(
        "def field({parameter}, name, alias):\n    # {comment}\n    for key in (name, alias):\n        \
         if key in {parameter}:\n            return {parameter}[key]\n    \
         raise KeyError(f\"neither {{name!r}} nor {{alias!r}} in {{list({parameter})}}\")"
    )
}

/// Around a `csv.DictReader`.
pub fn of_reader(comment: &str, known: &str, several: bool) -> String {
    let names = match several {
        true => {
            "    meant = [known.get(name) for name in there]\n    reader.fieldnames = [\n        \
             old if old and old not in there and meant.count(old) == 1 else name for name, old in zip(there, meant)\n    ]"
        }
        false => {
            "    reader.fieldnames = [\n        \
             known[name] if name in known and known[name] not in there else name for name in there\n    ]"
        }
    };
    format!(
        "def with_known_names(reader):\n    # {comment}\n    known = {known}\n    there = reader.fieldnames or []\n{names}\n    \
         return reader"
    )
}

/// Around rows of which the first has the names.
pub fn of_rows(comment: &str, known: &str, several: bool) -> String {
    let names = match several {
        true => {
            "            meant = [known.get(name) for name in row]\n            row = [\n                \
             old if old and old not in row and meant.count(old) == 1 else name for name, old in zip(row, meant)\n            ]"
        }
        false => {
            "            row = [known[name] if name in known and known[name] not in row else name for name in row]"
        }
    };
    format!(
        "def with_known_names(rows):\n    # {comment}\n    known = {known}\n    for number, row in enumerate(rows):\n        \
         if number == 0:\n{names}\n        yield row"
    )
}

/// Around a dictionary of places by name.
pub fn of_places(comment: &str, known: &str, several: bool) -> String {
    let names = match several {
        true => {
            "    meant = [known.get(name) for name in places]\n    \
             return {\n        old if old and old not in places and meant.count(old) == 1 else name: at\n        \
             for (name, at), old in zip(places.items(), meant)\n    }"
        }
        false => {
            "    return {known[name] if name in known and known[name] not in places else name: at for name, at in places.items()}"
        }
    };
    format!("def with_known_names(places):\n    # {comment}\n    known = {known}\n{names}")
}

/// Around a frame.
pub fn of_frame(comment: &str, known: &str, several: bool) -> String {
    let names = match several {
        true => {
            "    meant = [known.get(name) for name in frame.columns]\n    there = [old for old in meant if meant.count(old) == 1]\n    \
             return frame.rename(\n        columns={new: old for new, old in known.items() if old not in frame.columns and old in there}\n    )"
        }
        false => {
            "    return frame.rename(columns={new: old for new, old in known.items() if old not in frame.columns})"
        }
    };
    format!("def with_known_names(frame):\n    # {comment}\n    known = {known}\n{names}")
}

/// Every form of `with_known_names`.
pub const FORMS: &[Form] = &[of_reader, of_rows, of_places, of_frame];

/// Whether a name has more than one alias.
pub fn several(aliases: &[Alias]) -> bool {
    aliases.iter().any(|one| aliases.iter().any(|other| one.0 == other.0 && one.1 != other.1))
}

/// Whether a helper's text is this one, comments and the kind of quotes aside.
pub fn is_text(there: &str, text: &str) -> bool {
    fn plain(text: &str) -> impl Iterator<Item = String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| line.replace('\'', "\""))
    }
    plain(there).eq(plain(text))
}

/// `amount was renamed to osszeg, then to betrag, day to nap`.
pub fn said(aliases: &[Alias]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (expected, _) in aliases {
        if !names.contains(&expected.as_str()) {
            names.push(expected);
        }
    }
    let of = |(at, name): (usize, &&str)| {
        let seen: Vec<String> = aliases.iter().filter(|one| one.0 == **name).map(|one| plain(&one.1)).collect();
        format!("{}{} to {}", plain(name), if at == 0 { " was renamed" } else { "" }, seen.join(", then to "))
    };
    names.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
}

/// A name inside a comment: one line, nothing hidden.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control() && *letter != '\u{feff}').collect::<String>().trim().to_owned()
}

impl<'a> Code<'a> {
    /// The helper of an earlier layer with this name.
    pub fn helper(&self, name: &str) -> Option<&'a StmtFunctionDef> {
        let inner = self.target.body.iter().filter_map(Stmt::as_function_def_stmt);
        inner.filter(|inner| self.has(name) && inner.name.as_str() == name).last()
    }

    /// What `with_known_names` of an earlier layer knows.
    pub fn known_names(&self) -> Vec<Alias> {
        let body = self.helper("with_known_names").map(|helper| helper.body.as_slice()).unwrap_or_default();
        let known = body.iter().filter_map(Stmt::as_assign_stmt).find_map(|assign| {
            let named = assign.targets.first()?.as_name_expr()?.id == "known";
            assign.value.as_dict_expr().filter(|_| named)
        });
        let pair = |item: &sanare_source::ast::DictItem| {
            Some((text_of(&item.value)?.to_owned(), text_of(item.key.as_ref()?)?.to_owned()))
        };
        known.map(|known| known.items.iter().filter_map(pair).collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::{is_text, of_reader, said, several};

    #[test]
    fn a_comment_tells_every_name_in_its_order() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let all = [pair("amount", "osszeg"), pair("day", "nap"), pair("amount", "betrag")];
        assert_eq!(said(&all), "amount was renamed to osszeg, then to betrag, day to nap");
        assert!(several(&all) && !several(&all[..2]));
    }

    #[test]
    fn a_helper_is_known_by_its_text_alone() {
        let ours = of_reader("x", "{\"a\": \"b\"}", false);
        assert!(is_text(&ours.replace('"', "'").replace("# x", "# y"), &ours));
        assert!(!is_text(&ours.replace("not in there", "in there"), &ours));
    }
}
