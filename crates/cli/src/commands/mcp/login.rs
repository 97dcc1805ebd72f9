//! `mcp login` and `mcp logout`.

use std::io::{BufRead, IsTerminal};

use serde_json::json;
use talaria_mcp::{Login, McpError};

use super::{find, runtime};
use crate::commands::auth::open_browser;
use crate::exit::{DONE, Failure, INTERRUPTED, Outcome};
use crate::output;
use crate::place::Place;

pub(super) fn log_in(place: &Place, name: &str, no_browser: bool, json: bool) -> Outcome {
    let settings = find(place, name)?;
    let home = place.home.root().to_owned();
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let login = Login::begin(&home, &settings).await?;
        output::note(&format!(
            "log in with the browser; if none opens, go to\n  {}\nWhere the browser runs on another machine, paste \
             the address it ends at here:",
            login.url()
        ));
        if !no_browser && std::io::stderr().is_terminal() {
            open_browser(login.url());
        }
        tokio::select! {
            done = login.wait() => done.map_err(Failure::from),
            Some(address) = pasted() => login.finish(&address).await.map_err(Failure::from),
            _ = tokio::signal::ctrl_c() => Err(Failure {
                code: INTERRUPTED,
                message: "the login was stopped".to_owned(),
                hint: None,
            }),
        }
    });
    // Nobody waits for the line that is not typed any more.
    runtime.shutdown_background();
    done?;
    if json {
        output::json(&json!({"name": name, "logged_in": true}));
    } else {
        output::note(&format!("logged in to {name}"));
    }
    Ok(DONE)
}

/// A line from stdin that holds an address; nothing at its end.
async fn pasted() -> Option<String> {
    let (sender, received) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines();
        let address = lines.map_while(Result::ok).find(|line| line.contains("code="));
        if let Some(address) = address {
            let _ = sender.send(address);
        } else {
            // The browser may still come back.
            std::mem::forget(sender);
        }
    });
    received.await.ok()
}

pub(super) fn log_out(place: &Place, name: &str, json: bool) -> Outcome {
    let was = talaria_mcp::logout(place.home.root(), name)?;
    if json {
        output::json(&json!({"name": name, "logged_in": false, "was": was}));
    } else if was {
        output::note(&format!(
            "the login of {name} is forgotten here; the server may still know it"
        ));
    } else {
        return Err(McpError::Here(format!("there is no login of {name}")).into());
    }
    Ok(DONE)
}
