//! The HTTP driver against a server that does exactly what a test says.

mod driver;
mod server;
mod windows;
