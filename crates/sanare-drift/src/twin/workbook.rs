//! The smallest workbook that readers take: one sheet, texts in place, stored without compression.

use super::cells::Column;
use crate::profile::Kind;

/// A workbook of one sheet: notes above, names, made-up rows.
pub fn write(title: &str, above: usize, columns: &[Column], rows: usize) -> Vec<u8> {
    let mut sheet = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>",
    );
    for line in 0..above {
        sheet.push_str(&format!(
            "<row r=\"{}\">{}</row>",
            line + 1,
            text_cell(0, line + 1, &format!("note {}", line + 1))
        ));
    }
    let names: String =
        columns.iter().enumerate().map(|(place, column)| text_cell(place, above + 1, &column.name)).collect();
    sheet.push_str(&format!("<row r=\"{}\">{names}</row>", above + 1));
    for row in 0..rows {
        let at = above + 2 + row;
        let cells: String = columns.iter().enumerate().map(|(place, column)| cell(column, place, at, row)).collect();
        sheet.push_str(&format!("<row r=\"{at}\">{cells}</row>"));
    }
    sheet.push_str("</sheetData></worksheet>");
    let title = escape(title);
    let files = [
        ("[Content_Types].xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"><Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Default Extension=\"xml\" ContentType=\"application/xml\"/><Override PartName=\"/xl/workbook.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml\"/><Override PartName=\"/xl/worksheets/sheet1.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml\"/><Override PartName=\"/xl/styles.xml\" ContentType=\"application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml\"/></Types>".to_owned()),
        ("_rels/.rels", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>".to_owned()),
        ("xl/workbook.xml", format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><workbook xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\" xmlns:r=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships\"><sheets><sheet name=\"{title}\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>")),
        ("xl/_rels/workbook.xml.rels", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship Id=\"rId1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet\" Target=\"worksheets/sheet1.xml\"/><Relationship Id=\"rId2\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles\" Target=\"styles.xml\"/></Relationships>".to_owned()),
        ("xl/styles.xml", "<?xml version=\"1.0\" encoding=\"UTF-8\"?><styleSheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><fonts count=\"1\"><font><sz val=\"11\"/></font></fonts><fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill><fill><patternFill patternType=\"gray125\"/></fill></fills><borders count=\"1\"><border/></borders><cellStyleXfs count=\"1\"><xf/></cellStyleXfs><cellXfs count=\"2\"><xf/><xf numFmtId=\"22\" applyNumberFormat=\"1\"/></cellXfs></styleSheet>".to_owned()),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    zip(&files)
}

fn cell(column: &Column, place: usize, at: usize, row: usize) -> String {
    let kind = column.profile.as_ref().map(|profile| (profile.type_name.clone(), profile.kind()));
    match kind {
        Some((name, _)) if name.contains("date") => {
            format!("<c r=\"{}{at}\" s=\"1\"><v>{}</v></c>", letters(place), [44259, 44280, 44165, 44288][row % 4])
        }
        Some((name, Kind::Number)) if name != "str" => match column.cell(row) {
            text if text.is_empty() => String::new(),
            text => format!("<c r=\"{}{at}\"><v>{text}</v></c>", letters(place)),
        },
        None if column.uses.iter().any(crate::code::table_uses::Use::is_number) => {
            format!("<c r=\"{}{at}\"><v>{}</v></c>", letters(place), column.cell(row))
        }
        _ => match column.cell(row) {
            text if text.is_empty() => String::new(),
            text => text_cell(place, at, &text),
        },
    }
}

fn text_cell(place: usize, at: usize, text: &str) -> String {
    format!("<c r=\"{}{at}\" t=\"inlineStr\"><is><t>{}</t></is></c>", letters(place), escape(text))
}

/// The letters of a column: A, B, ..., Z, AA.
fn letters(place: usize) -> String {
    let mut letters = String::new();
    let mut rest = place + 1;
    while rest > 0 {
        letters.insert(0, char::from(b'A' + u8::try_from((rest - 1) % 26).unwrap_or_default()));
        rest = (rest - 1) / 26;
    }
    letters
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// An archive of stored entries.
fn zip(files: &[(&str, String)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut directory = Vec::new();
    for (name, text) in files {
        let offset = number(out.len());
        let size = number(text.len());
        let mut entry = Vec::new();
        entry.extend([20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x52]);
        entry.extend(checksum(text.as_bytes()).to_le_bytes());
        entry.extend(size);
        entry.extend(size);
        entry.extend(u16::try_from(name.len()).unwrap_or_default().to_le_bytes());
        entry.extend([0, 0]);
        out.extend(b"PK\x03\x04");
        out.extend(&entry);
        out.extend(name.as_bytes());
        out.extend(text.as_bytes());
        directory.extend(b"PK\x01\x02");
        directory.extend([20, 0]);
        directory.extend(&entry);
        directory.extend([0; 10]);
        directory.extend(offset);
        directory.extend(name.as_bytes());
    }
    let start = number(out.len());
    let count = u16::try_from(files.len()).unwrap_or_default().to_le_bytes();
    let size = number(directory.len());
    out.extend(&directory);
    out.extend(b"PK\x05\x06");
    out.extend([0; 4]);
    out.extend(count);
    out.extend(count);
    out.extend(size);
    out.extend(start);
    out.extend([0, 0]);
    out
}

fn number(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or_default().to_le_bytes()
}

/// CRC-32 as archives use it.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::{Column, write};
    use crate::table::book;

    #[test]
    fn readers_take_it() {
        let columns = [Column { name: "place & <x>".into(), uses: Vec::new(), profile: None, letter: None, shift: 0 }];
        let sheets = book::read(&write("Sales", 1, &columns, 2)).expect("a workbook");
        assert_eq!(sheets[0].name, "Sales");
        assert_eq!(crate::table::cell_text(&sheets[0].rows[1][0]), "place & <x>");
        assert_eq!(sheets[0].rows.len(), 4);
    }
}
