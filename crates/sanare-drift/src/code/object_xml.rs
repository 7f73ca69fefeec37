//! Just enough of XML to see where elements and attributes lie: no entities beyond the five, no external anything.

/// One element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name as written, prefix included.
    pub tag: String,
    /// Names of its attributes.
    pub attributes: Vec<String>,
    /// The elements in it.
    pub children: Vec<Element>,
}

/// How deep elements may lie in one another.
const DEPTH: usize = 64;

/// The root element of a document; `None` when it is not well-formed.
pub fn parse(text: &str) -> Option<Element> {
    let mut stack: Vec<Element> = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut root = None;
    while let Some(at) = rest.find('<') {
        rest = rest.get(at..)?;
        if let Some(skipped) = skip(rest) {
            rest = skipped?;
            continue;
        }
        let end = end_of_tag(rest)?;
        let inner = rest.get(1..end)?;
        rest = rest.get(end + 1..)?;
        if let Some(name) = inner.strip_prefix('/') {
            let element = stack.pop()?;
            if element.tag != name.trim() {
                return None;
            }
            place(element, &mut stack, &mut root)?;
            continue;
        }
        let (inner, closed) = inner.strip_suffix('/').map_or((inner, false), |inner| (inner, true));
        let element = opened(inner)?;
        if stack.len() >= DEPTH {
            return None;
        }
        if closed { place(element, &mut stack, &mut root)? } else { stack.push(element) }
    }
    if stack.is_empty() { root } else { None }
}

fn place(element: Element, stack: &mut [Element], root: &mut Option<Element>) -> Option<()> {
    match stack.last_mut() {
        Some(parent) => parent.children.push(element),
        None if root.is_none() => *root = Some(element),
        None => return None,
    }
    Some(())
}

/// What follows a comment, declaration or character data that begins here; an inner nothing when it has no end.
fn skip(text: &str) -> Option<Option<&str>> {
    for (open, close) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")] {
        if text.starts_with(open) {
            return Some(text.find(close).and_then(|at| text.get(at + close.len()..)));
        }
    }
    None
}

/// Where a tag ends; quotes may hold `>`.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '>') => return Some(at),
            _ => {}
        }
    }
    None
}

fn opened(inner: &str) -> Option<Element> {
    let inner = inner.trim();
    let end = inner.find(char::is_whitespace).unwrap_or(inner.len());
    let tag = inner.get(..end)?.to_owned();
    let mut attributes = Vec::new();
    let mut rest = inner.get(end..)?.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
        let (_, after) = after.get(1..)?.split_once(quote)?;
        attributes.push(name.trim().to_owned());
        rest = after.trim_start();
    }
    (!tag.is_empty()).then_some(Element { tag, attributes, children: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::{Element, parse};

    fn spoken(element: &Element) -> String {
        let inner: String = element.children.iter().map(spoken).collect();
        format!("({} {}{inner})", element.tag, element.attributes.join(" "))
    }

    #[test]
    fn elements_lie_in_one_another() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(parse(text).map(|root| spoken(&root)).as_deref(), expected, "{text}");
        };
        check("<?xml version='1.0'?><a x='1'><b/><c y=\">\">t</c></a>", Some("(a x(b )(c y))"));
        check("<a><!-- <b> --><![CDATA[<c>]]></a>", Some("(a )"));
        check("<a><b></a>", None);
        check("<a/><b/>", None);
        check("<a", None);
    }
}
