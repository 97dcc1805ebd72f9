use rstest::rstest;

use super::*;

fn edit(text: &str, old: &str, new: &str) -> Result<String, String> {
    replace(text, Wanted { old, new, all: false })
        .map(|replaced| replaced.text)
        .map_err(|refused| refused.why)
}

const CODE: &str = "def f(a):\n    if a:\n        return  1\n    return 2\n";

#[rstest]
#[case::exact(
    CODE,
    "    return 2",
    "    return 3",
    "def f(a):\n    if a:\n        return  1\n    return 3\n"
)]
#[case::indentation(
    CODE,
    "if a:\n    return  1",
    "if a:\n        return 10",
    "def f(a):\n    if a:\n            return 10\n    return 2\n"
)]
#[case::deeper_block(
    "class A:\n\tdef f():\n\t\tpass\n",
    "def f():\n    pass",
    "def f():\n    x()\n    y()",
    "class A:\n\tdef f():\n\t\tx()\n\t\ty()\n"
)]
#[case::trailing_space("a = 1   \nb = 2\n", "a = 1\nb = 2", "a = 1\nb = 3", "a = 1   \nb = 3\n")]
#[case::inner_space(
    "x =   foo( a,  b )\n",
    "x = foo( a, b )",
    "x = bar( a, b )",
    "x = bar( a, b )\n"
)]
#[case::escapes("a\n\tb\nc\n", "a\\n\\tb", "a\\n\\tB", "a\n\tB\nc\n")]
#[case::boundary(
    "call(one, two);\n",
    "\n\ncall(one, two);\n\n",
    "\n\ncall(two);\n\n",
    "call(two);\n"
)]
#[case::anchors(
    "start {\n  alpha one\n  beta two\n}\n",
    "start {\n  alpha on\n  beta two!\n}",
    "start {\n  gamma\n}",
    "start {\n  gamma\n}\n"
)]
fn a_slip_of_the_model_is_forgiven(
    #[case] text: &str,
    #[case] old: &str,
    #[case] new: &str,
    #[case] after: &str,
) {
    assert_eq!(edit(text, old, new).as_deref(), Ok(after));
}

#[test]
fn typographic_text_changes_only_where_it_was_asked_to() {
    let line = "\u{201c}It\u{2019}s 5\u{2013}6\u{a0}pages long\u{201d} \u{2014} he said\u{2026}\n";
    let text = format!("first\n{line}last\n");
    let after = edit(
        &text,
        "\"It's 5-6 pages long\" - he said...",
        "\"It's 5-6 sheets long\" - he said...",
    )
    .unwrap();
    assert_eq!(after, format!("first\n{}last\n", line.replace("pages", "sheets")));
}

#[test]
fn equal_and_empty_texts_are_errors() {
    assert!(edit("a", "a", "a").unwrap_err().contains("equal"));
    assert!(edit("a", "", "x").unwrap_err().contains("empty"));
    assert!(edit("    b\n", "b\n", "b\n").is_err());
}

#[test]
fn an_ambiguous_text_is_refused_with_count_and_lines() {
    let why = edit("same\nother\nsame\n", "same", "changed").unwrap_err();
    assert!(why.contains("2 times") && why.contains("lines 1, 3"), "{why}");
    // Also when it takes a lax strategy to find it.
    let why = edit("  x y\n\tx y\n", "x y\n", "z\n").unwrap_err();
    assert!(why.contains("2 times"), "{why}");
}

#[test]
fn all_occurrences_are_replaced_when_asked() {
    let all = Wanted {
        old: "return",
        new: "yield",
        all: true,
    };
    assert_eq!(replace(CODE, all).unwrap().text.matches("yield").count(), 2);
}

#[test]
fn escaped_quotes_that_the_file_has_not_are_refused() {
    let why = edit(
        "say('it')\nend\n",
        "  say(\\'it\\')\n  end",
        "  say(\\'that\\')\n  end",
    );
    assert!(why.is_err());
    let why = edit("  a \"b\" c\nx\n", "a \\\"b\\\" c\nx", "a \\\"d\\\" c\nx");
    assert!(why.is_err());
}

#[test]
fn line_numbers_of_a_view_are_dropped_from_both_texts() {
    let text = "fn main() {\n    foo();\n}\n";
    let wanted = Wanted {
        old: "     2|    foo();",
        new: "     2|    baz();",
        all: false,
    };
    let replaced = replace(text, wanted).unwrap();
    assert_eq!(replaced.text, "fn main() {\n    baz();\n}\n");
    assert!(replaced.hint.unwrap().contains("line number"));
    assert!(edit(text, "    foo();", "     2|    bar();\n     3|    baz();").is_err());
}

#[test]
fn what_is_not_there_is_refused_with_the_nearest_parts() {
    let refused = replace(
        CODE,
        Wanted {
            old: "        return  one_and_two",
            new: "x",
            all: false,
        },
    )
    .unwrap_err();
    assert!(refused.why.contains("not found"));
    assert!(
        refused
            .nearest
            .iter()
            .any(|section| section.contains("     3|        return  1")),
        "{refused:?}"
    );
    assert!(edit(CODE, "nothing like this anywhere", "x").is_err());
}

proptest::proptest! {
    #[test]
    fn an_edit_either_fails_or_keeps_all_lines_it_is_not_about(
        before in "[a-c ]{0,6}(\n[a-c ]{0,6}){0,6}", old in "[a-c \n]{1,8}", new in "[a-c \n]{0,8}"
    ) {
        let text = format!("first line of all\n{before}\nlast line of all\n");
        if let Ok(replaced) = replace(&text, Wanted { old: &old, new: &new, all: false }) {
            proptest::prop_assert!(replaced.text.starts_with("first line of all"));
            proptest::prop_assert!(replaced.text.trim_end().ends_with("last line of all"));
        }
    }
}

#[test]
fn a_block_that_is_only_somewhat_alike_loses_no_foreign_line() {
    let text = "fn start() {\n    keep_this_line();\n    let x = 1;\n    let y = 2;\n}\n";
    let old = "fn start() {\n    remove_something_else(42);\n    let x = 1;\n    let y = 2;\n}";
    assert!(edit(text, old, "fn start() {\n    let x = 1;\n    let y = 2;\n}").is_err());
    let old = "fn start() {\n    keep_this_lin();\n    let x = 1;\n    let y = 2;\n}";
    let after = edit(
        text,
        old,
        "fn start() {\n    keep_this_lin();\n    let x = 1;\n    let y = 3;\n}",
    )
    .unwrap();
    assert_eq!(after, text.replace("y = 2", "y = 3"));
}
