-- Members of groups (arrays): the number of their group's row, and their number in it.
ALTER TABLE jobs ADD COLUMN group_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN member_index BIGINT NOT NULL DEFAULT 0;
