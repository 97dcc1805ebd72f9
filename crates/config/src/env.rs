//! Every environment variable the program reads, by name.
