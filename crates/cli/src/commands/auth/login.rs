//! A login for the first time: in the browser, or with a code on any device.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use talaria_config::{Loaded, env};
use talaria_providers::{BrowserLogin, DeviceLogin, LoginError, LoginRow, NewCredential};

use crate::exit::{FAILED, Failure, INTERRUPTED};
use crate::output;

/// Logs in and gives what is to be kept.
pub(super) fn log_in(
    loaded: &Loaded,
    row: &'static LoginRow,
    no_browser: bool,
    portal: Option<&str>,
) -> Result<NewCredential, Failure> {
    let bundle = loaded
        .variable(env::HERMES_CA_BUNDLE)
        .or_else(|| loaded.variable(env::SSL_CERT_FILE))
        .map(PathBuf::from);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::failed(format!("the program cannot start its tasks: {error}")))?;
    runtime.block_on(async {
        let way = Way {
            row,
            portal,
            bundle: bundle.as_deref(),
        };
        tokio::select! {
            done = way.go(no_browser) => done.map_err(|error| told(row, &error)),
            _ = tokio::signal::ctrl_c() => Err(Failure {
                code: INTERRUPTED,
                message: "the login was stopped".to_owned(),
                hint: None,
            }),
        }
    })
}

struct Way<'a> {
    row: &'static LoginRow,
    portal: Option<&'a str>,
    bundle: Option<&'a std::path::Path>,
}

impl Way<'_> {
    async fn go(&self, no_browser: bool) -> Result<NewCredential, LoginError> {
        if self.row.has_browser() && !no_browser {
            return self.browser().await;
        }
        if self.row.has_device() {
            return self.device(no_browser).await;
        }
        self.page().await
    }

    async fn browser(&self) -> Result<NewCredential, LoginError> {
        let login = BrowserLogin::begin(self.row, self.portal, self.bundle, false).await?;
        output::note(&format!(
            "log in with the browser; if none opens, go to\n  {}",
            login.url
        ));
        open(&login.url);
        login.wait().await
    }

    async fn device(&self, no_browser: bool) -> Result<NewCredential, LoginError> {
        let login = DeviceLogin::begin(self.row, self.portal, self.bundle).await?;
        output::note(&format!("go to {}\nand enter the code {}", login.url, login.code));
        if !no_browser {
            open(&login.url);
        }
        login.wait().await
    }

    async fn page(&self) -> Result<NewCredential, LoginError> {
        let login = BrowserLogin::begin(self.row, self.portal, self.bundle, true).await?;
        output::notes(&format!("go to\n  {}\nand enter the code it shows: ", login.url));
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        read.map_err(|error| LoginError::Here(format!("the code cannot be read: {error}")))?;
        login.finish(&line).await
    }
}

/// Opens an address in the person's browser, if there is one. The address is printed beside.
pub(crate) fn open(url: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    drop(started);
}

fn told(row: &LoginRow, error: &LoginError) -> Failure {
    let failure = Failure {
        code: FAILED,
        message: format!("not logged in to {}: {error}", row.provider),
        hint: None,
    };
    match error {
        LoginError::Here(_) if row.has_device() => failure.hint("--no-browser logs in with a code instead"),
        LoginError::Here(_)
        | LoginError::Over(_)
        | LoginError::Unreachable(_)
        | LoginError::NotCompleted(_) => failure,
    }
}
