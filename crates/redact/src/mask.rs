//! What stands in a secret's place, and how a mask is told from a secret.
//!
//! A reader must still see which key was meant (`sk-pro...F0gH`), and masking a masked text must
//! change nothing: text passes through here several times on its way to the store and to a summary.

/// Secrets shorter than this are hidden whole; ten visible characters would be most of them.
const SHORT: usize = 18;
const HEAD: usize = 6;
const TAIL: usize = 4;

/// The mask of a secret: `***` below 18 characters, else its first 6, three dots and its last 4.
pub fn mask(secret: &str) -> String {
    let length = secret.chars().count();
    if length < SHORT {
        return "***".to_owned();
    }
    let head: String = secret.chars().take(HEAD).collect();
    let tail: String = secret.chars().skip(length - TAIL).collect();
    format!("{head}...{tail}")
}

/// Whether this value is a mask already, of ours or of another program.
pub(crate) fn is_mask(value: &str) -> bool {
    if value.starts_with("***") || value.ends_with("***") || value.starts_with("[REDACTED") {
        return true;
    }
    let chars: Vec<char> = value.chars().take(HEAD + TAIL + 4).collect();
    chars.len() == HEAD + 3 + TAIL && chars[HEAD..HEAD + 3] == ['.', '.', '.']
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_secret_is_hidden_whole_and_a_long_one_keeps_its_ends() {
        assert_eq!(mask("hunter2"), "***");
        assert_eq!(mask("12345678901234567"), "***");
        assert_eq!(mask("123456789012345678"), "123456...5678");
        assert_eq!(mask("пароль-пароль-пароль"), "пароль...роль");
    }

    #[test]
    fn a_mask_is_recognised_as_one() {
        for value in ["***", "sk-pro...F0gH", "user:***", "[REDACTED]"] {
            assert!(is_mask(value), "{value}");
        }
        for value in ["hunter2", "sk-proj-Zq8vN2mL5xK9", "a...b"] {
            assert!(!is_mask(value), "{value}");
        }
    }
}
