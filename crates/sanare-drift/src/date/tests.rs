//! Columns of dates and what is decided about them.

use super::{Undecided, decide};
use crate::profile::Profile;

fn check(values: &[&str], old: Option<&str>, expected: &str) {
    check_with(values, old, None, expected);
}

fn check_with(values: &[&str], old: Option<&str>, remembered: Option<&Profile>, expected: &str) {
    let found = match decide(values, old, remembered) {
        Ok(decided) => decided.formats.join(" | "),
        Err(Undecided::NoValues) => "no values".to_owned(),
        Err(Undecided::NotDates(at)) => format!("not dates {at:?}"),
        Err(Undecided::DayOrMonth(one, other)) => format!("{one} or {other}"),
        Err(Undecided::Century) => "century".to_owned(),
        Err(Undecided::Epoch(unit)) => format!("epoch {unit}"),
        Err(Undecided::ExcelSerial) => "excel serial".to_owned(),
        Err(Undecided::Zone(_)) => "zone".to_owned(),
        Err(Undecided::Mixed(_)) => "mixed".to_owned(),
    };
    assert_eq!(found, expected, "{values:?} after {old:?}");
}

#[test]
fn one_survivor() {
    check(&["15.01.2026", "16.02.2026"], Some("%Y-%m-%d"), "%d.%m.%Y");
    check(&["2026-01-05"], Some("%d.%m.%Y"), "%Y-%m-%d");
    check(&["2026/1/5"], None, "%Y/%m/%d");
    check(&["01/13/2024", "02/01/2024"], Some("%d/%m/%Y"), "%m/%d/%Y");
    check(&["13/01/2024", "1/2/2024"], None, "%d/%m/%Y");
    check(&["2024.01.15.", "2024.02.03."], None, "%Y.%m.%d.");
    check(&["2024. 01. 15.", "2024. 02. 03."], None, "%Y. %m. %d.");
    check(&["20210602", "20210531"], None, "%Y%m%d");
    check(&["31012024", "01022024"], None, "%d%m%Y");
    check(&["15 Jan 2024", "03 Feb 2024"], None, "%d %b %Y");
    check(&["15-Jan-2024", "02-May-2024"], None, "%d-%b-%Y");
    check(&["January 5, 2024", "May 6, 2024"], None, "%B %d, %Y");
    check(&["May 6, 2024", "January 5, 2024"], None, "%B %d, %Y");
    check(&["Mon, 15 Jan 2024"], None, "%a, %d %b %Y");
    check(&["2024-05", "2024-06"], None, "%Y-%m");
    check(&["05/2024"], None, "%m/%Y");
}

#[test]
fn times_and_zones() {
    check(&["2024-01-15 10:00:00", "2024-01-15 10:00:59.5"], None, "%Y-%m-%d %H:%M:%S | %Y-%m-%d %H:%M:%S.%f");
    check(&["2024-02-01", "2024-02-01 18:30"], None, "%Y-%m-%d | %Y-%m-%d %H:%M");
    check(&["2024-02-01T18:30:00Z"], None, "%Y-%m-%dT%H:%M:%S%z");
    check(&["2024-02-01T18:30:00+02:00"], Some("%Y-%m-%dT%H:%M:%S%z"), "%Y-%m-%dT%H:%M:%S%z");
    check(&["2024-02-01T18:30:00.000Z"], Some("%Y-%m-%dT%H:%M:%SZ"), "%Y-%m-%dT%H:%M:%S.%fZ");
    check(&["2024-02-01T18:30:00+02:00"], Some("%Y-%m-%dT%H:%M:%SZ"), "zone");
    check(&["2024-02-01T18:30:00Z"], Some("%Y-%m-%d %H:%M:%S"), "zone");
    check(&["2024-02-01 18:30:00"], Some("%Y-%m-%dT%H:%M:%SZ"), "zone");
    check(&["2024-11-12 17:00:00 UTC"], Some("%Y-%m-%dT%H:%M:%SZ"), "%Y-%m-%d %H:%M:%S UTC");
    check(&["10/26/2014 02:12:00 PM", "10/27/2014 12:12:00 AM"], None, "%m/%d/%Y %I:%M:%S %p");
    check(&["20240131T101500Z"], None, "%Y%m%dT%H%M%S%z");
    check(&["2024-02-01 25:00"], None, "not dates [0]");
    check(&["2024-02-01T10:00:00.123456789"], None, "not dates [0]");
    check(&["2024-02-01 10:00 PM", "2024-02-01 10:00"], None, "mixed");
}

