//! The drift scenarios of C142 that are about tables: old and new input right, with memory and without.

#![allow(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout, missing_docs)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod harness;

use harness::{Case, Healed, run};
use std::path::Path;

/// Writes a loader and text inputs, heals, runs the healed source on both; the results, or why not.
fn heal(loader: &str, function: &str, old: &str, new: &str, remember: bool) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("loader.py"), loader).unwrap();
    for (name, text) in [("old.json", old), ("new.json", new)] {
        std::fs::write(path(name), serde_json::json!([["csv_text", ["s", text]]]).to_string()).unwrap();
    }
    let case = Case {
        loader: path("loader.py"),
        function: function.into(),
        kind: "twin".into(),
        old: path("old.json"),
        new: path("new.json"),
        remember,
    };
    told(case, folder.path())
}

fn told(case: Case, folder: &Path) -> String {
    match case.heal() {
        Healed::Source(source, layers) => {
            let healed = folder.join("healed.py");
            std::fs::write(&healed, &source).unwrap();
            let kinds: Vec<&str> = layers.iter().map(|layer| layer.kind.as_str()).collect();
            let result = |input: &Path| {
                run(&healed, &case.function, &case.kind, input).result.map(plain).unwrap_or_else(|f| f.message)
            };
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{source}");
            }
            format!("{} | {} | {}", kinds.join(", "), result(&case.old), result(&case.new))
        }
        Healed::Refused(refusal, _) => format!("refused {}", refusal.reason.code()),
        Healed::OldBroken(what, _, source) => format!("old differs: {what}\n{source}"),
    }
}

