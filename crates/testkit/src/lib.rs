//! Scripted model server, temporary homes, fixed clock, conformance suites.
