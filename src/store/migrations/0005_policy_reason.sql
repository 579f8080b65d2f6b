-- Why it replaced the policy before, where nobody simply chose it: an undo, or the failure of that one.
ALTER TABLE policies ADD COLUMN reason TEXT NOT NULL DEFAULT '';
