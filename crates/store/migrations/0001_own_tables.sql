-- What Talaria keeps beside the tables of Hermes. Hermes never looks at these.

-- One compression, or one undo of it: the fold that turns the log into what a model is sent.
CREATE TABLE compactions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_before TEXT NOT NULL,
    session_after TEXT NOT NULL,
    trigger TEXT NOT NULL,
    created_at REAL NOT NULL,
    first_hidden INTEGER,           -- the originals that were hidden: the range and the list
    last_hidden INTEGER,
    source_ids TEXT NOT NULL,
    rows_before TEXT NOT NULL,      -- the rows that were live, in order: what an undo brings back
    copies TEXT NOT NULL,           -- {copy: origin} of the rows that were written
    first_written INTEGER,          -- the range of the rows that were written
    last_written INTEGER,
    summary_message_id INTEGER,
    summary TEXT NOT NULL,
    anchors TEXT NOT NULL,
    anchors_kept INTEGER NOT NULL,
    anchors_total INTEGER NOT NULL,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    usage TEXT NOT NULL,
    cost_usd REAL,
    model TEXT,
    duration_ms INTEGER NOT NULL,
    undone_by TEXT
);
CREATE INDEX idx_compactions_before ON compactions(session_before);
CREATE INDEX idx_compactions_after ON compactions(session_after);

-- Rows that repeat another row (a rotation, a branch or an undo writes them), with the row they repeat.
CREATE TABLE message_copies (
    copy_id INTEGER PRIMARY KEY,
    origin_id INTEGER NOT NULL,
    session_id TEXT NOT NULL
);
CREATE INDEX idx_message_copies_session ON message_copies(session_id);
CREATE INDEX idx_message_copies_origin ON message_copies(origin_id);

-- The one line that may stand in for a tool result after a compression.
CREATE TABLE message_briefs (
    session_id TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    brief TEXT NOT NULL,
    PRIMARY KEY (session_id, message_id)
) WITHOUT ROWID;

-- Which rows need which file of images/, so that the last user of one takes it along.
CREATE TABLE message_images (
    digest TEXT NOT NULL,
    message_id INTEGER NOT NULL,
    PRIMARY KEY (digest, message_id)
) WITHOUT ROWID;
CREATE INDEX idx_message_images_message ON message_images(message_id);

-- How far each tool call has come.
CREATE TABLE tool_journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL,
    state TEXT NOT NULL,
    intended_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    pid INTEGER,
    result TEXT,
    result_sha256 TEXT,
    message_id INTEGER,
    UNIQUE (session_id, turn_id, call_id)
);
CREATE INDEX idx_tool_journal_open ON tool_journal(session_id, call_id) WHERE message_id IS NULL;

-- What replay needs, and the scaffolding of a turn that is no message.
CREATE TABLE turn_records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    created_at REAL NOT NULL,
    payload TEXT NOT NULL
);
CREATE INDEX idx_turn_records_turn ON turn_records(session_id, turn_id);

-- Who runs a turn of a session.
CREATE TABLE turn_leases (
    session_id TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    acquired_at REAL NOT NULL
);

-- Rows the person took back: search leaves them out without reading each row.
CREATE INDEX idx_messages_rewound ON messages(id) WHERE active = 0 AND compacted = 0;

-- Words of scripts that are written without spaces, as pairs of characters. Filled by Talaria
-- after the rows are stored; the highest row it has seen stands in state_meta.
CREATE VIRTUAL TABLE message_pairs USING fts5(
    pairs, content='', contentless_delete=1, tokenize='ascii'
);
