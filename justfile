# What CI runs.
check:
    .ci/run

# Format everything.
fmt:
    cargo fmt --all

# Lint with warnings denied.
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# All tests; `just test -p talaria-turn` for one crate.
test *ARGS:
    INSTA_UPDATE=no cargo test --workspace {{ARGS}}

# Accept what snapshots show now. Read the diff before you commit it.
snapshots *ARGS:
    INSTA_UPDATE=always cargo test --workspace {{ARGS}}

# The rules of the house that the compiler does not know.
tidy:
    cargo xtask tidy

# Write the generated documents.
docs:
    cargo xtask docs

# Figures beside the floor of the same machine.
bench *ARGS:
    cargo build --release
    cargo xtask bench {{ARGS}}

# The main job on the built-in model, without key or network.
demo:
    cargo run --release -- demo
