//! The bytes came in another encoding, or with a byte order mark. Strict UTF-8 first, then the one page that fits.

use sanare_core::outcome::Reason;

use crate::code::write::Writer;
use crate::code::{argument, called};
use crate::engine::refused;
use crate::kind::{Layers, Subject};
use crate::problem::Answer;
use crate::table::Tables;
use crate::table::encoding::Found;

/// Answers when the bytes are not what the code says.
pub fn answer(subject: &Subject) -> Option<Answer> {
    let tables = subject.tables();
    let (at, reader, view) = tables.first()?;
    if !reader.form.is_text() || tables.code.has("encoding_of") {
        return None;
    }
    match &view.encoding {
        Found::AsDeclared => None,
        Found::Bom if view.argument.file.is_none() => {
            let source = without_mark(tables, at);
            let summary = "the text now begins with a byte order mark".to_owned();
            Some(Layers::structural("bom", source, summary, vec!["U+FEFF before the first name".into()]))
        }
        Found::Bom if reader.form.is_frame() && reader.input.as_ref().is_none_or(|input| input.open().is_none()) => {
            None
        }
        Found::Bom => {
            let source = if view.declared_encoding == "utf-8" {
                named(tables, at, "utf-8-sig")
            } else {
                tried(tables, at, "utf-8-sig", &view.declared_encoding)
            };
            let summary = "the file now begins with a byte order mark".to_owned();
            Some(Layers::structural("bom", source, summary, vec!["bytes EF BB BF at the start".into()]))
        }
        Found::Other(python) => {
            let source = if *python == "utf-8" {
                tried(tables, at, "utf-8", &view.declared_encoding)
            } else {
                tried(tables, at, "utf-8", python)
            };
            let summary = format!("the file is now encoded in {python}, not in {}", view.declared_encoding);
            let evidence = vec![format!("{python} is the one encoding under which every byte is a fitting letter")];
            Some(Layers::structural("encoding", source, summary, evidence))
        }
        Found::Undecided(pages) if pages.is_empty() => {
            Some(refused(Reason::NotData, "the bytes are no text in any known encoding"))
        }
        Found::Undecided(pages) => {
            let said =
                format!("the bytes are not {}; {} read them differently", view.declared_encoding, pages.join(", "));
            Some(refused(Reason::Ambiguous, &said))
        }
    }
}

/// Text in memory: the mark is taken off.
fn without_mark(tables: &Tables, at: usize) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let root = tables.readers.get(at)?.input.as_ref()?.root;
    let mark = writer.quote("\u{feff}");
    writer.after(root, format!(".removeprefix({mark})"));
    let root_line = root;
    writer.comment(root_line, "the text may begin with a byte order mark");
    writer.finish()
}

/// Another constant encoding.
fn named(tables: &Tables, at: usize, encoding: &str) -> Option<String> {
    let mut writer = Writer::new(&tables.code);
    let quoted = writer.quote(encoding);
    let node = set(tables, at, &mut writer, &quoted)?;
    writer.comment(node, "the file may begin with a byte order mark");
    writer.finish()
}

/// The first encoding if every byte fits, else the second.
fn tried(tables: &Tables, at: usize, first: &str, second: &str) -> Option<String> {
    let reader = tables.readers.get(at)?;
    let path = match reader.input.as_ref()?.open() {
        Some(call) => match called(call) {
            ("open" | "read_text", Some(receiver))
                if !matches!(crate::code::dotted(receiver).as_deref(), Some("io" | "codecs")) =>
            {
                receiver
            }
            _ => argument(call, "file", 0)?,
        },
        None => argument(reader.call?, "filepath_or_buffer", 0)?,
    };
    let path = tables.code.text(path).to_owned();
    let mut writer = Writer::new(&tables.code);
    set(tables, at, &mut writer, &format!("encoding_of({path})"))?;
    writer.helper(&format!(
        "def encoding_of(path):\n    # files come in {} as well; {first} is tried first, since it takes nothing else\n    \
         encoding = \"{first}\"\n    try:\n        with open(path, encoding=encoding) as handle:\n            handle.read()\n    \
         except UnicodeDecodeError:\n        encoding = \"{second}\"\n    return encoding",
        if first.starts_with("utf-8") && second == tables.views.get(at)?.as_ref()?.declared_encoding { first } else { second },
    ));
    writer.finish()
}

/// Puts the value of `encoding=` where the file is opened; the call that got it.
fn set<'a>(
    tables: &Tables<'a>,
    at: usize,
    writer: &mut Writer,
    value: &str,
) -> Option<&'a sanare_source::ast::ExprCall> {
    let reader = tables.readers.get(at)?;
    let call = reader.input.as_ref()?.open().or(reader.call)?;
    let place = match called(call) {
        ("read_text", _) => 0,
        ("open", _) => 3,
        _ => usize::MAX,
    };
    match argument(call, "encoding", place) {
        Some(given) => writer.replace(given, value),
        None => match call.arguments.iter_source_order().last() {
            Some(last) => writer.after(last.value(), format!(", encoding={value}")),
            None => {
                use sanare_source::size::Ranged;
                writer.insert(call.arguments.range().end().to_usize() - 1, format!("encoding={value}"));
            }
        },
    }
    Some(call)
}
