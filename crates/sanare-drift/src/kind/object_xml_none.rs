//! An element that some entries of an XML document do not have.
//!
//! What it does: gives `None` where the element is not there, and only where its text goes into the result as it is.
//! Why: other entries of the same name have it.
//! Unsafe when: the code computes with the text; then it refuses.

use sanare_core::outcome::Reason;
use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Expr, ExprCall, Stmt};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_view::{Scene, effective};
use crate::code::object_write::{Draft, bare};
use crate::code::object_xml::{Element, parse};
use crate::kind::Subject;
use crate::problem::{Answer, Refusal, Tier};

use super::object::layer;
use super::object_xml::document;

pub(crate) fn answer(subject: &Subject) -> Option<Answer> {
    let scene = Scene::of(subject);
    let failure = effective(scene);
    if !failure.class.ends_with("AttributeError") || !failure.message.starts_with("'NoneType' object has no attribute")
    {
        return None;
    }
    let line = failure.frames.iter().rev().map(|frame| frame.line).find(|line| *line > 0)?;
    let root = parse(&document(scene)?)?;
    let mut finder = Finds { scene, line, found: Vec::new(), stored: Vec::new() };
    for statement in &scene.target.body {
        finder.visit_stmt(statement);
    }
    let partial: Vec<&Found> = finder.found.iter().filter(|found| in_some(&root, &found.tag)).collect();
    let [found] = partial.as_slice() else { return None };
    let whole = [found.outer, found.inner].into_iter().flatten().find(|range| finder.stored.contains(range));
    let Some(range) = whole else {
        return Some(Answer::Refused(Refusal {
            reason: Reason::MissingField,
            summary: format!("`{}` is not in every entry, and the code computes with it", found.tag),
            fields: Vec::new(),
            hint: String::new(),
        }));
    };
    let mut draft = Draft::new(scene);
    let text = draft.text(range);
    let find = draft.text(found.find);
    draft.replace(range, format!("({text} if {find} is not None else None)"));
    let comment = format!("{} is left out of entries that do not have it", bare(&found.tag));
    draft.note(range, &comment);
    let evidence = vec![format!("other entries have `{}`", found.tag)];
    layer("object_xml_none", draft.finish(), Tier::B, comment, evidence, Vec::new())
}

/// `x.find("tag").text`, its conversion around it, and the call of `find`.
struct Found {
    tag: String,
    find: TextRange,
    inner: Option<TextRange>,
    outer: Option<TextRange>,
}

struct Finds<'a> {
    scene: Scene<'a>,
    line: usize,
    found: Vec<Found>,
    stored: Vec<TextRange>,
}

impl<'a> Finds<'a> {
    fn note(&mut self, expr: &'a Expr, outer: Option<TextRange>) {
        let Expr::Attribute(attribute) = expr else { return };
        let Expr::Call(call) = &*attribute.value else { return };
        let line = |offset: usize| self.scene.source.line(offset);
        let range = expr.range();
        let on_line = (line(range.start().to_usize())..=line(range.end().to_usize())).contains(&self.line);
        if let (true, "text" | "tail", Some(tag)) = (on_line, attribute.attr.as_str(), find_tag(call)) {
            self.found.retain(|found| found.inner != Some(range));
            self.found.push(Found { tag, find: call.range(), inner: Some(range), outer });
        }
    }
}

fn find_tag(call: &ExprCall) -> Option<String> {
    match (&*call.func, &*call.arguments.args) {
        (Expr::Attribute(attribute), [Expr::StringLiteral(tag)]) if attribute.attr.as_str() == "find" => {
            let tag = tag.value.to_str();
            (!tag.contains(['/', '[', '*', '{'])).then(|| tag.to_owned())
        }
        _ => None,
    }
}

impl<'a> Visitor<'a> for Finds<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Return(back) = statement
            && let Some(value) = &back.value
        {
            self.stored.push(value.range());
        }
        if let Stmt::Assign(assign) = statement
            && matches!(assign.targets.first(), Some(Expr::Subscript(_)))
        {
            self.stored.push(assign.value.range());
        }
        walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Dict(dict) => self.stored.extend(dict.items.iter().map(|item| item.value.range())),
            Expr::List(list) => self.stored.extend(list.elts.iter().map(Ranged::range)),
            Expr::Tuple(tuple) => self.stored.extend(tuple.elts.iter().map(Ranged::range)),
            Expr::ListComp(list) => self.stored.push(list.elt.range()),
            Expr::DictComp(dict) => self.stored.push(dict.value.range()),
            Expr::Call(call) => {
                if matches!(&*call.func, Expr::Attribute(attribute) if attribute.attr.as_str() == "append") {
                    self.stored.extend(call.arguments.args.iter().map(Ranged::range));
                }
                let converts = matches!(&*call.func, Expr::Name(name) if matches!(name.id.as_str(), "int" | "float"));
                if let (true, [only]) = (converts, &*call.arguments.args) {
                    self.note(only, Some(call.range()));
                    walk_expr(self, &call.func);
                    return;
                }
            }
            Expr::Attribute(_) => self.note(expr, None),
            _ => {}
        }
        walk_expr(self, expr);
    }
}

/// Whether some elements of one name have a child of this name and others have none.
fn in_some(root: &Element, tag: &str) -> bool {
    let mut parents: Vec<(&str, bool)> = Vec::new();
    collect(root, tag, &mut parents);
    parents.iter().any(|(name, has)| *has && parents.iter().any(|(other, lacks)| other == name && !lacks))
}

fn collect<'e>(element: &'e Element, tag: &str, parents: &mut Vec<(&'e str, bool)>) {
    parents.push((&element.tag, element.children.iter().any(|child| child.tag == tag)));
    element.children.iter().for_each(|child| collect(child, tag, parents));
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn items(source: &'static str, new: &'static str) -> Case<'static> {
        let error = "AttributeError: 'NoneType' object has no attribute 'text'";
        Case { source, old: "", new, error, at: "price", file: true }
    }

    const STORED: &str = "import xml.etree.ElementTree as ET\n\n\ndef load(data):\n    root = ET.parse(data).getroot()\n    return [{\"price\": i.find(\"price\").text} for i in root.iter(\"item\")]\n";
    const FLOAT: &str = "import xml.etree.ElementTree as ET\n\n\ndef load(data):\n    root = ET.parse(data).getroot()\n    return [float(i.find(\"price\").text) for i in root.iter(\"item\")]\n";
    const SUM: &str = "import xml.etree.ElementTree as ET\n\n\ndef load(data):\n    root = ET.parse(data).getroot()\n    return sum(float(i.find(\"price\").text) for i in root.iter(\"item\"))\n";
    const SOME: &str = "<r><item><price>1</price></item><item/></r>";

    #[test]
    fn none_goes_where_the_text_would_go() {
        let kept = "if i.find(\"price\") is not None else None)";
        check(&items(STORED, SOME), &["(i.find(\"price\").text ", kept]);
        check(&items(FLOAT, SOME), &["(float(i.find(\"price\").text) ", kept]);
        check(&items(SUM, SOME), &["missing_field: "]);
        check(&items(STORED, "<r><item/><item/></r>"), &["no_proposer: "]);
    }
}
