//! Jobs that run at their time: kept, due, locked, and what came of them.
