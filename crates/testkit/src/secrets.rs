//! Made-up secrets in the forms they really come in, to be planted and looked for.

use crate::Mutator;

/// A secret as it stands in a text.
#[derive(Clone, Debug)]
pub struct Planted {
    /// What is planted.
    pub text: String,
    /// The part of it that must not be seen again.
    pub middle: String,
}

const ALNUM: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// What stands before, how many characters of its own a secret has, and what stands behind.
const FORMS: &[(&str, usize, &str)] = &[
    ("sk-proj-", 32, ""),
    ("sk-ant-api03-", 40, ""),
    ("ghp_", 36, ""),
    ("github_pat_11", 40, ""),
    ("glpat-", 20, ""),
    ("xoxb-123456789012-", 24, ""),
    ("AIzaSy", 33, ""),
    ("hf_", 34, ""),
    ("npm_", 36, ""),
    ("Authorization: Bearer ", 40, ""),
    ("OPENAI_API_KEY=", 40, ""),
    ("export DB_PASSWORD='", 24, "'"),
    ("postgres://admin:", 20, "@db.internal:5432/app"),
    ("{\"client_secret\": \"", 32, "\"}"),
    ("password: ", 20, ""),
    ("https://api.example.com/v1?api_key=", 32, "&page=2"),
];

/// A secret of one of the forms.
pub fn planted(random: &mut Mutator) -> Planted {
    let (before, length, behind) = FORMS[random.below(FORMS.len())];
    let digit = random.below(length);
    let own: String = (0..length)
        .map(|at| match at == digit {
            true => '7',
            false => char::from(ALNUM[random.below(ALNUM.len())]),
        })
        .collect();
    // A mask may leave a few characters of both ends.
    let middle = own[6..length - 6].to_owned();
    Planted {
        text: format!("{before}{own}{behind}"),
        middle,
    }
}
