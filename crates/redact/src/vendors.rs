//! The table of vendor shapes: what a key of each vendor looks like.
//!
//! A row is data: the literal a key starts with, the characters that may follow and how many of them.
//! A new vendor is one more line; its sample is its test. Keys that carry no mark of their vendor
//! (a bare 40 character string) cannot stand here; the rules for names and headers catch those.

/// The characters that may follow a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Token,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Letters, digits, `+`, `/` and `=`.
    Base64,
    /// Letters, digits, `_`, `-`, `/`: the path of a webhook.
    Path,
    /// Capital letters and digits.
    Upper,
    /// Lower-case hexadecimal digits.
    Hex,
}

impl Body {
    /// Whether the byte belongs to this alphabet.
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Token => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        }
    }
}

/// One vendor's key shape.
#[derive(Debug)]
pub(crate) struct Vendor {
    /// Who issues such keys.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "names the row for its reader and its test")
    )]
    pub(crate) name: &'static str,
    /// The literal start of a key, matched with its case.
    pub(crate) prefix: &'static str,
    /// What follows.
    pub(crate) body: Body,
    /// How many such characters at least.
    pub(crate) least: usize,
    /// The exact number of characters, for shapes so short that one more means something else.
    pub(crate) exact: bool,
    /// A made-up key of this shape.
    #[cfg_attr(not(test), allow(dead_code, reason = "the row's own test"))]
    pub(crate) sample: &'static str,
}

const fn row(
    name: &'static str,
    prefix: &'static str,
    body: Body,
    least: usize,
    sample: &'static str,
) -> Vendor {
    Vendor {
        name,
        prefix,
        body,
        least,
        exact: false,
        sample,
    }
}

const fn exact(
    name: &'static str,
    prefix: &'static str,
    body: Body,
    least: usize,
    sample: &'static str,
) -> Vendor {
    Vendor {
        name,
        prefix,
        body,
        least,
        exact: true,
        sample,
    }
}

use Body::{Alnum, Base64, Dotted, Hex, Path, Token, Upper};

