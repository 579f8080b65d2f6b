-- Which incarnations have left a checkpoint on their server. Nothing is known of those from before this step.
ALTER TABLE placements ADD COLUMN has_checkpoint BIGINT NOT NULL DEFAULT 0;
