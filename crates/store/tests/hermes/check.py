"""Opens a database that Talaria wrote with Hermes' own code: reads, searches, writes, compacts, deletes.

Run by hand, with Hermes 0.14 or 0.19 installed in the Python that runs it:

    cargo run --example sample_db -p talaria-store -- /tmp/t/state.db
    python -m venv /tmp/hermes && /tmp/hermes/bin/pip install hermes-agent==0.19.0
    HERMES_HOME=/tmp/t /tmp/hermes/bin/python crates/store/tests/hermes/check.py /tmp/t/state.db
"""
import pathlib
import sqlite3
import sys

from hermes_state import SessionDB

OLD, TIP, BRANCH, UNDONE = (
    "20260101_090000_aaaaaa", "20260101_100000_bbbbbb", "20260101_110000_cccccc", "20260101_120000_dddddd")
path = pathlib.Path(sys.argv[1])
db = SessionDB(path)
new = hasattr(db, "archive_and_compact")


def found(text):
    return {(m["session_id"], m["id"]): m["snippet"] for m in db.search_messages(text)}


listed = [s["id"] for s in db.list_sessions_rich(limit=50)]
assert TIP in listed and OLD not in listed, listed
assert not new or (BRANCH in listed and UNDONE in listed), listed
assert db.get_compression_tip(OLD) == TIP
old = db.get_messages_as_conversation(OLD)
assert [m["role"] for m in old] == ["user", "assistant", "tool", "assistant", "user", "assistant"], old
assert old[1]["tool_calls"][0]["function"]["arguments"] == '{"command":"echo 桂林山水"}', old[1]
assert old[4]["content"][1]["text"].startswith("[image: images/"), old[4]
tip = db.get_messages_as_conversation(TIP)
assert tip[0]["content"].startswith("[CONTEXT COMPACTION") and tip[-1]["content"] == "final answer", tip
if new:
    branch = db.get_messages_as_conversation(BRANCH)
    assert len(branch) == 2, branch
undone = db.get_messages_as_conversation(UNDONE)
assert [m["content"] for m in undone][-2:] == ["and then", "final answer"] and len(undone) == 8, undone

for text in ("PELICANQ", "WALRUS", "数据库", "桂林山水", "图片说明", "echo"):
    hits = found(text)
    assert any(session == OLD for session, _ in hits), (text, hits)
    assert any(">>>" in snippet for snippet in hits.values()), (text, hits)

added = db.append_message(TIP, role="user", content="written by the other program 部署程序 OTHERWORD")
db.append_message(TIP, role="user", content=[{"type": "text", "text": "列表里面的文字 LISTWORD"}])
for text in ("OTHERWORD", "部署程序", "LISTWORD"):
    assert found(text), text
db.set_session_title(TIP, "Named there")
if new:
    assert db.optimize_fts() == 2 and db.rebuild_fts() == 2
    assert found("OTHERWORD") and found("PELICANQ")
    db.archive_and_compact(BRANCH, [{"role": "user", "content": "compacted there ARCHWORD"}])
    assert found("ARCHWORD")
db.replace_messages(UNDONE, [{"role": "user", "content": "replaced REPLWORD 全部替换"}])
assert found("REPLWORD") and found("全部替换")
db.vacuum()
assert db.delete_session(UNDONE) and not found("REPLWORD")
db.close()

con = sqlite3.connect(path)
assert con.execute("pragma integrity_check").fetchall() == [("ok",)]
for table in ("messages_fts", "messages_fts_trigram"):
    con.execute(f"insert into {table}({table}, rank) values ('integrity-check', 1)")
assert con.execute("select count(*) from messages").fetchone() == con.execute(
    "select count(*) from messages_fts_docsize").fetchone()
assert con.execute("select version from schema_version").fetchone() == (22,)
print("ok:", added, sqlite3.sqlite_version)
