-- The notable events among the many that jobs make by coming, running and ending (sqlite_reader.cpp has the same words).
CREATE INDEX events_notable ON events(seq) WHERE kind NOT IN ('job.progress', 'job.submitted', 'job.image', 'job.checkpoint_copied', 'job.files_removed') AND (kind <> 'job.state' OR to_state NOT IN ('pending', 'starting', 'stopping', 'running', 'succeeded', 'held'));
