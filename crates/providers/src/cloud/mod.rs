//! Models at AWS Bedrock and Google Vertex: the same protocols at other addresses, with other proofs of who asks.
//!
//! Claude is spoken to in Messages at both; the other models of Bedrock in Chat
//! Completions, those of Vertex in Gemini's protocol. What differs is the path,
//! some members of the body, and the signature.

mod aws;
pub(crate) mod eventstream;
mod google;
mod sigv4;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use reqwest::Request;
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};
use talaria_types::{ApiMode, ModelIdentity};

use crate::resolve::Lookup;
use crate::wire::Encoded;

/// One cloud and who asks there.
#[derive(Debug)]
pub(crate) struct Cloud {
    kind: Kind,
    bundle: Option<PathBuf>,
}

#[derive(Debug)]
enum Kind {
    Bedrock {
        region: String,
        source: aws::Source,
    },
    Vertex {
        project: String,
        region: String,
        account: google::Account,
    },
}

impl Cloud {
    /// The cloud of this provider, with the credentials that are there.
    ///
    /// # Errors
    /// What is missing and where it is looked for.
    pub(crate) fn find(
        provider: &str,
        lookup: Lookup<'_>,
        home: Option<&Path>,
        bundle: Option<PathBuf>,
    ) -> Result<Option<Self>, &'static str> {
        let kind = match provider {
            "bedrock" => Kind::Bedrock {
                source: aws::Source::find(lookup, home)
                    .ok_or("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_BEARER_TOKEN_BEDROCK, or a profile in ~/.aws/credentials")?,
                region: aws::region(lookup, home).ok_or("AWS_REGION")?,
            },
            "vertex" => {
                let account = google::Account::find(lookup, home)
                    .ok_or("GOOGLE_APPLICATION_CREDENTIALS, or a login with `gcloud auth application-default login`")?;
                let named = ["GOOGLE_CLOUD_PROJECT", "VERTEX_PROJECT"].iter().find_map(|name| lookup(name));
                let region = ["GOOGLE_CLOUD_LOCATION", "VERTEX_REGION"].iter().find_map(|name| lookup(name));
                Kind::Vertex {
                    project: named.or_else(|| account.project()).ok_or("GOOGLE_CLOUD_PROJECT")?,
                    region: region.unwrap_or_else(|| "global".to_owned()),
                    account,
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { kind, bundle }))
    }

    /// The protocol of a model here.
    pub(crate) fn mode(&self, model: &str) -> ApiMode {
        match (&self.kind, model.to_ascii_lowercase().contains("claude")) {
            (_, true) => ApiMode::AnthropicMessages,
            (Kind::Bedrock { .. }, false) => ApiMode::ChatCompletions,
            (Kind::Vertex { .. }, false) => ApiMode::Gemini,
        }
    }

    /// The address of a protocol here.
    pub(crate) fn base_url(&self, mode: ApiMode) -> String {
        match &self.kind {
            Kind::Bedrock { region, .. } => {
                let path = if mode == ApiMode::AnthropicMessages {
                    ""
                } else {
                    "/openai/v1"
                };
                format!("https://bedrock-runtime.{region}.amazonaws.com{path}")
            }
            Kind::Vertex { project, region, .. } => {
                let host = if region == "global" {
                    "aiplatform.googleapis.com".to_owned()
                } else {
                    format!("{region}-aiplatform.googleapis.com")
                };
                let publisher = if mode == ApiMode::AnthropicMessages {
                    "anthropic"
                } else {
                    "google"
                };
                format!("https://{host}/v1/projects/{project}/locations/{region}/publishers/{publisher}")
            }
        }
    }

    /// A Messages request as this cloud takes it: the model is in the path, the version in the body.
    pub(crate) fn rewritten(&self, mut encoded: Encoded, identity: &ModelIdentity) -> Encoded {
        if identity.api_mode != ApiMode::AnthropicMessages {
            return encoded;
        }
        let Ok(mut body) = serde_json::from_slice::<Map<String, Value>>(&encoded.body) else {
            return encoded;
        };
        body.shift_remove("model");
        let model = sigv4::encoded(&identity.model, false);
        let streaming = encoded.facts.streaming;
        let version = match &self.kind {
            Kind::Bedrock { .. } => {
                body.shift_remove("stream");
                let betas = encoded
                    .headers
                    .iter()
                    .position(|(name, _)| *name == "anthropic-beta");
                if let Some(at) = betas {
                    let (_, betas) = encoded.headers.remove(at);
                    body.insert(
                        "anthropic_beta".to_owned(),
                        betas.split(',').map(str::trim).collect(),
                    );
                }
                let verb = if streaming {
                    "invoke-with-response-stream"
                } else {
                    "invoke"
                };
                encoded.path = format!("/model/{model}/{verb}");
                "bedrock-2023-05-31"
            }
            Kind::Vertex { .. } => {
                let verb = if streaming {
                    "streamRawPredict"
                } else {
                    "rawPredict"
                };
                encoded.path = format!("/models/{}:{verb}", identity.model);
                "vertex-2023-10-16"
            }
        };
        encoded.headers.retain(|(name, _)| *name != "anthropic-version");
        body.insert("anthropic_version".to_owned(), json!(version));
        encoded.body = Value::Object(body).to_string().into_bytes();
        encoded
    }

    /// Adds to a request the proof of who asks.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub(crate) async fn authorize(&self, request: &mut Request) -> Result<(), String> {
        let added = match &self.kind {
            Kind::Bedrock { region, source } => signed(request, region, source)?,
            Kind::Vertex { account, .. } => {
                let token = account.token(self.bundle.as_deref()).await?;
                vec![("authorization", format!("Bearer {}", token.expose_secret()))]
            }
        };
        for (name, value) in added {
            let mut value =
                HeaderValue::from_str(&value).map_err(|_| format!("the header {name} is no ASCII text"))?;
            value.set_sensitive(name != "x-amz-date");
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        Ok(())
    }

    /// What was proved with was refused: it is fetched anew.
    pub(crate) fn forget(&self) {
        match &self.kind {
            Kind::Bedrock { .. } => {}
            Kind::Vertex { account, .. } => account.forget(),
        }
    }
}

fn signed(
    request: &Request,
    region: &str,
    source: &aws::Source,
) -> Result<Vec<(&'static str, String)>, String> {
    if let aws::Source::Bearer(token) = source {
        return Ok(vec![(
            "authorization",
            format!("Bearer {}", token.expose_secret()),
        )]);
    }
    let keys = source.keys().ok_or("the AWS profile has no keys any more")?;
    let moment = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let body = request
        .body()
        .and_then(reqwest::Body::as_bytes)
        .unwrap_or_default();
    let content = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let headers: Vec<(&str, &str)> = content.map(|value| ("content-type", value)).into_iter().collect();
    let scope = sigv4::Scope {
        region,
        service: "bedrock",
        moment: &moment,
    };
    Ok(sigv4::sign(
        request.method().as_str(),
        request.url(),
        &headers,
        body,
        (&keys, scope),
    ))
}
