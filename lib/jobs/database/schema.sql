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

-- version 2
-- What a run is trained to, where that is more or less than its run file says; 0: as the run file says.
ALTER TABLE jobs ADD COLUMN epochs INTEGER NOT NULL DEFAULT 0;

-- Both texts are those of the time of submission: the files may have changed since.
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  state TEXT NOT NULL,
  sweep_text TEXT NOT NULL,
  run_text TEXT NOT NULL,
  folder TEXT NOT NULL,
  run_dir TEXT NOT NULL,
  submitted_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL DEFAULT 0,
  uid INTEGER NOT NULL,
  token TEXT UNIQUE
);
CREATE INDEX sweeps_by_state ON sweeps (state);

-- The jobs of a sweep: which of its configurations and seeds, the rung of halving that it is to reach, and whether it
-- has its turn.
CREATE TABLE trials (
  job INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  sweep INTEGER NOT NULL REFERENCES sweeps (id),
  configuration INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  rung INTEGER NOT NULL DEFAULT 0,
  turn TEXT NOT NULL
);
CREATE INDEX trials_by_sweep ON trials (sweep, configuration, seed);

-- Of each rung that a trial reached; the run's summary.json has the last one alone. NULL: no number.
CREATE TABLE results (
  job INTEGER NOT NULL REFERENCES trials (job) ON DELETE CASCADE,
  rung INTEGER NOT NULL,
  value REAL,
  PRIMARY KEY (job, rung)
) WITHOUT ROWID;

-- version 3
-- What the run was forecast to take, as JSON (config/facts/estimate.h), and the most memory that an attempt has had.
ALTER TABLE jobs ADD COLUMN forecast TEXT NOT NULL DEFAULT '{}';
ALTER TABLE jobs ADD COLUMN peak_bytes INTEGER NOT NULL DEFAULT 0;

-- version 4
-- Those that ended last are listed each time that a page is drawn.
CREATE INDEX jobs_by_end ON jobs (state, ended_ms);

-- version 5
-- So are those whose turn is next, also where they wait for others.
CREATE INDEX jobs_by_priority ON jobs (state, priority DESC, id);
