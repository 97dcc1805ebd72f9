//! Skills on a disk.

#[cfg(test)]
mod change;
#[cfg(test)]
mod find;
#[cfg(test)]
mod install;
#[cfg(test)]
mod rig;
