//! The talaria binary: arguments, one-shot mode, interactive session.

fn main() {}