fn plain(value: sanare_core::value::Value) -> String {
    use sanare_core::value::Value;
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Text(text) => text,
        Value::List(items) => format!("[{}]", items.into_iter().map(plain).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) => {
            format!(
                "{{{}}}",
                entries
                    .into_iter()
                    .map(|(key, value)| format!("{key}: {}", plain(value)))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        other => format!("{other:?}"),
    }
}

const STANDARD: &str = r#"import csv
import io


def load_sales(csv_text):
    rows = list(csv.DictReader(io.StringIO(csv_text)))
    total = sum(int(row["amount"]) for row in rows)
    return {"total": total, "customers": sorted(row["customer"] for row in rows)}
"#;
const OLD: &str = "date,customer,amount\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n";
const BOTH: &str = "{total: 2000, customers: [Alfa Kft, Beta Zrt]}";

fn check(loader: &str, function: &str, old: &str, new: &str, expected: &str, first_call_too: bool) {
    for remember in if first_call_too { vec![true, false] } else { vec![true] } {
        let found = heal(loader, function, old, new, remember);
        let found = if expected == "refused" { found.split(' ').next().unwrap_or_default() } else { &found };
        assert_eq!(found, expected, "with memory: {remember}");
    }
}

#[test]
fn s01_headers_translated() {
    let new = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n";
    check(STANDARD, "load_sales", OLD, new, &format!("header_renamed | {BOTH} | {BOTH}"), true);
}

#[test]
fn s02_columns_reordered() {
    let loader = r#"import csv
import io


def load_sales(csv_text):
    reader = csv.reader(io.StringIO(csv_text))
    next(reader)
    total, customers = 0, []
    for row in reader:
        total += int(row[2])
        customers.append(row[1])
    return {"total": total, "customers": sorted(customers)}
"#;
    let new = "customer,amount,date\nAlfa Kft,1200,2026-01-05\nBeta Zrt,800,2026-01-06\n";
    check(loader, "load_sales", OLD, new, &format!("columns_moved | {BOTH} | {BOTH}"), false);
}

#[test]
fn s04_date_format() {
    let loader = r#"import csv
import io
from datetime import datetime


def monthly_totals(csv_text):
    totals = {}
    for row in csv.DictReader(io.StringIO(csv_text)):
        month = datetime.strptime(row["date"], "%Y-%m-%d").strftime("%Y-%m")
        totals[month] = totals.get(month, 0) + int(row["amount"])
    return totals
"#;
    let old = "date,customer,amount\n2026-01-15,Alfa,1200\n2026-02-16,Beta,800\n";
    let new = "date,customer,amount\n15.01.2026,Alfa,1200\n16.02.2026,Beta,800\n";
    let totals = "{2026-01: 1200, 2026-02: 800}";
    check(loader, "monthly_totals", old, new, &format!("date_format | {totals} | {totals}"), true);
}

#[test]
fn s05_fails_in_an_undecorated_function() {
    let loader = r#"import csv
import io


def read_row(row):
    return int(row["amount"]), row["customer"]


def load_sales(csv_text):
    total, customers = 0, []
    for row in csv.DictReader(io.StringIO(csv_text)):
        amount, customer = read_row(row)
        total += amount
        customers.append(customer)
    return {"total": total, "customers": sorted(customers)}
"#;
    let new = "datum,ugyfel,osszeg\n2026-01-05,Alfa Kft,1200\n2026-01-06,Beta Zrt,800\n";
    check(loader, "load_sales", OLD, new, &format!("header_renamed | {BOTH} | {BOTH}"), true);
}

#[test]
fn s07_good_and_bad_rows() {
    let loader = r#"import csv
import io


def load_sales(csv_text):
    total, customers, rejected = 0, [], 0
    for row in csv.DictReader(io.StringIO(csv_text)):
        try:
            amount = int(row["amount"])
        except (ValueError, TypeError):
            rejected += 1
            continue
        total += amount
        customers.append(row["customer"])
    return {"total": total, "customers": sorted(customers), "rejected": rejected}
"#;
    let new =
        "datum,ugyfel,osszeg\n2026-01-05,Alfa,1200\n2026-01-06,Gamma,N/A\n2026-01-07,Beta,800\n2026-01-08,Delta,\n";
    let old = "{total: 2000, customers: [Alfa Kft, Beta Zrt], rejected: 0}";
    let healed = "{total: 2000, customers: [Alfa, Beta], rejected: 2}";
    check(loader, "load_sales", OLD, new, &format!("header_renamed | {old} | {healed}"), true);
}

#[test]
fn s08_byte_order_mark_and_decimals() {
    let loader = STANDARD.replace("int(", "float(");
    let old = "amount,customer,date\n1200.50,Alfa Kft,2026-01-05\n799.50,Beta Zrt,2026-01-06\n";
    let new = "\u{feff}amount,customer,date\n\"1 200,50\",Alfa Kft,2026-01-05\n\"799,50\",Beta Zrt,2026-01-06\n";
    check(&loader, "load_sales", old, new, &format!("bom, number_format | {BOTH} | {BOTH}"), true);
}

#[test]
fn s10_and_s11_guards() {
    check(STANDARD, "load_sales", OLD, "datum,ugyfel\n2026-01-05,Alfa Kft\n2026-01-06,Beta Zrt\n", "refused", true);
    let decoy = "datum,ugyfel,rendeles_szam\n2026-01-05,Alfa Kft,5001\n2026-01-06,Beta Zrt,5002\n";
    check(STANDARD, "load_sales", OLD, decoy, "refused", true);
}

#[test]
fn s06_workbook_of_three_layers() {
    let folder = tempfile::tempdir().unwrap();
    let make = r#"
import sys, datetime, openpyxl
folder = sys.argv[1]
for name, title, rows in (
    ("old", "Sales", [["date", "customer", "amount"]]),
    ("new", "Ertekesites 2026", [["Havi jelentes"], [], ["datum", "ugyfel", "osszeg"]]),
):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows + [[datetime.date(2026, 1, 15), "Alfa Kft", 1200], [datetime.date(2026, 2, 16), "Beta Zrt", 800]]:
        sheet.append(row)
    book.save(folder + "/" + name + ".xlsx")
"#;
    let made = std::process::Command::new(harness::python()).args(["-c", make]).arg(folder.path()).status().unwrap();
    if !made.success() {
        eprintln!("skipped: openpyxl is not there");
        return;
    }
    let loader = r#"from openpyxl import load_workbook


def load_sales(path):
    sheet = load_workbook(path, data_only=True)["Sales"]
    rows = sheet.iter_rows(values_only=True)
    header = next(rows)
    records = [dict(zip(header, row)) for row in rows]
    total = sum(int(record["amount"]) for record in records)
    return {"total": total, "customers": sorted(record["customer"] for record in records)}
"#;
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("loader.py"), loader).unwrap();
    let case = Case {
        loader: path("loader.py"),
        function: "load_sales".into(),
        kind: "path".into(),
        old: path("old.xlsx"),
        new: path("new.xlsx"),
        remember: true,
    };
    assert_eq!(told(case, folder.path()), format!("sheet_renamed, header_row, header_renamed | {BOTH} | {BOTH}"));
}

#[test]
fn lines_above_and_another_delimiter_at_once() {
    let layers = |more: &str| format!("delimiter, header_row{more} | {BOTH} | {BOTH}");
    let below =
        |lines: &str| format!("{lines}date;customer;amount\n2026-01-05;Alfa Kft;1200\n2026-01-06;Beta Zrt;800\n");
    check(STANDARD, "load_sales", OLD, &below("Monthly report, 2026\n"), &layers(""), true);
    check(STANDARD, "load_sales", OLD, &below("Monthly report\nmade by: shop, Oslo\n\n"), &layers(""), true);
    let translated = "Report\ndatum;ugyfel;osszeg\n2026-01-05;Alfa Kft;1200\n2026-01-06;Beta Zrt;800\n";
    check(STANDARD, "load_sales", OLD, translated, &layers(", header_renamed"), true);
    // The delimiter of a table that two lines could head is nobody's guess.
    let two = below("amount;customer;date\n1;2;3\n");
    check(STANDARD, "load_sales", OLD, &two, "refused", true);
    // Neither is one under which the names are not all there.
    let gone = "Report 2026\ndate;customer\n2026-01-05;Alfa Kft\n";
    check(STANDARD, "load_sales", OLD, gone, "refused", true);
}
