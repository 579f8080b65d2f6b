import assert from 'node:assert/strict';
import test from 'node:test';
import { LogGroups, titleOf } from './log_groups';
import { cellsOf, LogRows } from './log_rows';

function groupsOf(lines: string[]): LogGroups {
  const groups = new LogGroups();
  lines.forEach((line, index) => groups.add(line, index));
  return groups;
}
const shapeOf = (groups: LogGroups): (number | null)[][] => groups.all.map(({ head, end }) => [head, end]);

test('a group lasts to its end, a heading to the next one', () => {
  const groups = groupsOf(['a', '::group::Install', 'b', '--- in it', '::endgroup::', 'c', '--- Train', 'd', '+++ Test', 'e']);
  assert.deepEqual(shapeOf(groups), [[1, 5], [6, 8], [8, null]]);
  assert.deepEqual(['::group::Install', '--- Train', '+++ Test', '::group::'].map(titleOf), ['Install', 'Train', 'Test', 'group']);
});

test('what looks like the mark of a group but is none stays a line', () => {
  for (const line of ['---', '--- ', '----', ' --- x', '::endgroup::', 'see ::group::x'])
    assert.equal(groupsOf(['a', line]).all.length, 0, line);
  assert.equal(groupsOf(['\x1b[1m\x1b[34m::group::coloured']).all.length, 1);
});

test('a folded group hides its lines but not its name; the line that ends it is never shown', () => {
  const groups = groupsOf(['::group::x', 'a', 'b', '::endgroup::', 'c']);
  const hidden = (): number[] => [0, 1, 2, 3, 4].filter((index) => groups.hides(index));
  assert.deepEqual(hidden(), [3]);
  const group = groups.headedBy(0);
  assert.ok(group);
  group.isFolded = true;
  assert.deepEqual(hidden(), [1, 2, 3]);
  assert.equal(groups.foldOf(2), group);
  assert.equal(groups.foldOf(4), undefined);
});

test('an attempt ends what was open; lines that are dropped move the rest', () => {
  const groups = groupsOf(['x', '--- old', 'a', 'b']);
  groups.close(4);
  assert.deepEqual(shapeOf(groups), [[1, 4]]);
  groups.add('::group::new', 4);
  groups.add('::endgroup::', 6);
  groups.drop(2);
  assert.deepEqual(shapeOf(groups), [[2, 5]]);
  assert.equal(groups.hides(4), true);
});

test('rows lead to their lines and back', () => {
  const rows = new LogRows();
  const heights = [1, 3, 0, 2];
  rows.update(0, 4, (index) => heights[index] ?? 0);
  assert.equal(rows.count, 6);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map((row) => rows.lineAt(row)), [0, 1, 1, 1, 3, 3, 4]);
  assert.deepEqual([0, 1, 2, 3, 4].map((line) => rows.rowOf(line)), [0, 1, 4, 4, 6]);
  rows.update(3, 5000, () => 2);
  assert.equal(rows.count, 4 + 2 * 4997);
  assert.equal(rows.lineAt(9000), 3 + (9000 - 4) / 2);
  rows.update(0, 2, () => 1);
  assert.equal(rows.count, 2);
});

test('wide signs take two cells', () => {
  assert.deepEqual(['abc', 'é', '漢字', '\tx', '🎉'].map(cellsOf), [3, 1, 4, 9, 2]);
});
