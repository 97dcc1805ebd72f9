//! `db`: care for the database.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Row;
use crate::exit::Failure;

pub(super) const ROW: Row = Row {
    name: "db",
    about: "Check, back up, repair or shrink the database",
    define: Db::augment_args,
    run: |_, _, _| Err(Failure::failed("not here yet")),
};

#[derive(Args, Debug)]
struct Db {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Say whether the database is sound: exit code 0 if so, 1 if it is damaged.
    Check,
    /// Copy the database while it is in use.
    Backup {
        /// Where the copy goes.
        file: PathBuf,
    },
    /// Save what can be read and build the indexes anew.
    Repair,
    /// Give unused space back.
    Vacuum,
}
