//! Letters: which script they are of, which ones look like others, which ones nobody sees.

/// A script, as far as a mix of them can deceive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Hebrew,
    Arabic,
    Georgian,
    Cherokee,
    Other,
    Common,
}

/// The script of a letter; digits, marks and signs are common to all.
pub(crate) fn script(character: char) -> Script {
    let code = u32::from(character);
    if !character.is_alphabetic() || matches!(code, 0xb5 | 0xaa | 0xba | 0x2b0..=0x2ff) {
        return Script::Common;
    }
    match code {
        0x41..=0x24f | 0x250..=0x2af | 0x1e00..=0x1eff | 0x2c60..=0x2c7f | 0xa720..=0xa7ff | 0xff21..=0xff5a => {
            Script::Latin
        }
        0x370..=0x3ff | 0x1f00..=0x1fff => Script::Greek,
        0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => Script::Cyrillic,
        0x530..=0x58f => Script::Armenian,
        0x590..=0x5ff => Script::Hebrew,
        0x600..=0x6ff | 0x750..=0x77f => Script::Arabic,
        0x10a0..=0x10ff | 0x1c90..=0x1cbf | 0x2d00..=0x2d2f => Script::Georgian,
        0x13a0..=0x13ff | 0xab70..=0xabbf => Script::Cherokee,
        _ => Script::Other,
    }
}

/// A character that a reader does not see, or that moves what stands around it.
pub(crate) fn is_hidden(character: char) -> bool {
    let code = u32::from(character);
    matches!(code,
        0x00..=0x08 | 0x0b | 0x0e..=0x1f | 0x7f..=0x9f // controls other than tab, line ends, form feed
        | 0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f
        | 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f | 0x2028 | 0x2029 | 0x2800
        | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
        | 0xe0000..=0xe0fff | 0x600..=0x605 | 0x6dd | 0x70f | 0x8e2)
}

/// A blank that is not the blank.
pub(crate) fn is_odd_space(character: char) -> bool {
    matches!(u32::from(character), 0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000 | 0x85)
}

/// What a name looks like: letters of other scripts as the Latin ones they resemble, `l`, `1` and `I` as one, `0` and `O`
/// as one, `rn` as `m`, `vv` as `w`, `cl` untouched.
pub(crate) fn skeleton(name: &str) -> String {
    let plain: String = name.chars().map(look).collect();
    plain.replace("rn", "m").replace("vv", "w")
}

fn look(character: char) -> char {
    match character {
        'а' | 'ɑ' | 'ａ' | 'α' => 'a',
        'ｂ' => 'b',
        'с' | 'ϲ' | 'ｃ' => 'c',
        'ԁ' | 'ɗ' | 'ｄ' => 'd',
        'е' | 'ҽ' | 'ｅ' => 'e',
        'ɡ' | 'ց' | 'ｇ' => 'g',
        'һ' | 'հ' | 'ｈ' => 'h',
        'і' | 'ı' | 'ι' | 'ɩ' | 'ｉ' => 'i',
        'ј' | 'ϳ' | 'ｊ' => 'j',
        'κ' | 'ｋ' => 'k',
        'ӏ' | 'Ӏ' | 'ǀ' | '1' | 'I' | 'Ι' | 'І' | 'ｌ' => 'l',
        'ｍ' => 'm',
        'ո' | 'ｎ' => 'n',
        'о' | 'ο' | 'օ' | 'ｏ' => 'o',
        'О' | 'Ο' | '0' | 'Օ' => 'O',
        'р' | 'ρ' | 'ｐ' => 'p',
        'ԛ' | 'ｑ' => 'q',
        'ｒ' => 'r',
        'ѕ' | 'ꜱ' | 'ｓ' => 's',
        'ｔ' => 't',
        'υ' | 'ս' | 'ｕ' => 'u',
        'ѵ' | 'ν' | 'ｖ' => 'v',
        'ԝ' | 'ѡ' | 'ｗ' => 'w',
        'х' | 'χ' | 'ｘ' => 'x',
        'у' | 'ү' | 'γ' | 'ｙ' => 'y',
        'ｚ' => 'z',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'С' | 'Ϲ' => 'C',
        'Е' | 'Ε' => 'E',
        'Н' | 'Η' => 'H',
        'Ј' => 'J',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'Х' | 'Χ' => 'X',
        'У' | 'Υ' => 'Y',
        'Ζ' => 'Z',
        _ => character,
    }
}

#[cfg(test)]
mod tests {
    use super::{Script, is_hidden, script, skeleton};

    #[test]
    fn doubles_have_one_skeleton() {
        assert_eq!(skeleton("\u{430}mount"), skeleton("amount"));
        assert_eq!(skeleton("row1"), skeleton("rowl"));
        assert_ne!(skeleton("összeg"), skeleton("osszeg"));
        assert_ne!(skeleton("rows"), skeleton("row"));
    }

    #[test]
    fn scripts_and_hidden_characters() {
        assert_eq!(script('\u{430}'), Script::Cyrillic);
        assert_eq!(script('ő'), Script::Latin);
        assert_eq!(script('\u{b5}'), Script::Common);
        assert!(is_hidden('\u{200b}') && is_hidden('\u{202e}') && is_hidden('\u{feff}') && is_hidden('\u{e0041}'));
        assert!(!is_hidden('é') && !is_hidden('\t') && !is_hidden('漢'));
    }
}
