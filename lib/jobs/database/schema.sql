-- The daemon's database. Each migration follows a line with its number, and is never changed once released: schema.cpp
-- runs those that the file does not have yet.

-- version 1
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  purpose TEXT NOT NULL DEFAULT 'none',
  reason TEXT NOT NULL DEFAULT '',
  priority INTEGER NOT NULL DEFAULT 0,
  threads INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  gpus INTEGER NOT NULL,
  assigned_gpus TEXT NOT NULL DEFAULT '[]',
  folder TEXT NOT NULL,
  run_dir TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  interruptions INTEGER NOT NULL DEFAULT 0,
  cause TEXT NOT NULL DEFAULT '',
  checkpoint TEXT NOT NULL DEFAULT '',
  exit_code INTEGER,
  submitted_ms INTEGER NOT NULL,
  started_ms INTEGER NOT NULL DEFAULT 0,
  ended_ms INTEGER NOT NULL DEFAULT 0,
  uid INTEGER NOT NULL,
  sweep INTEGER NOT NULL DEFAULT 0,
  token TEXT UNIQUE,
  unmet INTEGER NOT NULL DEFAULT 0  -- of the jobs that it comes after: how many have not succeeded
);
CREATE INDEX jobs_by_turn ON jobs (state, unmet, priority DESC, id);
CREATE INDEX jobs_by_sweep ON jobs (sweep, id) WHERE sweep != 0;
CREATE INDEX jobs_by_run ON jobs (run_dir);

-- Run files are large and many jobs of a sweep differ in a line: apart, so that listing reads none of them.
CREATE TABLE configs (
  job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  yaml TEXT NOT NULL
);

CREATE TABLE dependencies (
  job INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  after INTEGER NOT NULL REFERENCES jobs (id),
  PRIMARY KEY (job, after)
) WITHOUT ROWID;
CREATE INDEX dependencies_by_after ON dependencies (after);

-- Who asked for what, and the state that the job had from then on. Nothing is ever taken out of it.
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  uid INTEGER NOT NULL,
  what TEXT NOT NULL,
  job INTEGER,
  state TEXT NOT NULL,
  details TEXT NOT NULL
);

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
