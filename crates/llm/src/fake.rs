//! A scripted provider for tests.
