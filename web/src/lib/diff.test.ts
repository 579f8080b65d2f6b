import assert from 'node:assert/strict';
import test from 'node:test';
import { parseDiff, unquoted } from './diff';

const changed = `diff --git a/train.py b/train.py
index 422c2b7..de98044 100644
--- a/train.py
+++ b/train.py
@@ -1,3 +1,3 @@ def f():
 one
--- two
+++ three
 four
@@ -9 +9,2 @@
 nine
+ten
\\ No newline at end of file
`;

test('lines have their numbers, and are what their sign says, not what they look like', () => {
  const { files, notes } = parseDiff(changed);
  assert.deepEqual(notes, []);
  const [file] = files;
  assert.deepEqual([file?.name, file?.state, file?.added, file?.removed], ['train.py', 'changed', 2, 1]);
  assert.deepEqual(
    file?.rows.map(({ kind, before, after, text }) => [kind, before, after, text]),
    [
      ['place', null, null, '@@ -1,3 +1,3 @@ def f():'],
      ['same', 1, 1, 'one'],
      ['removed', 2, null, '-- two'],
      ['added', null, 2, '++ three'],
      ['same', 3, 3, 'four'],
      ['place', null, null, '@@ -9 +9,2 @@'],
      ['same', 9, 9, 'nine'],
      ['added', null, 10, 'ten'],
      ['note', null, null, 'No newline at end of file']
    ]
  );
});

test('new, removed, renamed, binary and empty files', () => {
  const { files } = parseDiff(`diff --git a/a b/a
new file mode 100644
index 0000000..e69de29
diff --git a/b b/b
deleted file mode 100644
--- a/b
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/old name b/new name
similarity index 90%
rename from old name
rename to new name
diff --git a/w b/w
index 1..2 100644
Binary files a/w and b/w differ
diff --git a/run b/run
old mode 100644
new mode 100755
`);
  assert.deepEqual(
    files.map(({ name, was, state, rows }) => [name, was, state, rows.map(({ text }) => text)]),
    [
      ['a', null, 'new', []],
      ['b', null, 'removed', ['@@ -1 +0,0 @@', 'x']],
      ['new name', 'old name', 'renamed', []],
      ['w', null, 'changed', ['A binary file: what it differs in is not kept.']],
      ['run', null, 'changed', ['old mode 100644', 'new mode 100755']]
    ]
  );
});

test('what only git can read of a binary file is not shown', () => {
  const { files, notes } = parseDiff(
    'diff --git a/w b/w\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmYdf\n\nliteral 0\nHcmV?d00001\n\n' +
      'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-y\n+z\n# 1 more file differs\n'
  );
  assert.deepEqual(
    files.map(({ name, rows }) => [name, rows.length]),
    [
      ['w', 1],
      ['a', 3]
    ]
  );
  assert.equal(files[0]?.rows[0]?.text, 'A binary file: git apply makes it what it was.');
  assert.deepEqual(notes, ['1 more file differs']);
});

test('names are read as git has quoted them, and what a terminal would obey has a sign', () => {
  assert.equal(unquoted('"ne\\303\\274 \\"1\\"\\t"'), 'neü "1"\t');
  assert.equal(unquoted('"訓\\n"'), '訓\n');
  assert.equal(unquoted('plain'), 'plain');
  const { files } = parseDiff(
    'diff --git "a/\\033[2J\\n<b>" "b/\\033[2J\\n<b>"\n--- /dev/null\n+++ "b/\\033[2J\\n<b>"\t\n@@ -0,0 +1 @@\n+\u001b]0;x\u0007\u202e\r\n'
  );
  assert.equal(files[0]?.name, '␛[2J␊<b>');
  assert.equal(files[0]?.rows[1]?.text, '␛]0;x␇<202e>␍');
  assert.equal(parseDiff('diff --git "a/x \\"y\\"" "b/x \\"y\\""\nnew file mode 100644\n').files[0]?.name, 'x "y"');
});

test('what is cut, broken or no diff at all is shown as far as it goes', () => {
  assert.deepEqual(parseDiff(`${changed}# 2 more files differ\n`).notes, ['2 more files differ']);
  assert.equal(parseDiff(`${changed}# 2 more files differ\n`).files.length, 1);
  assert.deepEqual(parseDiff(changed.slice(0, 130)).notes, ['It ends in the middle.']);
  assert.deepEqual(parseDiff('<script>alert(1)</script>'), { files: [], notes: ['<script>alert(1)</script>'] });
  assert.deepEqual(parseDiff(''), { files: [], notes: [] });
  // A place that promises more than comes does not swallow the next file.
  const torn = parseDiff('diff --git a/a b/a\n@@ -1,99 +1,99 @@\n+x\ndiff --git a/b b/b\n@@ -1 +1 @@\n-y\n+z\n');
  assert.deepEqual(torn.files.map(({ name, rows }) => [name, rows.length]), [['a', 2], ['b', 3]]);
});
