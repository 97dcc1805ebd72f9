//! Why a turn failed, in one closed vocabulary.

use serde::{Deserialize, Serialize};

/// The kinds of failure. Policy is decided on these and on nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The credential was refused.
    Auth,
    /// The credential was refused for good; refreshing it cannot help.
    AuthPermanent,
    /// Money or a quota that does not come back by itself is spent.
    Billing,
    /// Too many requests; waiting helps.
    RateLimit,
    /// The provider behind an aggregator is limited; another key does not help.
    UpstreamRateLimit,
    /// The provider is overloaded; waiting helps.
    Overloaded,
    /// The provider failed.
    ServerError,
    /// No answer in time, or the line broke.
    Timeout,
    /// The request does not fit the model's window.
    ContextOverflow,
    /// More output was asked for than the model or the window allows.
    OutputCap,
    /// The body is larger than the server takes.
    PayloadTooLarge,
    /// One image is larger than the provider takes.
    ImageTooLarge,
    /// The model takes no images.
    ImageRejected,
    /// The model does not exist here.
    ModelNotFound,
    /// An account rule keeps this provider from being used.
    ProviderPolicyBlocked,
    /// The request is malformed in the provider's eyes.
    FormatError,
    /// A parameter is not taken by this model.
    UnsupportedParameter,
    /// A signed thinking block is no longer valid.
    ThinkingSignature,
    /// Encrypted reasoning could not be read by the provider.
    InvalidEncryptedContent,
    /// The long-context tier is not in this subscription.
    LongContextTier,
    /// The long-context beta is not allowed for this login.
    OauthLongContextBetaForbidden,
    /// The server cannot build a grammar of the tool schemas.
    LlamaCppGrammarPattern,
    /// Tool results may only be text here.
    MultimodalToolContentUnsupported,
    /// The provider's content policy refused the request.
    ContentPolicyBlocked,
    /// The server's certificate could not be verified.
    SslCertVerification,
    /// The server cannot stream.
    StreamingUnsupported,
    /// The answer was no valid answer: no choices, a null message, a failed status.
    InvalidResponse,
    /// The stream ended before the answer did.
    IncompleteStream,
    /// Text in a header or key is not ASCII.
    NonAsciiCredential,
    /// Text of the request is not Unicode.
    Surrogates,
    /// The model declined.
    Refused,
    /// The model answered with nothing, again and again.
    EmptyAnswer,
    /// The turn's calls are spent.
    TurnLimit,
    /// The turn's money is spent.
    SpendLimit,
    /// The person stopped it.
    Interrupted,
    /// Another process runs a turn of this session.
    SessionBusy,
    /// The configuration is wrong or incomplete.
    Config,
    /// This program is at fault, or its surroundings (disk, memory) are.
    Internal,
    /// None of these.
    Unknown,
}

/// Why a turn failed, for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// What kind.
    pub kind: ErrorKind,
    /// What happened, with the server's own words.
    pub message: String,
    /// The HTTP status, when there was one.
    pub status: Option<u16>,
    /// What to do about it.
    pub hint: Option<String>,
}
