-- How many of the jobs that ended are groups is counted at each start.
CREATE INDEX finished_groups ON jobs(state) WHERE finished_us IS NOT NULL AND substr(extra_json, 1, 1) = '{';
