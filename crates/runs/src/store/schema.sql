-- A run directory's memory. Everything here is written in transactions that end at a round
-- or at a stage, so whoever reads it sees a run as it was at such a moment.

-- What the run is: its settings, what they were read from, and how it stands.
CREATE TABLE run (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE participants (
    id INTEGER PRIMARY KEY,         -- its place in the federation file, counted from 0
    name TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,           -- its data file, or that its data is generated
    source_hash TEXT NOT NULL,      -- SHA-256 of what was read
    samples INTEGER NOT NULL,
    few INTEGER NOT NULL DEFAULT 0  -- whether a class has so few rows that figures say little
) STRICT;

-- a's own report that it competes with b.
CREATE TABLE competing (
    a INTEGER NOT NULL REFERENCES participants,
    b INTEGER NOT NULL REFERENCES participants,
    since INTEGER NOT NULL DEFAULT 0, -- the first round for which it was known
    heard INTEGER NOT NULL DEFAULT 0, -- with which of the declarations; 0: from the beginning
    PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;

-- Which samples are for what, in each session.
CREATE TABLE splits (
    session TEXT NOT NULL,          -- final, or repeat 1 fold 1, …
    participant INTEGER NOT NULL REFERENCES participants,
    training INTEGER NOT NULL,
    validation INTEGER NOT NULL,
    test INTEGER NOT NULL,
    hash TEXT NOT NULL,             -- SHA-256 of the rows of the three parts
    tested TEXT NOT NULL,           -- JSON: the numbers of the rows of the test in their file
    PRIMARY KEY (session, participant)
) STRICT, WITHOUT ROWID;

-- Who would help whom, as an estimator found it.
CREATE TABLE estimates (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,          -- final, or repeat 1 fold 1, …
    estimator TEXT NOT NULL,
    gradients INTEGER,              -- what it cost each participant; NULL if it was not finished
    entries INTEGER NOT NULL DEFAULT 0, -- the last entry of its ledger
    before INTEGER NOT NULL DEFAULT 1, -- the first round of a training that knew of it
    known INTEGER NOT NULL DEFAULT 0, -- the last declaration that had been heard when it began
    hash TEXT,                      -- SHA-256 of all that is stored of it
    UNIQUE (session, estimator)
) STRICT;

CREATE TABLE benefits (
    session TEXT NOT NULL,          -- final, or repeat 1 fold 1, …
    estimator TEXT NOT NULL,
    helper INTEGER NOT NULL REFERENCES participants,
    helped INTEGER NOT NULL REFERENCES participants,
    benefit REAL NOT NULL,
    related REAL,                   -- how probable it is that both have one task; NULL where that is not asked
    PRIMARY KEY (session, estimator, helper, helped)
) STRICT, WITHOUT ROWID;

-- One training: a method in a session.
CREATE TABLE trainings (
    id INTEGER PRIMARY KEY,
    session TEXT NOT NULL,          -- final, or repeat 1 fold 1, …
    method TEXT NOT NULL,
    role TEXT NOT NULL,             -- own, baseline or reference
    rule TEXT NOT NULL,             -- the rule that its plans keep: paths or messages
    policy TEXT NOT NULL,
    trainer TEXT NOT NULL,
    estimator TEXT,                 -- NULL where the plan needs no benefits
    rounds INTEGER NOT NULL,
    gradients INTEGER,              -- for each participant, estimate included; NULL until it is done
    certificate TEXT NOT NULL,      -- JSON, as `select --certificate` writes it
    welfare REAL,                   -- of its plan; NULL where there is none
    upper_bound REAL,               -- no plan that keeps the rule has a larger welfare
    note TEXT,                      -- what else there is to say of how the plan was made
    forecast TEXT,                  -- JSON: what the estimate predicts under both rules
    entries INTEGER NOT NULL DEFAULT 0, -- the last entry of its ledger when that was last written
    hash TEXT,                      -- SHA-256 of all that is stored of it
    UNIQUE (session, method)
) STRICT;

-- helped may use what helper sends.
CREATE TABLE usage (
    training INTEGER NOT NULL REFERENCES trainings,
    helper INTEGER NOT NULL REFERENCES participants,
    helped INTEGER NOT NULL REFERENCES participants,
    PRIMARY KEY (training, helper, helped)
) STRICT, WITHOUT ROWID;

-- The plans of a training whose plan changes, the first one included. `usage` is the last one.
CREATE TABLE plans (
    id INTEGER PRIMARY KEY,         -- the last one counts
    training INTEGER NOT NULL REFERENCES trainings,
    round INTEGER NOT NULL,         -- the first round that follows it
    known INTEGER NOT NULL,         -- the last declaration that had been heard when it was made
    plan TEXT NOT NULL,             -- JSON, as `select --out` writes it
    certificate TEXT NOT NULL,      -- JSON
    why TEXT NOT NULL               -- in words
) STRICT;

-- A useful edge that the plan does not have, and why.
CREATE TABLE refusals (
    training INTEGER NOT NULL REFERENCES trainings,
    helper INTEGER NOT NULL REFERENCES participants,
    helped INTEGER NOT NULL REFERENCES participants,
    reason TEXT NOT NULL,
    PRIMARY KEY (training, helper, helped)
) STRICT, WITHOUT ROWID;

-- Information that flows besides the models in the ledger, by the nature of what was
-- chosen; with the competing pairs that it would join.
CREATE TABLE flows (
    training INTEGER NOT NULL REFERENCES trainings,
    source TEXT NOT NULL,           -- estimator, trainer, scaling or method
    statement TEXT NOT NULL,        -- what flows
    pairs TEXT NOT NULL,            -- JSON: [[a, b], …]
    PRIMARY KEY (training, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE metrics (
    training INTEGER NOT NULL REFERENCES trainings,
    participant INTEGER NOT NULL REFERENCES participants,
    round INTEGER NOT NULL,
    split TEXT NOT NULL,
    metric TEXT NOT NULL,
    value REAL,                     -- NULL where it is undefined
    PRIMARY KEY (training, participant, round, split, metric)
) STRICT, WITHOUT ROWID;

-- What the messages of a training would reveal of few rows, and what was done about it.
CREATE TABLE disclosures (
    id INTEGER PRIMARY KEY,
    training INTEGER NOT NULL REFERENCES trainings,
    disclosure TEXT NOT NULL        -- JSON
) STRICT;

-- What the models predict for the rows of the test: the outputs of the model, row by row.
CREATE TABLE predictions (
    training INTEGER NOT NULL REFERENCES trainings,
    participant INTEGER NOT NULL REFERENCES participants,
    outputs BLOB NOT NULL,          -- 4 bytes each, little-endian
    PRIMARY KEY (training, participant)
) STRICT, WITHOUT ROWID;

-- Figures of all sessions together, with 95 % intervals; NULL where they are not defined.
CREATE TABLE figures (
    id INTEGER PRIMARY KEY,
    method TEXT NOT NULL,
    metric TEXT NOT NULL,
    participant INTEGER REFERENCES participants, -- NULL for the mean over the participants
    value REAL,
    low REAL,
    high REAL,
    gain REAL,                      -- over the method that trains everybody alone; above 0 is better
    gain_low REAL,
    gain_high REAL
) STRICT;

-- Whatever has moved in trainings. The coordinator is NULL.
CREATE TABLE ledger (
    training INTEGER NOT NULL REFERENCES trainings,
    entry INTEGER NOT NULL,
    round INTEGER NOT NULL,
    sender INTEGER REFERENCES participants,
    receiver INTEGER REFERENCES participants,
    content TEXT NOT NULL,
    made_of TEXT NOT NULL,          -- JSON: the entries that it was made of
    provenance TEXT NOT NULL,       -- JSON: the participants whose data it carries
    bytes INTEGER NOT NULL,
    hash TEXT NOT NULL,             -- SHA-256 of the numbers, little-endian
    PRIMARY KEY (training, entry)
) STRICT, WITHOUT ROWID;

-- Whatever has moved in estimates: the same columns.
CREATE TABLE estimate_ledger (
    estimate INTEGER NOT NULL REFERENCES estimates,
    entry INTEGER NOT NULL,
    round INTEGER NOT NULL,
    sender INTEGER REFERENCES participants,
    receiver INTEGER REFERENCES participants,
    content TEXT NOT NULL,
    made_of TEXT NOT NULL,
    provenance TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (estimate, entry)
) STRICT, WITHOUT ROWID;

-- Who was missing, and what was refused.
CREATE TABLE incidents (
    id INTEGER PRIMARY KEY,
    training INTEGER NOT NULL REFERENCES trainings,
    round INTEGER NOT NULL,
    participant INTEGER NOT NULL REFERENCES participants,
    kind TEXT NOT NULL
) STRICT;

-- Trainings and estimates that the guard has stopped, which goes away when a resumed run gets past that round.
-- What moved until then is in the ledger, beyond the checkpoint.
CREATE TABLE stops (
    session TEXT NOT NULL,          -- final, or repeat 1 fold 1, …
    method TEXT NOT NULL,
    round INTEGER NOT NULL,         -- 0: before the training was begun
    message TEXT NOT NULL,
    PRIMARY KEY (session, method)
) STRICT, WITHOUT ROWID;

-- Where to go on after an interruption.
CREATE TABLE checkpoints (
    training INTEGER PRIMARY KEY REFERENCES trainings,
    round INTEGER NOT NULL,
    gradients INTEGER NOT NULL,     -- of all participants
    state BLOB NOT NULL,
    exchange BLOB NOT NULL,
    hash BLOB NOT NULL              -- SHA-256 of both
) STRICT;

-- The last model accepted from each remote participant, until the training ends; and of what
-- carried fewer participants' data, the last each time, for whom a competition is declared too
-- late. The numbers are in files, which have the hash that the ledger says.
CREATE TABLE kept (
    training INTEGER NOT NULL REFERENCES trainings,
    participant INTEGER NOT NULL REFERENCES participants,
    entry INTEGER NOT NULL,         -- in the ledger
    receipt BLOB NOT NULL,          -- what it was, and whose data it carries
    PRIMARY KEY (training, participant, entry)
) STRICT, WITHOUT ROWID;

-- Everybody's model in the end.
CREATE TABLE models (
    training INTEGER NOT NULL REFERENCES trainings,
    participant INTEGER NOT NULL REFERENCES participants,
    file TEXT,                      -- NULL where only its figures are kept
    file_hash TEXT,                 -- SHA-256 of the whole file
    hash TEXT NOT NULL,             -- SHA-256 of the parameters, little-endian
    provenance TEXT NOT NULL,       -- JSON: the participants whose data it carries
    parts TEXT NOT NULL,            -- JSON: [[participant, part], …] of its mixtures
    PRIMARY KEY (training, participant)
) STRICT, WITHOUT ROWID;

-- How long it took. Never exported: it differs from run to run.
CREATE TABLE seconds (
    training INTEGER PRIMARY KEY REFERENCES trainings,
    seconds REAL NOT NULL
) STRICT;
