-- The tables of schema 12. {serial}, {double} and {binary} are what each kind of database calls them.
CREATE TABLE answers (
    run VARCHAR(32) NOT NULL, statement_id VARCHAR(32) NOT NULL, draw INTEGER DEFAULT '0' NOT NULL, "key"
    VARCHAR(64) NOT NULL, answer BOOLEAN, p_true {double}, p_mass {double}, raw TEXT, failure TEXT, asked_at
    VARCHAR(32) NOT NULL, p_low {double}, p_high {double}, cut VARCHAR(32), served_model TEXT, fingerprint TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, seconds {double}, attempts INTEGER, position INTEGER, batch
    INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (run, statement_id, draw)
);
CREATE INDEX ix_answers_batch ON answers (run, batch);
CREATE INDEX ix_answers_key ON answers ("key");
CREATE TABLE demonstrations (
    run VARCHAR(32) NOT NULL, shots_of VARCHAR(300) NOT NULL, position INTEGER NOT NULL, text TEXT NOT NULL, label
    BOOLEAN NOT NULL, PRIMARY KEY (run, shots_of, position)
);
CREATE TABLE draft_decisions (
    owner VARCHAR(64) NOT NULL, run VARCHAR(32) NOT NULL, relation VARCHAR(1000) NOT NULL, accepted BOOLEAN NOT
    NULL, sentences TEXT NOT NULL, decided_at VARCHAR(32) NOT NULL, PRIMARY KEY (owner, run, relation)
);
CREATE TABLE events (
    number {serial} NOT NULL, run VARCHAR(32) NOT NULL, at VARCHAR(32) NOT NULL, what VARCHAR(32) NOT NULL, said
    TEXT, PRIMARY KEY (number)
);
CREATE INDEX ix_events_run ON events (run);
CREATE TABLE prototype_edits (
    number {serial} NOT NULL, owner VARCHAR(64) NOT NULL, pool VARCHAR(256) NOT NULL, relation VARCHAR(1000) NOT
    NULL, form VARCHAR(16) NOT NULL, sentence TEXT NOT NULL, signed_by VARCHAR(120) NOT NULL, decided_at VARCHAR(32)
    NOT NULL, PRIMARY KEY (number)
);
CREATE INDEX ix_prototype_edits_owner ON prototype_edits (owner);
CREATE TABLE publications (
    run VARCHAR(32) NOT NULL, name TEXT NOT NULL, published_at VARCHAR(32) NOT NULL, PRIMARY KEY (run)
);
CREATE TABLE rejections (
    owner VARCHAR(64) NOT NULL, fact_id VARCHAR(32) NOT NULL, tail VARCHAR(1000) NOT NULL, rejected_at VARCHAR(32)
    NOT NULL, reason TEXT DEFAULT '' NOT NULL, PRIMARY KEY (owner, fact_id, tail)
);
CREATE TABLE retrieved (
    run VARCHAR(32) NOT NULL, statement_id VARCHAR(32) NOT NULL, passages TEXT NOT NULL, gold INTEGER NOT NULL,
    PRIMARY KEY (run, statement_id)
);
CREATE TABLE run_statements (
    run VARCHAR(32) NOT NULL, position INTEGER NOT NULL, statement_id VARCHAR(32) NOT NULL, shots_of VARCHAR(300)
    NOT NULL, draw INTEGER DEFAULT '0' NOT NULL, fact INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (run, position)
);
CREATE INDEX ix_run_statements_fact ON run_statements (run, fact);
CREATE INDEX ix_run_statements_statement ON run_statements (run, statement_id, draw);
CREATE TABLE runs (
    number {serial} NOT NULL, run VARCHAR(32) NOT NULL, owner VARCHAR(64) NOT NULL, state VARCHAR(16) NOT NULL,
    reason TEXT, started_at VARCHAR(32) NOT NULL, finished_at VARCHAR(32), model VARCHAR(512) NOT NULL,
    model_revision VARCHAR(128), chat BOOLEAN, decoding TEXT, dataset VARCHAR(512) NOT NULL, dataset_fingerprint
    VARCHAR(64) NOT NULL, pool VARCHAR(256) NOT NULL, shots INTEGER NOT NULL, spec TEXT NOT NULL, versions TEXT NOT
    NULL, notes TEXT NOT NULL, statements INTEGER NOT NULL, facts INTEGER DEFAULT '0' NOT NULL, pool_text TEXT,
    population TEXT, name TEXT, note TEXT, changed INTEGER DEFAULT '0' NOT NULL, worker VARCHAR(200), beat_at
    VARCHAR(32), deleted_at VARCHAR(32), PRIMARY KEY (number), UNIQUE (run)
);
CREATE INDEX ix_runs_owner ON runs (owner);
CREATE TABLE schema_version (
    version {serial} NOT NULL, PRIMARY KEY (version)
);
CREATE TABLE sheets (
    run VARCHAR(32) NOT NULL, columns {binary} NOT NULL, figures TEXT, figures_of INTEGER, PRIMARY KEY (run)
);
CREATE TABLE statements (
    statement_id VARCHAR(32) NOT NULL, fact_id TEXT NOT NULL, negative_of TEXT, head TEXT NOT NULL, relation TEXT
    NOT NULL, tail TEXT, head_type TEXT, tail_type TEXT, head_id TEXT, tail_id TEXT, source TEXT, source_id TEXT,
    strength TEXT, specialty TEXT, difficulty TEXT, positive BOOLEAN NOT NULL, k INTEGER NOT NULL, pool VARCHAR(256)
    NOT NULL, variant VARCHAR(16) NOT NULL, text TEXT NOT NULL, origin VARCHAR(64) NOT NULL, PRIMARY KEY
    (statement_id)
);
CREATE TABLE verdicts (
    number {serial} NOT NULL, owner VARCHAR(64) NOT NULL, reviewer VARCHAR(120) NOT NULL, fact_id VARCHAR(32) NOT
    NULL, statement_id VARCHAR(32) NOT NULL, verdict VARCHAR(32) NOT NULL, reasons TEXT NOT NULL, wording TEXT NOT
    NULL, comment TEXT NOT NULL, evidence TEXT NOT NULL, role VARCHAR(16) NOT NULL, blind BOOLEAN NOT NULL, queue
    VARCHAR(16) NOT NULL, bulk BOOLEAN NOT NULL, seconds {double}, decided_at VARCHAR(32) NOT NULL, PRIMARY KEY
    (number)
);
CREATE INDEX ix_verdicts_fact_id ON verdicts (fact_id);
CREATE INDEX ix_verdicts_owner ON verdicts (owner);
