import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reused, tallest, topOf, windowOf } from './window';

test('only the rows in view and a margin are elements', () => {
  assert.deepEqual(windowOf(1000, 20, 400, 200, 5), { first: 14, end: 36, offset: 280, height: 20_000 });
  assert.deepEqual(windowOf(3, 20, 0, 200, 5), { first: 0, end: 3, offset: 0, height: 60 });
  assert.deepEqual(windowOf(0, 20, 0, 200, 5), { first: 0, end: 0, offset: 0, height: 0 });
});

test('rows change by several at a time, and those in view and half of the margin are always there', () => {
  const windows = new Set<number>();
  for (let top = 400; top < 800; top += 1) {
    const { first, end } = windowOf(1000, 20, top, 200, 8);
    windows.add(first);
    assert.ok(first <= top / 20 - 8 && end >= (top + 200) / 20 + 8 && end - first <= 10 + 16 + 9, `${top}: ${first} to ${end}`);
  }
  assert.ok(windows.size <= 11, `${windows.size} windows for 20 rows`);
});

test('a list that is taller than a browser can is reached from its first row to its last', () => {
  const count = 2_000_000;
  const top = windowOf(count, 20, 0, 500, 0);
  assert.equal(top.height, tallest);
  assert.equal(top.first, 0);
  const bottom = windowOf(count, 20, tallest - 500, 500, 0);
  assert.equal(bottom.end, count);
  // The last row ends where the list ends.
  assert.ok(Math.abs(bottom.offset + (bottom.end - bottom.first) * 20 - tallest) < 1);
});

test('a row is where topOf scrolls to, in short lists and in tall ones', () => {
  for (const count of [5000, 3_000_000]) {
    for (const row of [0, 1234, count - 100]) {
      const { first, offset } = windowOf(count, 20, topOf(row, count, 20, 500), 500, 0);
      assert.ok(Math.abs(first - row) <= 1, `${row} of ${count}: ${first}`);
      assert.ok(Math.abs(offset - topOf(row, count, 20, 500)) <= 20);
    }
  }
});

test('rows follow the scroll position without a jump', () => {
  const count = 3_000_000;
  let last = -1;
  for (let top = 1_000_000; top < 1_000_100; top += 1) {
    const { first } = windowOf(count, 20, top, 500, 0);
    assert.ok(last < 0 || first - last <= 1);
    last = first;
  }
});

const from = (first: number, end: number): number[] => Array.from({ length: end - first }, (_, i) => first + i);

test('an element that leaves the view shows the row that enters, and those that stay are the same', () => {
  const reused = new Reused();
  const before = reused.of(from(10, 20));
  assert.deepEqual(before.map(({ row }) => row), from(10, 20));
  const down = reused.of(from(12, 22));
  assert.deepEqual(down.slice(0, 8), before.slice(2));
  for (let i = 0; i < 8; i += 1) assert.equal(down[i], before[i + 2]); // and not only alike: nothing is drawn for them
  assert.deepEqual(down.slice(8), [{ row: 20, key: before[0]?.key }, { row: 21, key: before[1]?.key }]);
  const up = reused.of(from(11, 21));
  assert.deepEqual(up[0], { row: 11, key: down.at(-1)?.key });
  assert.deepEqual(up.slice(1), down.slice(0, -1));
});

test('no two rows have one element, whatever is shown', () => {
  const reused = new Reused();
  for (let round = 0; round < 500; round += 1) {
    const first = (round * 7919) % 60;
    const rows = from(first, first + 5 + ((round * 31) % 25)).filter((row) => (row * round) % 7 !== 3); // some are folded away
    const shown = reused.of(rows);
    assert.deepEqual(shown.map(({ row }) => row), rows);
    assert.equal(new Set(shown.map(({ key }) => key)).size, rows.length);
  }
});

test('after a jump, and where as many leave as stay, all that enters has new elements', () => {
  for (const jump of [5, 9, 10, 1000, -5, -10]) {
    const reused = new Reused();
    const before = new Set(reused.of(from(2000, 2010)).map(({ key }) => key));
    for (const { row, key } of reused.of(from(2000 + jump, 2010 + jump)))
      assert.equal(before.has(key), row >= 2000 && row < 2010, `by ${jump}: ${row}`);
  }
});
