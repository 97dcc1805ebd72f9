//! The connection that writes, one transaction a call.

use rusqlite::Connection;

use crate::Result;

/// The connection that writes.
pub(crate) struct Writer {
    connection: Connection,
    durable: bool,
}

impl Writer {
    /// A writer whose commits wait for the disk, as [`open`](super::connection::open) sets them.
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection,
            durable: true,
        }
    }

    /// The connection, to read what is written.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether commits wait for the disk from here on.
    pub(crate) fn set_durable(&mut self, durable: bool) -> Result<()> {
        if self.durable != durable {
            let level = if durable { "FULL" } else { "NORMAL" };
            self.connection
                .execute_batch(&format!("PRAGMA synchronous = {level}"))?;
            self.durable = durable;
        }
        Ok(())
    }

    /// Runs `body` in a transaction that takes the write lock at once.
    ///
    /// The words around it are prepared once: a call's own work is hardly more than parsing them.
    pub(crate) fn transact<T>(&self, body: &impl Fn(&Connection) -> Result<T>) -> Result<T> {
        if !self.connection.is_autocommit() {
            // A thread died within its transaction.
            self.say("ROLLBACK")?;
        }
        self.say("BEGIN IMMEDIATE")?;
        let done = body(&self.connection).and_then(|done| {
            self.say("COMMIT")?;
            Ok(done)
        });
        if done.is_err() && !self.connection.is_autocommit() {
            self.say("ROLLBACK")?;
        }
        done
    }

    fn say(&self, words: &str) -> Result<()> {
        self.connection.prepare_cached(words)?.execute([])?;
        Ok(())
    }
}
