//! An XML document whose former root now lies in a new one.
//!
//! What it does: goes from the new root to the one element in it that has what the code reads from the root.
//! Why: the new root has none of it, and exactly one element below has all of it.
//! Unsafe when: there are several; then it refuses, and the code that it writes raises.

use sanare_core::outcome::Reason;
use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Expr, Stmt};
use sanare_source::size::{Ranged, TextRange};

use crate::code::object_view::{Scene, effective};
use crate::code::object_write::{Draft, bare, comment_lines, literal};
use crate::code::object_xml::{Element, parse};
use crate::kind::Subject;
use crate::problem::{Answer, Refusal, Tier};

use super::object::layer;

pub(crate) fn answer(subject: &Subject) -> Option<Answer> {
    let scene = Scene::of(subject);
    let failure = effective(scene);
    let class = failure.class.rsplit('.').next().unwrap_or_default();
    if !matches!(class, "KeyError" | "AttributeError" | "TypeError" | "IndexError") {
        return None;
    }
    let binding = root_binding(scene)?;
    let text = document(scene)?;
    let root = parse(&text)?;
    let wanted = Wanted::of(scene, &binding.name);
    if wanted.attributes.is_empty() && wanted.children.is_empty() || wanted.has_any(&root) {
        return None;
    }
    let mut found: Vec<Vec<&Element>> = Vec::new();
    below(&root, &mut Vec::new(), &wanted, &mut found);
    let path = match found.as_slice() {
        [only] => only,
        [] => return None,
        many => {
            return Some(Answer::Refused(Refusal {
                reason: Reason::Ambiguous,
                summary: format!("{} elements could be the former root", many.len()),
                fields: Vec::new(),
                hint: String::new(),
            }));
        }
    };
    let last = path.last()?;
    if last.tag == root.tag
        || last.tag.contains(':')
        || root.tag.contains(':')
        || root.attributes.iter().any(|name| name.starts_with("xmlns"))
    {
        return None;
    }
    let steps: Vec<String> = path.iter().map(|element| element.tag.clone()).collect();
    let name = &binding.name;
    let inner = literal(&steps.join("/"));
    let mut lines = vec![format!("if {name}.tag == {}:", literal(&root.tag))];
    lines.extend(comment_lines(&format!("{} now lies inside {}", last.tag, root.tag), "    "));
    lines.push(format!("    inner = {name}.findall({inner})"));
    lines.push("    if len(inner) != 1:".into());
    lines.push(format!("        raise {class}(\"{} does not hold exactly one {}\")", bare(&root.tag), bare(&last.tag)));
    lines.push(format!("    {name} = inner[0]"));
    let mut draft = Draft::new(scene);
    let lines: Vec<String> = lines.iter().map(|line| draft.quoted(line)).collect();
    draft.after(binding.statement, &lines);
    let summary = format!("{} now lies inside {}", last.tag, root.tag);
    let evidence = format!(
        "the one element that has {}",
        wanted.attributes.iter().chain(&wanted.children).cloned().collect::<Vec<_>>().join(", ")
    );
    layer("object_xml", draft.finish(), Tier::A, summary, vec![evidence], Vec::new())
}

struct Binding {
    name: String,
    statement: TextRange,
}

/// `root = ET.parse(…).getroot()` or `root = ET.fromstring(…)`: the one such statement of the target.
fn root_binding(scene: Scene) -> Option<Binding> {
    struct Finder<'a> {
        scene: Scene<'a>,
        found: Vec<Binding>,
    }
    impl<'a> Visitor<'a> for Finder<'a> {
        fn visit_stmt(&mut self, statement: &'a Stmt) {
            if let Stmt::Assign(assign) = statement
                && let [Expr::Name(name)] = assign.targets.as_slice()
                && let Expr::Call(call) = &*assign.value
            {
                let function = self.scene.source.slice(&*call.func);
                if function.ends_with(".getroot") || function.ends_with("fromstring") || function.ends_with("ET.XML") {
                    self.found.push(Binding { name: name.id.to_string(), statement: statement.range() });
                }
            }
            walk_stmt(self, statement);
        }
    }
    let mut finder = Finder { scene, found: Vec::new() };
    for statement in &scene.target.body {
        finder.visit_stmt(statement);
    }
    let only = finder.found.pop()?;
    finder.found.is_empty().then_some(only)
}

