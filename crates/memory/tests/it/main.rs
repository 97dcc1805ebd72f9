//! The memory on a disk: alone, and with many writers.

#[cfg(test)]
mod disk;
#[cfg(test)]
mod writers;
