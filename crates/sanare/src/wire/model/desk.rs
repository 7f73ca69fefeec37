//! What a model is shown of the source: the function, what it calls, what it imports, the head of its class.

use std::collections::BTreeSet;

use sanare_core::evidence::Evidence;
use sanare_source::ast::visitor::{Visitor, walk_expr, walk_stmt};
use sanare_source::ast::{Expr, Stmt, StmtFunctionDef};
use sanare_source::parse::Source;
use sanare_source::size::Ranged as _;

use super::secrets::Secrets;

/// Texts of the module, secrets masked.
#[derive(Clone, Debug)]
pub struct Desk {
    /// The function at the margin.
    pub source: String,
    /// From `def` to the colon.
    pub signature: String,
    /// `function`, `generator` and so on.
    pub kind: &'static str,
    /// Functions of the module that it calls.
    pub called: Vec<(String, String)>,
    /// Imports of the file, and module names that the function reads.
    pub imports: Vec<String>,
    /// The head of a method's class.
    pub class_header: String,
    /// The secrets, to put them back.
    pub secrets: Secrets,
}

impl Desk {
    /// Reads the module; `None` if the function is not in it once its secrets are masked.
    pub fn of(evidence: &Evidence, function: &str) -> Option<Self> {
        let (masked, secrets) = Secrets::of(&evidence.source);
        let source = Source::parse(&masked).ok()?;
        let target = source.function_at(function, evidence.first_line)?;
        let mut uses = Uses::default();
        target.body.iter().for_each(|statement| uses.visit_stmt(statement));
        let class = function.rsplit_once('.').map(|(class, _)| class).filter(|class| !class.ends_with("<locals>"));
        Some(Self {
            source: format!("{}\n", at_margin(&source, target)),
            signature: signature(&source, target),
            kind: match (target.is_async, uses.yields) {
                (false, false) => "function",
                (false, true) => "generator",
                (true, false) => "async function",
                (true, true) => "async generator",
            },
            called: called(&source, class, target, &uses),
            imports: imports(&source, &uses),
            class_header: class.map(|class| class_header(&source, class)).unwrap_or_default(),
            secrets,
        })
    }
}

fn at_margin(source: &Source, function: &StmtFunctionDef) -> String {
    let start = function.range().start().to_usize();
    let line = source.text().get(..start).map_or(0, |before| before.rfind('\n').map_or(0, |at| at + 1));
    let indent = source.text().get(line..start).filter(|indent| indent.trim().is_empty()).unwrap_or_default();
    sanare_source::flatten(&format!("{indent}{}", source.slice(function)))
}

fn signature(source: &Source, function: &StmtFunctionDef) -> String {
    let end = function.body.first().map_or(0, |first| first.range().start().to_usize());
    let name = function.name.range().start().to_usize();
    let head = source.text().get(name..end).unwrap_or_default();
    let head = head.rsplit_once(':').map_or(head, |(head, _)| head);
    let word = if function.is_async { "async def" } else { "def" };
    format!("{word} {}:", head.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn called(source: &Source, class: Option<&str>, target: &StmtFunctionDef, uses: &Uses<'_>) -> Vec<(String, String)> {
    let plain = uses.calls.iter().map(|name| (*name).to_owned());
    let methods = uses.methods.iter().filter_map(|name| class.map(|class| format!("{class}.{name}")));
    let mut found = Vec::new();
    for name in plain.chain(methods) {
        let functions = source.functions(&name);
        if let [only] = functions.as_slice()
            && only.range() != target.range()
        {
            found.push((name, at_margin(source, only)));
        }
    }
    found
}

fn imports(source: &Source, uses: &Uses<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for statement in source.body() {
        match statement {
            Stmt::Import(_) | Stmt::ImportFrom(_) => lines.push(source.slice(statement).to_owned()),
            Stmt::Assign(node) => {
                let read = node
                    .targets
                    .iter()
                    .any(|target| target.as_name_expr().is_some_and(|name| uses.names.contains(name.id.as_str())));
                if read {
                    lines.push(source.slice(statement).to_owned());
                }
            }
            _ => {}
        }
    }
    lines
}

fn class_header(source: &Source, class: &str) -> String {
    let last = class.rsplit('.').next().unwrap_or(class);
    let text = source.text();
    let line = text.lines().find(|line| {
        let line = line.trim_start();
        line.strip_prefix("class ")
            .is_some_and(|rest| rest.trim_start().split(['(', ':', '[', ' ']).next() == Some(last))
    });
    line.map(|line| line.trim().to_owned()).unwrap_or_default()
}

/// What a body reads and calls; the bodies of functions inside it included, their yields not.
#[derive(Default)]
struct Uses<'a> {
    names: BTreeSet<&'a str>,
    calls: BTreeSet<&'a str>,
    methods: BTreeSet<&'a str>,
    yields: bool,
    inside: usize,
}

impl<'a> Visitor<'a> for Uses<'a> {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        let own = usize::from(matches!(statement, Stmt::FunctionDef(_)));
        self.inside += own;
        walk_stmt(self, statement);
        self.inside -= own;
    }

    fn visit_expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Name(name) => {
                self.names.insert(name.id.as_str());
            }
            Expr::Yield(_) | Expr::YieldFrom(_) if self.inside == 0 => self.yields = true,
            Expr::Call(call) => match call.func.as_ref() {
                Expr::Name(name) => {
                    self.calls.insert(name.id.as_str());
                }
                Expr::Attribute(attribute) if attribute.value.as_name_expr().is_some_and(|n| n.id == "self") => {
                    self.methods.insert(attribute.attr.as_str());
                }
                _ => {}
            },
            _ => {}
        }
        let own = usize::from(matches!(expr, Expr::Lambda(_)));
        self.inside += own;
        walk_expr(self, expr);
        self.inside -= own;
    }
}

#[cfg(test)]
mod tests {
    use super::Desk;
    use sanare_core::evidence::Evidence;

    #[test]
    fn a_method_is_shown_with_what_it_needs() {
        let source = "import csv\nRATE = 2\nOTHER = 3\n\nclass Job(Base):\n    def read(self, row):\n        return row\n\n    \
                      def total(self, path: str,\n              more=1) -> int:\n        for row in rows(path):\n            \
                      yield self.read(row) * RATE\n\ndef rows(path):\n    return csv.reader(open(path))\n";
        let evidence = Evidence { source: source.to_owned(), ..Evidence::default() };
        let desk = Desk::of(&evidence, "Job.total").unwrap();
        assert!(
            desk.source.starts_with("def total(self, path: str,\n") && desk.source.contains("\n    for row"),
            "{}",
            desk.source
        );
        assert_eq!(desk.signature, "def total(self, path: str, more=1) -> int:");
        assert_eq!((desk.kind, desk.class_header.as_str()), ("generator", "class Job(Base):"));
        assert_eq!(desk.imports, ["import csv", "RATE = 2"]);
        let names: Vec<&str> = desk.called.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["rows", "Job.read"]);
        assert!(Desk::of(&evidence, "Job.gone").is_none());
    }
}
