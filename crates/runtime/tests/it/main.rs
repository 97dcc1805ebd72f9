//! The engine against a scripted model server, over real HTTP.

mod arrows;
mod crash;
mod rig;
mod sessions;