/// The text of the one argument that is an XML document.
fn document(scene: Scene) -> Option<String> {
    let mut found = scene.problem.arguments.iter().filter_map(|argument| {
        let text = match &argument.file {
            Some(file) if file.complete => String::from_utf8(file.bytes.clone()).ok()?,
            Some(_) => return None,
            None => argument.value.as_text()?.to_owned(),
        };
        text.trim_start_matches('\u{feff}').trim_start().starts_with('<').then_some(text)
    });
    let only = found.next()?;
    found.next().is_none().then_some(only)
}

/// What the code reads straight from the root.
#[derive(Default)]
struct Wanted {
    attributes: Vec<String>,
    children: Vec<String>,
    name: String,
}

impl Wanted {
    fn of(scene: Scene, name: &str) -> Self {
        let mut wanted = Self { name: name.to_owned(), ..Self::default() };
        for statement in &scene.target.body {
            wanted.visit_stmt(statement);
        }
        wanted
    }

    fn has_any(&self, element: &Element) -> bool {
        self.attributes.iter().any(|name| element.attributes.contains(name))
            || self.children.iter().any(|name| element.children.iter().any(|child| child.tag == *name))
    }

    fn has_all(&self, element: &Element) -> bool {
        let attributes = self.attributes.iter().all(|name| element.attributes.contains(name));
        let children =
            self.children.iter().filter(|name| element.children.iter().any(|child| child.tag == **name)).count();
        attributes && if self.attributes.is_empty() { children == self.children.len() } else { true }
    }

    fn is_root(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Name(name) if name.id == self.name)
    }
}

impl<'a> Visitor<'a> for Wanted {
    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Subscript(subscript) => {
                if let (Expr::Attribute(attribute), Expr::StringLiteral(key)) = (&*subscript.value, &*subscript.slice)
                    && attribute.attr.as_str() == "attrib"
                    && self.is_root(&attribute.value)
                {
                    self.attributes.push(key.value.to_str().to_owned());
                }
            }
            Expr::Call(call) => {
                if let (Expr::Attribute(attribute), Some(Expr::StringLiteral(path))) =
                    (&*call.func, call.arguments.args.first())
                    && self.is_root(&attribute.value)
                    && matches!(attribute.attr.as_str(), "find" | "findall" | "findtext" | "iterfind")
                {
                    let path = path.value.to_str().trim_start_matches("./");
                    let first = path.split('/').next().unwrap_or_default();
                    if !first.is_empty() && !first.contains(['.', '*', '{', '[', '@']) {
                        self.children.push(first.to_owned());
                    }
                }
            }
            _ => {}
        }
        walk_expr(self, expr);
    }
}

fn below<'e>(element: &'e Element, path: &mut Vec<&'e Element>, wanted: &Wanted, found: &mut Vec<Vec<&'e Element>>) {
    for child in &element.children {
        path.push(child);
        if wanted.has_all(child) {
            found.push(path.clone());
        } else if path.len() < 4 {
            below(child, path, wanted, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use crate::kind::object_cases::{Case, check};

    fn suite(new: &'static str) -> Case<'static> {
        Case {
            source: "import xml.etree.ElementTree as ET\n\n\ndef load(data):\n    suite = ET.parse(data).getroot()\n    return int(suite.attrib[\"tests\"]), len(suite.findall(\"testcase\"))\n",
            old: "",
            new,
            error: "KeyError: 'tests'",
            at: "attrib",
            file: true,
        }
    }

    #[test]
    fn the_former_root_is_found() {
        let parts = ["if suite.tag == \"testsuites\":", "inner = suite.findall(\"testsuite\")", "suite = inner[0]"];
        check(&suite("<testsuites><testsuite tests=\"4\"><testcase/></testsuite></testsuites>"), &parts);
        check(&suite("<a><b><c tests=\"4\"/></b></a>"), &["inner = suite.findall(\"b/c\")"]);
        let channel = Case {
            source: "import xml.etree.ElementTree as ET\n\n\ndef load(data):\n    root = ET.fromstring(data)\n    return root.find(\"channel\").find(\"title\").text\n",
            error: "AttributeError: 'NoneType' object has no attribute 'find'",
            at: "channel",
            file: false,
            ..suite("<feed><rss><channel><title>b</title></channel></rss></feed>")
        };
        check(&channel, &["if root.tag == \"feed\":", "inner = root.findall(\"rss\")"]);
    }

    #[test]
    fn two_or_none_are_refused() {
        check(&suite("<testsuites><testsuite tests=\"4\"/><testsuite tests=\"5\"/></testsuites>"), &["ambiguous: "]);
        check(&suite("<testsuites><testsuite errors=\"4\"/></testsuites>"), &["no_proposer: "]);
    }
}
