use super::*;
use crate::vendors::VENDORS;
use proptest::prelude::*;

#[test]
fn every_vendor_row_catches_its_sample_in_text_and_in_code() {
    for vendor in VENDORS {
        let text = format!("see {} here", vendor.sample);
        let secret = vendor
            .sample
            .rsplit('=')
            .find(|part| !part.is_empty())
            .unwrap_or(vendor.sample);
        for (mode, masked) in [("text", redact(&text)), ("code", redact_code(&text))] {
            assert!(!masked.contains(secret), "{} in {mode}: {masked}", vendor.name);
            assert!(
                masked.starts_with("see ") && masked.ends_with(" here"),
                "{}: {masked}",
                vendor.name
            );
        }
    }
}

#[test]
fn no_two_rows_name_the_same_prefix() {
    for (index, vendor) in VENDORS.iter().enumerate() {
        assert!(
            VENDORS[..index].iter().all(|other| other.prefix != vendor.prefix),
            "{}",
            vendor.prefix
        );
        assert!(vendor.sample.contains(vendor.prefix), "{}", vendor.name);
    }
}

/// `(text, what redact makes of it, what redact_code makes of it)`; `None` is unchanged.
const CASES: &[(&str, Option<&str>, Option<&str>)] = &[
    // names and values
    (
        "DB_PASSWORD=hunter2hunter2 and more",
        Some("DB_PASSWORD=*** and more"),
        None,
    ),
    ("export API_TOKEN='a b c'", Some("export API_TOKEN='***'"), None),
    ("password=x", Some("password=***"), None),
    ("  db_password: hunter2", Some("  db_password: ***"), None),
    (
        "spring.datasource.password = hunter2",
        Some("spring.datasource.password = ***"),
        None,
    ),
    (
        r#"{"apiKey": "abc123", "n": 1}"#,
        Some(r#"{"apiKey": "***", "n": 1}"#),
        None,
    ),
    (
        r#"{\"token\": \"abc123\"}"#,
        Some(r#"{\"token\": \"***\"}"#),
        None,
    ),
    (
        "{'refresh_token': 'abcdefghij0123456789'}",
        Some("{'refresh_token': 'abcdef...6789'}"),
        None,
    ),
    (
        "mysql --password hunter2 -h db",
        Some("mysql --password *** -h db"),
        None,
    ),
    (
        "user=bob&password=hunter2&x=1",
        Some("user=bob&password=***&x=1"),
        None,
    ),
    (
        "AWS_SECRET=\"cut off in the mid",
        Some("AWS_SECRET=\"*** off in the mid"),
        None,
    ),
    (
        "KEY_PASSWORD=a;b|c\nNEXT=1",
        Some("KEY_PASSWORD=***\nNEXT=1"),
        None,
    ),
    // headers
    (
        "Authorization: Bearer abcDEF123456ghiJKL789. Next",
        Some("Authorization: Bearer abcDEF...L789. Next"),
        Some("Authorization: Bearer abcDEF...L789. Next"),
    ),
    (
        "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==",
        Some("Authorization: Basic dXNlcj...Mw=="),
        Some("Authorization: Basic dXNlcj...Mw=="),
    ),
    (
        "curl -H 'Proxy-Authorization: abcdefgh1' u",
        Some("curl -H 'Proxy-Authorization: ***' u"),
        None,
    ),
    (
        "curl -H \"x-api-key: abc12345678\" u",
        Some("curl -H \"x-api-key: ***\" u"),
        Some("curl -H \"x-api-key: ***\" u"),
    ),
    (
        "sent Bearer abcDEF123456ghiJKL789",
        Some("sent Bearer abcDEF...L789"),
        Some("sent Bearer abcDEF...L789"),
    ),
    // URLs
    (
        "db postgres://bob:hunter2secret@db/x",
        Some("db postgres://bob:***@db/x"),
        Some("db postgres://bob:***@db/x"),
    ),
    (
        "redis://:p@ss@h:1/0",
        Some("redis://:***@h:1/0"),
        Some("redis://:***@h:1/0"),
    ),
    (
        "https://me:pw@example.com/a",
        Some("https://me:***@example.com/a"),
        Some("https://me:***@example.com/a"),
    ),
    (
        "git clone https://a1b2c3d4e5f6a7b8c9@git.example/x",
        Some("git clone https://a1b2c3...b8c9@git.example/x"),
        Some("git clone https://a1b2c3...b8c9@git.example/x"),
    ),
    (
        "https://x.example/cb?access_token=abcdefghij0123456789&state=1",
        Some("https://x.example/cb?access_token=abcdef...6789&state=1"),
        None,
    ),
    // shapes of their own
    (
        "my_sk-proj-Zq8vN2mL5xK9wR3t",
        Some("my_sk-pro...wR3t"),
        Some("my_sk-pro...wR3t"),
    ),
    (
        "bot 123456789:ABCdefGhIJKlmNoPQRstuVwxyZ0123456789",
        Some("bot 123456789:***"),
        Some("bot 123456789:***"),
    ),
    (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        Some("aws_secret_access_key = wJalrX...EKEY"),
        Some("aws_secret_access_key = wJalrX...EKEY"),
    ),
    ("id 8Q~", None, None),
    (
        "secret abc8Q~abcdefghijklmnopqrstuvwxyz012345 end",
        Some("secret abc8Q~...2345 end"),
        Some("secret abc8Q~...2345 end"),
    ),
    ("call +4915112345678 now", Some("call +491****5678 now"), None),
    (
        "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        Some("jwt eyJhbG...sR8U"),
        Some("jwt eyJhbG...sR8U"),
    ),
    (
        "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----\nb",
        Some("a\n[REDACTED PRIVATE KEY]\nb"),
        Some("a\n[REDACTED PRIVATE KEY]\nb"),
    ),
    (
        r#"{"k": "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END PRIVATE KEY-----\n"}"#,
        Some(r#"{"k": "[REDACTED PRIVATE KEY]\n"}"#),
        Some(r#"{"k": "[REDACTED PRIVATE KEY]\n"}"#),
    ),
    (
        "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB",
        Some("[REDACTED PRIVATE KEY]"),
        Some("[REDACTED PRIVATE KEY]"),
    ),
];

#[test]
fn each_family_masks_its_value_and_nothing_around_it() {
    for &(text, everything, code) in CASES {
        assert_eq!(redact(text), everything.unwrap_or(text), "redact of {text}");
        assert_eq!(redact_code(text), code.unwrap_or(text), "redact_code of {text}");
        assert_eq!(finds(text), everything.is_some(), "finds in {text}");
    }
}

/// What is masked in output of every kind: `(text, masked)`.
const OUTPUT: &[(&str, &str)] = &[
    ("password: hunter2", "password: ***"),
    (
        "db:\n  api_key: local-word\n  n: 1",
        "db:\n  api_key: ***\n  n: 1",
    ),
    ("a.yaml:3:  password: hunter2", "a.yaml:3:  password: ***"),
    (
        "so the password: kW3aKHDJjLKNfujkRwHB is new",
        "so the password: kW3aKH...RwHB is new",
    ),
    ("    token: kW3aKHDJjLKNfujkRwHB", "    token: kW3aKH...RwHB"),
    ("password=x", "password=***"),
    ("DB_PASS=x", "DB_PASS=***"),
    ("smtp_pass=hunter2 and more", "smtp_pass=*** and more"),
    ("export API_TOKEN='a b c'", "export API_TOKEN='***'"),
    ("curl -u bob:hunter2 https://h/x", "curl -u bob:*** https://h/x"),
    (
        "curl -s --user 'bob:hunter2' https://h/x",
        "curl -s --user 'bob:***' https://h/x",
    ),
    ("mysql -u root -phunter2 shop", "mysql -u root -p*** shop"),
    (
        "mysqldump --password=hunter2 shop",
        "mysqldump --password=*** shop",
    ),
    ("sshpass -p hunter2 ssh h", "sshpass -p *** ssh h"),
    (
        "it said {\"api_key\": \"abc123\", \"n\": 1} and left",
        "it said {\"api_key\": \"***\", \"n\": 1} and left",
    ),
];

#[test]
fn a_password_in_plain_output_is_masked_whatever_printed_it() {
    for &(text, masked) in OUTPUT {
        assert_eq!(redact_output(text), masked, "redact_output of {text}");
        assert_eq!(redact(text), masked, "redact of {text}");
    }
}

#[test]
fn code_in_output_stays_as_it_is() {
    for text in [
        "password = \"hunter2\"",
        "    token: SecretStr",
        "    token: accessToken",
        "client = Client(api_key=key, password=\"hunter2\")",
        "{\"password\": \"Enter your password\", \"token\": \"string\"}",
    ] {
        assert_eq!(redact_output(text), text);
    }
}

/// Text that resembles secrets and holds none.
const INNOCENT: &[&str] = &[
    r#"api_key = os.environ.get("API_KEY")"#,
    "requiresApiKey: true",
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "MAX_TOKENS=100",
    "max_tokens: 4096, \"token_count\": \"12\"",
    "auth = f\"Authorization: Bearer {key}\"",
    "headers[\"Authorization\"] = f\"Bearer {self.token}\"",
    "const token = process.env.TOKEN;",
    "API_KEY=$OPENAI_API_KEY",
    "API_KEY=${OPENAI_API_KEY:-}",
    "client = Client(api_key=api_key, token=token)",
    "def login(user: str, password: str = None) -> Token:",
    "    token: str",
    "def read(path, token=None):",
    "def read(path, token=None)->Reply:",
    "password: required",
    "let token = Token::new(text);",
    "if token == \"x\" { return }",
    "the token budget and the secret sauce: none of it",
    ".sk-fading-circle-wrapper { task-1234567890abc }",
    "hf_hub_download npm_config_registry am_i_awake_and_dressed",
    "postgres://user:${PASSWORD}@db/x and https://example.com:8080/a@b",
    "see https://user@example.com/",
    "mail someone@example.com at 10:23:45,123",
    "cursor eyJpZCI6MTIzNDU2Nzg5MDEyMzQ1Njc4OTB9 next",
    "+20241231 is a line of a diff",
    "1e+12345678 and 12:345678901:short",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "look for the line -----BEGIN PRIVATE KEY----- in it",
    "{\"token\": null, \"secret\": false}",
    "{\"password\": {\"type\": \"string\"}}",
    "TOKEN_FILE=/run/secrets/token",
    "<input type=password name=password>",
    "PWD=/home/bob/code/project-0123456789\nOLDPWD=/home/bob",
    "SSH_AUTH_SOCK=/tmp/ssh-XXXXabcd1234/agent.99",
    "PASS: test_login\n--- PASS: TestLogin (0.00s)\n2 pass: 12",
    "docker run -u 1000:1000 -p8080:80 curlimages/curl",
    "first_pass: fast",
    "mysql -p shop",
];

#[test]
fn code_hashes_and_prose_stay_as_they_are() {
    for text in INNOCENT {
        assert!(
            matches!(redact(text), Cow::Borrowed(_)),
            "{text} became {}",
            redact(text)
        );
        assert!(
            matches!(redact_code(text), Cow::Borrowed(_)),
            "{text} became {}",
            redact_code(text)
        );
        assert_eq!(redact_output(text), *text);
        assert!(!finds(text), "{text}");
    }
}

#[test]
fn a_password_in_a_line_of_a_url_does_not_eat_the_following_lines() {
    let text = "a://x\nb@c\nhttp://h:8080\nuser@host";
    assert_eq!(redact(text), text);
}

#[test]
fn a_key_printed_back_by_a_server_is_not_shown() {
    let key = "sk-proj-Zq8VerySecretKeyValue000111222333444";
    let text = format!("Incorrect API key provided: {key}. You can find your key at x.");
    assert_eq!(
        redact(&text),
        "Incorrect API key provided: sk-pro...3444. You can find your key at x."
    );
}

fn piece() -> impl Strategy<Value = String> {
    let samples: Vec<String> = VENDORS.iter().map(|vendor| vendor.sample.to_owned()).collect();
    let cases: Vec<String> = CASES
        .iter()
        .map(|case| case.0)
        .chain(INNOCENT.iter().copied())
        .map(str::to_owned)
        .collect();
    prop_oneof![
        proptest::sample::select(samples),
        proptest::sample::select(cases),
        proptest::sample::select(vec![
            "password",
            "token",
            "=",
            ":",
            "\"",
            "'",
            " ",
            "\n",
            "\\",
            "://",
            "@",
            "***",
            "...",
            "sk-",
            "-----BEGIN ",
            "PRIVATE KEY-----",
            "Authorization",
            "Bearer ",
            "eyJ",
            ".",
            "&",
            "+49",
            "8Q~",
            "curl",
            " -u ",
            "mysql",
            " -p",
            "pass=",
            "ключ",
            "密码",
            ",",
            "--",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,12}",
        "\\PC{0,8}",
        "[0-9]{0,12}",
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redacting_twice_is_redacting_once(text in text()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
        prop_assert!(!finds(&once));
        let once = redact_code(&text).into_owned();
        prop_assert_eq!(redact_code(&once), once.as_str());
        let once = redact_output(&text).into_owned();
        prop_assert_eq!(redact_output(&once), once.as_str());
    }

    #[test]
    fn what_is_found_is_what_is_changed(text in text()) {
        prop_assert_eq!(finds(&text), redact(&text) != text);
    }

    #[test]
    fn ordinary_words_are_borrowed(words in proptest::collection::vec("[a-z]{1,9}", 0..60)) {
        let text = words.join(" ");
        prop_assert!(matches!(redact(&text), Cow::Borrowed(_)), "{}", redact(&text));
    }
}
