//! Date and time came in two columns that the code joins, and now come in one.

use sanare_core::outcome::Reason;
use sanare_source::ast::{Expr, Operator};

use crate::code::table_reader::Form;
use crate::code::table_reads::{Key, Read, Via};
use crate::code::table_uses::{Becomes, Op};
use crate::code::write::Writer;
use crate::code::{called, text_of};
use crate::date;
use crate::engine::refused;
use crate::kind::{Layers, Subject};
use crate::names;
use crate::problem::{Answer, Mapping, Tier};
use crate::table::numbers::cells;
use crate::table::{Tables, View};

/// Words that a joined column may have in its name.
const MOMENT_WORDS: &[&str] = &["date", "time", "datetime", "timestamp", "local"];

/// Answers when two missing columns are joined to one moment, and one column of the new data holds moments.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if reader.form != Form::Dict || tables.code.has("moment") {
        return None;
    }
    let missing = tables.missing(subject.problem, at, view);
    let joined: Vec<(&Read, &str)> = tables
        .reads
        .all
        .iter()
        .filter(|read| read.reader == at && read.via == Via::Subscript)
        .filter(|read| matches!(&read.key, Key::Name(name) if missing.contains(name)))
        .filter_map(|read| {
            let uses = tables.code.uses(read);
            let [one] = uses.as_slice() else { return None };
            match one.becomes {
                Becomes::Date(Some(format)) if !one.ops.is_empty() && one.ops.iter().all(|op| *op == Op::Joined) => {
                    Some((read, format))
                }
                _ => None,
            }
        })
        .collect();
    let [(first, format), (second, other)] = joined.as_slice() else { return None };
    let (Key::Name(one), Key::Name(two)) = (&first.key, &second.key) else { return None };
    if format != other {
        return None;
    }
    let words = |name: &str| -> Vec<String> {
        names::canonical(name).tokens.into_iter().filter(|word| !MOMENT_WORDS.contains(&word.as_str())).collect()
    };
    if words(one) != words(two) {
        return None;
    }
    let moments: Vec<(usize, String)> =
        (0..view.header.len()).filter_map(|place| Some((place, moment_format(view, place)?))).collect();
    let [(place, new)] = moments.as_slice() else {
        if moments.len() > 1 {
            let listed: Vec<String> = moments.iter().map(|(place, _)| format!("`{}`", view.header[*place])).collect();
            return Some(refused(
                Reason::Ambiguous,
                &format!("`{one}` and `{two}` could stand joined in {}", listed.join(", ")),
            ));
        }
        return None;
    };
    let seen = view.header[*place].clone();
    if words(&seen) != words(one) {
        return Some(refused(Reason::NoIdentity, &format!("nothing says that `{seen}` holds `{one}` and `{two}`")));
    }
    let source = edit(tables, first, second, one, &seen, new);
    let mapping = |expected: &str| Mapping {
        expected: expected.to_owned(),
        seen: seen.clone(),
        evidence: vec!["I5 the same words beside date and time".into(), "S the only column of moments".into()],
        tier: Tier::B,
    };
    let summary = format!("{one} and {two} now come in one column, {seen}");
    Some(Layers::mapped("column_merged", source, vec![mapping(one), mapping(two)], summary))
}

/// The format of a column of dates with times.
fn moment_format(view: &View, place: usize) -> Option<String> {
    let cells = cells(view, place);
    let decided = date::decide(&cells, None, None).ok()?;
    let [format] = decided.formats.as_slice() else { return None };
    (format.contains("%M") && format.contains("%d") && !decided.zone && !decided.stripped).then(|| format.clone())
}

fn edit(tables: &Tables, first: &Read, second: &Read, one: &str, seen: &str, new: &str) -> Option<String> {
    let id = tables.code.tree.id(first.expr)?;
    let call = tables.code.tree.above(id).find_map(|(_, node)| match node {
        crate::code::tree::Node::Expr(Expr::Call(call)) => Some(call),
        _ => None,
    })?;
    let whole = call.arguments.find_positional(0)?.as_bin_op_expr()?;
    let plain =
        |expr: &Expr| text_of(expr).is_some() || std::ptr::eq(expr, first.expr) || std::ptr::eq(expr, second.expr);
    let inner = match &*whole.left {
        Expr::BinOp(left) => left.op == Operator::Add && plain(&left.left) && plain(&left.right),
        left => plain(left),
    };
    let row = tables.code.text(&*first.expr.as_subscript_expr()?.value);
    let same_row = tables.code.text(&*second.expr.as_subscript_expr()?.value) == row;
    if called(call).0 != "strptime"
        || call.arguments.args.len() != 2
        || whole.op != Operator::Add
        || !inner
        || !plain(&whole.right)
        || !same_row
    {
        return None;
    }
    let (function, old, format) = (
        tables.code.text(&*call.func),
        tables.code.text(&call.arguments.args[0]),
        tables.code.text(&call.arguments.args[1]),
    );
    let mut writer = Writer::new(&tables.code);
    writer.replace(call, format!("moment({row})"));
    let (name, seen, new) = (writer.quote(one), writer.quote(seen), writer.quote(new));
    writer.helper(&format!(
        "def moment({row}):\n    # date and time now come in one column\n    if {name} in {row}:\n        return {function}({old}, {format})\n    \
         return {function}({row}[{seen}], {new})"
    ));
    writer.finish()
}