/// All shapes. The order carries no meaning: the longest prefix that fits is tried.
#[rustfmt::skip] // one row a line
pub(crate) static VENDORS: &[Vendor] = &[
    row("OpenAI, OpenRouter, Anthropic, DeepSeek", "sk-", Token, 10, "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH"),
    row("GitHub personal", "ghp_", Alnum, 10, "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    row("GitHub OAuth", "gho_", Alnum, 10, "gho_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    row("GitHub user-to-server", "ghu_", Alnum, 10, "ghu_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    row("GitHub server-to-server", "ghs_", Alnum, 10, "ghs_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    row("GitHub refresh", "ghr_", Alnum, 10, "ghr_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    row("GitHub fine-grained", "github_pat_", Token, 10, "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwx"),
    row("GitLab personal", "glpat-", Dotted, 16, "glpat-Zx9Yw8Vu7Ts6Rq5Po4Nm"),
    row("GitLab deploy", "gldt-", Token, 16, "gldt-Zx9Yw8Vu7Ts6Rq5Po4Nm"),
    row("GitLab runner", "glrt-", Token, 16, "glrt-Zx9Yw8Vu7Ts6Rq5Po4Nm"),
    row("GitLab job", "glcbt-", Token, 16, "glcbt-Zx9Yw8Vu7Ts6Rq5Po4Nm"),
    row("GitLab trigger", "glptt-", Token, 16, "glptt-Zx9Yw8Vu7Ts6Rq5Po4Nm"),
    row("Slack bot", "xoxb-", Token, 10, "xoxb-123456789012-abcdefGHIJKL"),
    row("Slack app", "xoxa-", Token, 10, "xoxa-123456789012-abcdefGHIJKL"),
    row("Slack user", "xoxp-", Token, 10, "xoxp-123456789012-abcdefGHIJKL"),
    row("Slack refresh", "xoxr-", Token, 10, "xoxr-123456789012-abcdefGHIJKL"),
    row("Slack workspace", "xoxs-", Token, 10, "xoxs-123456789012-abcdefGHIJKL"),
    row("Slack client", "xoxc-", Token, 10, "xoxc-123456789012-abcdefGHIJKL"),
    row("Slack configuration", "xoxe.", Dotted, 20, "xoxe.xoxp-1-Mi0yLTEyMzQ1Njc4OTAxMjM0"),
    row("Slack app level", "xapp-", Token, 12, "xapp-1-A0123456789-1234567890123-abcdef"),
    row("Slack webhook", "hooks.slack.com/services/", Path, 20, "hooks.slack.com/services/T000/B000/Xx1Yy2Zz3Aa4Bb5Cc6"),
    row("Discord webhook", "discord.com/api/webhooks/", Path, 30, "discord.com/api/webhooks/123456789012345678/aBcDeFgHiJkLmNoP"),
    row("Google API", "AIza", Token, 30, "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"),
    row("Google OAuth client", "GOCSPX-", Token, 20, "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"),
    row("Google OAuth access", "ya29.", Dotted, 24, "ya29.a0AfH6SMBx1y2z3A4B5C6D7E8F9G0H1I"),
    exact("AWS access key", "AKIA", Upper, 16, "AKIAIOSFODNN7EXAMPLE"),
    exact("AWS session key", "ASIA", Upper, 16, "ASIAIOSFODNN7EXAMPLE"),
    row("AWS Bedrock", "ABSKQmVkcm9ja0FQSUtleS", Base64, 20, "ABSKQmVkcm9ja0FQSUtleS1a2b3c4d5e6f7g8h9i0j1k2"),
    row("Azure storage", "AccountKey=", Base64, 40, "AccountKey=a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4=="),
    row("Azure service bus", "SharedAccessKey=", Base64, 40, "SharedAccessKey=a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V="),
    row("Alibaba", "LTAI", Alnum, 16, "LTAI5tAbCdEfGhIjKlMnOpQr"),
    row("Cloudflare origin CA", "v1.0-", Token, 40, "v1.0-0a1b2c3d4e5f6a7b8c9d0e1f-2a3b4c5d6e7f8a9b0c1d2e3f4a5b"),
    exact("Twilio", "SK", Hex, 32, "SK0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("Stripe live", "sk_live_", Alnum, 10, "sk_live_9aB8cD7eF6gH5iJ4kL3m"),
    row("Stripe test", "sk_test_", Alnum, 10, "sk_test_9aB8cD7eF6gH5iJ4kL3m"),
    row("Stripe restricted", "rk_live_", Alnum, 10, "rk_live_9aB8cD7eF6gH5iJ4kL3m"),
    row("Stripe restricted test", "rk_test_", Alnum, 10, "rk_test_9aB8cD7eF6gH5iJ4kL3m"),
    row("Stripe webhook", "whsec_", Alnum, 16, "whsec_9aB8cD7eF6gH5iJ4kL3m2N1o"),
    row("SendGrid", "SG.", Dotted, 20, "SG.a1B2c3D4e5F6g7H8i9J0kL.m1N2o3P4q5R6s7T8u9V0wX"),
    exact("Mailgun", "key-", Hex, 32, "key-0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("Hugging Face", "hf_", Alnum, 10, "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ012345"),
    row("Replicate", "r8_", Alnum, 10, "r8_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123"),
    row("npm", "npm_", Alnum, 10, "npm_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"),
    row("PyPI", "pypi-", Token, 10, "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3"),
    row("crates.io", "cio", Alnum, 32, "cioaB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV"),
    row("DigitalOcean", "dop_v1_", Alnum, 10, "dop_v1_0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("DigitalOcean OAuth", "doo_v1_", Alnum, 10, "doo_v1_0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("Perplexity", "pplx-", Alnum, 10, "pplx-0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("Fal", "fal_", Token, 10, "fal_a1B2c3D4e5F6g7H8i9J0"),
    row("Firecrawl", "fc-", Alnum, 10, "fc-0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("BrowserBase", "bb_live_", Token, 10, "bb_live_a1B2c3D4e5F6g7H8i9J0"),
    row("Fernet cipher text", "gAAAA", Token, 20, "gAAAAABlx1y2z3A4B5C6D7E8F9G0H1I2J3=="),
    row("AgentMail", "am_", Token, 10, "am_a1B2c3D4e5F6g7H8i9J0"),
    row("ElevenLabs", "sk_", Token, 10, "sk_0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("Tavily", "tvly-", Token, 10, "tvly-dev-a1B2c3D4e5F6g7H8i9J0"),
    row("Exa", "exa_", Alnum, 10, "exa_a1B2c3D4e5F6g7H8i9J0"),
    row("Groq", "gsk_", Alnum, 10, "gsk_a1B2c3D4e5F6g7H8i9J0k1L2m3N4"),
    row("Matrix", "syt_", Token, 10, "syt_dXNlcg_aBcDeFgHiJkLmNoPqRsT_1a2b3c"),
    row("RetainDB", "retaindb_", Alnum, 10, "retaindb_a1B2c3D4e5F6g7H8"),
    row("Hindsight", "hsk-", Alnum, 10, "hsk-a1B2c3D4e5F6g7H8"),
    row("Mem0", "mem0_", Alnum, 10, "mem0_a1B2c3D4e5F6g7H8"),
    row("ByteRover", "brv_", Alnum, 10, "brv_a1B2c3D4e5F6g7H8"),
    row("xAI", "xai-", Alnum, 30, "xai-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"),
    row("Notion", "ntn_", Alnum, 10, "ntn_a1B2c3D4e5F6g7H8"),
    row("Fireworks", "fw-", Alnum, 20, "fw-a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"),
    row("Fireworks", "fw_", Alnum, 20, "fw_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"),
    row("Fireworks", "fpk_", Alnum, 20, "fpk_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"),
    row("Cerebras", "csk-", Alnum, 20, "csk-a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5p6"),
    row("NVIDIA", "nvapi-", Token, 20, "nvapi-a1B2c3D4e5F6g7H8i9J0k1L2m3N4"),
    row("Jina", "jina_", Alnum, 20, "jina_a1B2c3D4e5F6g7H8i9J0k1L2m3N4"),
    row("LangSmith", "lsv2_", Token, 20, "lsv2_pt_0a1b2c3d4e5f60718293a4b5_c6d7e8f9a0"),
    row("Pinecone", "pcsk_", Token, 20, "pcsk_a1B2c3_D4e5F6g7H8i9J0k1L2m3N4"),
    row("Linear", "lin_api_", Alnum, 20, "lin_api_a1B2c3D4e5F6g7H8i9J0k1L2"),
    row("Shopify", "shpat_", Alnum, 20, "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"),
    row("Shopify secret", "shpss_", Alnum, 20, "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"),
    exact("Databricks", "dapi", Hex, 32, "dapi0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("Postman", "PMAK-", Token, 20, "PMAK-0a1b2c3d4e5f60718293a4b5-c6d7e8f9"),
    row("Doppler", "dp.pt.", Alnum, 20, "dp.pt.a1B2c3D4e5F6g7H8i9J0k1L2m3N4"),
    row("HashiCorp Vault", "hvs.", Token, 20, "hvs.a1B2c3D4e5F6g7H8i9J0k1L2"),
    row("HashiCorp Vault batch", "hvb.", Token, 20, "hvb.a1B2c3D4e5F6g7H8i9J0k1L2"),
    row("Sentry", "sntrys_", Token, 20, "sntrys_eyJpYXQiOjE2OTAwMDAwMDB9_a1B2"),
    row("Sentry user", "sntryu_", Alnum, 20, "sntryu_0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    row("New Relic", "NRAK-", Alnum, 20, "NRAK-A1B2C3D4E5F6G7H8I9J0K1L2M3N"),
    row("Grafana", "glsa_", Token, 20, "glsa_a1B2c3D4e5F6g7H8i9J0k1L2m3N4_0a1b2c3d"),
    row("Supabase", "sbp_", Alnum, 20, "sbp_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d"),
    row("Netlify", "nfp_", Alnum, 20, "nfp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4"),
    row("Fly", "fm2_", Base64, 20, "fm2_lJPECAAAAAAAB1c2d3e4f5g6h7i8j9k0"),
    row("PlanetScale", "pscale_tkn_", Token, 20, "pscale_tkn_a1B2c3D4e5F6g7H8i9J0k1L2"),
    row("Heroku", "HRKU-", Token, 20, "HRKU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"),
    row("age", "AGE-SECRET-KEY-1", Upper, 30, "AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
];
