//! libFuzzer on `looks::decode_chat`.

#![no_main]
#[path = "../looks.rs"]
#[allow(dead_code, reason = "each target runs one of them")]
mod looks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| looks::decode_chat(bytes));
