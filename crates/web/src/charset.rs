//! Bytes to text: what the server named, what the page itself names, else UTF-8, else what most old pages are.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// How far into a page its own word on its characters is looked for.
const HEAD: usize = 1_024;

/// The text of `body`.
pub(crate) fn decode(body: &[u8], named: Option<&str>) -> String {
    let of_server = || named.and_then(|name| Encoding::for_label(name.as_bytes()));
    let encoding = Encoding::for_bom(body)
        .map(|(encoding, _)| encoding)
        .or_else(of_server)
        .or_else(|| named_within(body));
    let encoding = encoding.unwrap_or(if std::str::from_utf8(body).is_ok() {
        UTF_8
    } else {
        WINDOWS_1252
    });
    encoding.decode(body).0.replace('\0', "")
}

/// `<meta charset=…>`, and the older form of it.
fn named_within(body: &[u8]) -> Option<&'static Encoding> {
    let head = body.get(..HEAD.min(body.len()))?.to_ascii_lowercase();
    let at = head.windows(8).position(|window| window == b"charset=")? + 8;
    let rest: Vec<u8> = head[at..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_come_from_the_server_the_page_or_the_bytes() {
        assert_eq!(decode(b"caf\xe9", Some("iso-8859-1")), "café");
        assert_eq!(
            decode(b"<meta charset=\"windows-1251\">\xcf", None),
            "<meta charset=\"windows-1251\">П"
        );
        assert_eq!(decode("é".as_bytes(), None), "é");
        assert_eq!(decode(b"caf\xe9", None), "café");
        assert_eq!(decode(b"\xff\xfea\0b\0", Some("utf-8")), "ab");
        assert_eq!(decode(b"\x82\xa0", Some("shift_jis")), "あ");
    }
}
