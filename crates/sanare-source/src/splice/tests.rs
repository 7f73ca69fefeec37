//! Splicing: what moves and what does not.

#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;

use super::{SpliceError, splice};

fn check(old: &str, name: &str, candidate: &str, expected: &str) {
    let spliced = splice(old, name, 1, candidate).unwrap();
    assert_eq!(spliced.text, expected);
    assert_eq!(format!("{}{}{}", &old[..spliced.body_start], spliced.new_body, &old[spliced.body_end..]), expected);
}

#[test]
fn the_header_and_the_rest_stay() {
    check(
        "x = 1\n\n\n@a  # why\n@b(\n    1)\ndef f(x,  # first\n      y=2):  # colon\n    # about\n    return x  # end\n# after\ny = 2\n",
        "f",
        "@a\n@b(1)\ndef f(x, y=2):\n    # new\n    return y  # new end\n",
        "x = 1\n\n\n@a  # why\n@b(\n    1)\ndef f(x,  # first\n      y=2):  # colon\n    # new\n    return y  # new end\n# after\ny = 2\n",
    );
}

#[test]
fn a_method_takes_the_indentation_of_its_class() {
    check(
        "class A:\n    def f(self):\n        return 1\n\n    z = 2\n",
        "A.f",
        "def f(self):\n    if self:\n        return 2\n    # no\n    return \"\"\"\n  text\n\"\"\"\n",
        "class A:\n    def f(self):\n        if self:\n            return 2\n        # no\n        return \"\"\"\n  text\n\"\"\"\n\n    z = 2\n",
    );
}

#[test]
fn an_indented_candidate_is_taken_too() {
    check(
        "class A:\n  def f(self):\n    return 1\n",
        "A.f",
        "    def f(self):\n        for x in self:\n            yield f'''\n{x}\n'''\n",
        "class A:\n  def f(self):\n    for x in self:\n        yield f'''\n{x}\n'''\n",
    );
}

#[test]
fn tabs_form_feeds_and_odd_line_ends_in_strings_survive() {
    check(
        "def f(x):\n\tif x:\n\t\treturn '\u{2028}'\n\x0c\ndef g():\n\treturn 1\n\x0c\n# end",
        "g",
        "def g():\n    x = '\u{2028}\u{2029}\\\n    y'\n    if x:\n        # why\n        return (x,\n                2)\n",
        "def f(x):\n\tif x:\n\t\treturn '\u{2028}'\n\x0c\ndef g():\n\tx = '\u{2028}\u{2029}\\\n    y'\n\tif x:\n\t\t# why\n\t\treturn (x,\n\t\t        2)\n\x0c\n# end",
    );
}

#[test]
fn a_one_line_body_gets_lines_of_its_own() {
    check(
        "def f(): return 1\nx = 2\n",
        "f",
        "def f():\n    y = 3\n    return y\n",
        "def f():\n    y = 3\n    return y\nx = 2\n",
    );
    check(
        "class A:\n    def f(self): return 1;  # one\n",
        "A.f",
        "def f(self): return 2\n",
        "class A:\n    def f(self):\n        return 2\n",
    );
    check("def f():\n  return 1", "f", "def f(): x = 1; return x", "def f():\n  x = 1; return x");
    check("def f(): \\\n  return 1\n", "f", "def f():\n    return 2\n", "def f():\n    return 2\n");
}

#[test]
fn comments_after_the_body_survive() {
    check(
        "def f():\n    return 1\n    # trailing, deep\n  # shallow\n# margin\nx = 1\n",
        "f",
        "def f():\n    return 2\n",
        "def f():\n    return 2\n    # trailing, deep\n  # shallow\n# margin\nx = 1\n",
    );
}

#[test]
fn doubled_names_are_told_apart_by_line() {
    let old = "if x:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n";
    let spliced = splice(old, "f", 5, "def f():\n    return 3\n").unwrap();
    assert_eq!(spliced.text, "if x:\n    def f():\n        return 1\nelse:\n    def f():\n        return 3\n");
    assert!(matches!(splice(old, "f", 4, "def f():\n    return 3\n"), Err(SpliceError::NotFound(_))));
}