#[test]
fn day_and_month_are_never_guessed() {
    check(&["1/2/2024"], None, "%d/%m/%Y or %m/%d/%Y");
    check(&["05.06.2026", "07.08.2026"], Some("%Y-%m-%d"), "%d.%m.%Y or %m.%d.%Y");
    check(&["10/08/2018", "11/08/2018"], Some("%d/%m/%y"), "%d/%m/%Y");
    check(&["10/08/2018", "11/08/2018"], Some("%m/%d/%y"), "%m/%d/%Y");
    // Other separators: the old order says nothing.
    check(&["10/08/2018", "11/08/2018"], Some("%d.%m.%Y"), "%d/%m/%Y or %m/%d/%Y");
    check(&["13/08/2018", "08/13/2018"], None, "mixed");
    check(&["01022024", "02032024"], None, "%d%m%Y or %m%d%Y");
    // Every fourth day, over the end of a year: in order as day first only.
    let days = ["30/11/2023", "04/12/2023", "08/12/2023", "12/12/2023"];
    check(&days, None, "%d/%m/%Y");
    let weeks = [
        "08/11/2023",
        "12/11/2023",
        "01/12/2023",
        "03/12/2023",
        "07/12/2023",
        "11/12/2023",
        "02/01/2024",
        "06/01/2024",
        "10/01/2024",
    ];
    check(&weeks, None, "%d/%m/%Y");
    // The same, sorted as text: month first would be in order whatever is meant.
    let sorted = [
        "01/02/2024",
        "01/03/2024",
        "02/01/2024",
        "02/05/2024",
        "03/01/2024",
        "04/01/2024",
        "04/09/2024",
        "05/01/2024",
    ];
    check(&sorted, None, "%d/%m/%Y or %m/%d/%Y");
}

#[test]
fn two_digit_years_need_a_window() {
    check(&["02.01.24", "29.12.23"], Some("%d.%m.%Y"), "century");
    check(&["02.01.24", "29.12.23"], Some("%d.%m.%y"), "%d.%m.%y");
    let remembered = Profile::of_texts(["03.04.2023", "28.03.2023"].into_iter());
    check_with(&["02.01.24", "29.12.23"], Some("%d.%m.%Y"), Some(&remembered), "%d.%m.%y");
    let born = Profile::of_texts(["03.04.1953", "28.03.1967"].into_iter());
    check_with(&["02.01.24", "29.12.53"], Some("%d.%m.%Y"), Some(&born), "century");
    check(&["31.12.23", "30.11.23"], None, "%d.%m.%y or %y.%m.%d");
}

#[test]
fn counts_are_reported_not_guessed() {
    check(&["1609166109", "1609160400"], None, "epoch s");
    check(&["1609166109123"], None, "epoch ms");
    check(&["1609166109123456"], None, "epoch us");
    check(&["45292", "45323"], None, "excel serial");
    check(&["12", "13"], None, "not dates [0, 1]");
    check(&["2024-02-30"], None, "not dates [0]");
    check(&["yesterday", "2024-02-01"], None, "not dates [0]");
    check(&["1.234"], None, "not dates [0]");
    check(&["10.0.0.1"], None, "not dates [0]");
    check(&[], None, "no values");
}
