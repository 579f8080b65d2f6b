-- The text of a policy that a user wrote; empty for built-in ones.
ALTER TABLE policies ADD COLUMN source TEXT NOT NULL DEFAULT '';