#[test]
fn what_cannot_be_spliced_is_refused() {
    assert!(matches!(splice("def f(:\n", "f", 1, "def f():\n    pass\n"), Err(SpliceError::File(_))));
    assert!(matches!(splice("def f():\n    pass\n", "f", 1, "def f(:\n"), Err(SpliceError::Candidate(_))));
    assert!(matches!(splice("def f():\n    pass\n", "g", 1, "def g():\n    pass\n"), Err(SpliceError::NotFound(_))));
    assert!(matches!(splice("def f():\n    pass\n", "f", 1, "x = 1\n"), Err(SpliceError::NotOneFunction(_))));
    assert!(matches!(
        splice("def f():\n    pass\n", "f", 1, "def g():\n    pass\n"),
        Err(SpliceError::NotOneFunction(_))
    ));
}

/// Statements that need nothing around them, with `%` for one level of indentation.
fn block() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("x = 1".to_owned()),
        Just("return (x,\n%%    y)".to_owned()),
        Just("s = '''a\n  b\n\tc'''".to_owned()),
        Just("t = f'''{x}\n   {y}'''".to_owned()),
        Just("# a comment".to_owned()),
        Just("if x:\n%y = 2\n%# inner\n%if y:\n%%z = '\\\n  q'".to_owned()),
        Just("try:\n%pass\nexcept (A,\nB):\n%raise".to_owned()),
        Just("q = '\u{2028}\u{a0}'".to_owned()),
        Just("".to_owned()),
    ];
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n") + "\npass\n")
}

fn write(block: &str, margin: &str, unit: &str) -> String {
    let mut out = String::new();
    let mut in_text = false;
    for line in block.split_inclusive('\n') {
        let quotes = line.matches("'''").count();
        if in_text || line.trim().is_empty() || line.starts_with("B):") || line == "  q'\n" {
            out.push_str(line);
        } else {
            out.push_str(margin);
            out.push_str(&line.replace('%', unit));
        }
        in_text ^= quotes % 2 == 1;
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn outside_the_body_every_byte_is_equal(
        before in block(),
        old in block(),
        new in block(),
        after in block(),
        unit in prop_oneof![Just("    "), Just("\t"), Just("  ")],
        new_unit in prop_oneof![Just("    "), Just("\t"), Just("  ")],
        method in any::<bool>(),
    ) {
        let (margin, name, class) = if method { (unit, "C.f", "class C:\n") } else { ("", "f", "") };
        let module = format!(
            "{}{class}{margin}@d  # x\n{margin}def f(self):  # y\n{}{}",
            write(&before.replace("return ", "r = "), "", unit),
            write(&old, &format!("{margin}{unit}"), unit),
            write(&after.replace("return ", "r = "), margin, unit),
        );
        let candidate = format!("@d\ndef f(self):\n{}", write(&new, new_unit, new_unit));
        let spliced = splice(&module, name, 1, &candidate).unwrap();
        prop_assert!(spliced.text.starts_with(&module[..spliced.body_start]));
        prop_assert!(spliced.text.ends_with(&module[spliced.body_end..]));
        prop_assert_eq!(
            spliced.text.len(),
            spliced.body_start + spliced.new_body.len() + module.len() - spliced.body_end
        );
        prop_assert!(module[..spliced.body_start].ends_with("# y\n"));
        // What was put in can be taken out again.
        let back = splice(&spliced.text, name, 1, &format!("@d\ndef f(self):\n{}", write(&old, unit, unit))).unwrap();
        let again = splice(&back.text, name, 1, &candidate).unwrap();
        prop_assert_eq!(again.text, spliced.text);
    }

    #[test]
    fn any_two_texts_are_answered_without_a_panic(old in "\\PC{0,60}", new in "\\PC{0,60}") {
        let module = format!("def f(x):\n    return x\n{old}\n");
        let code = format!("def f(x):\n    {new}\n    return x\n");
        let _ = splice(&module, "f", 1, &code);
        let _ = crate::vet_all(&module, "f", &code, &crate::VetContext::default());
    }
}
