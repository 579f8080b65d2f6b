import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOf, shiftOf } from './compare';

test('less waiting is better, less use of GPUs is worse', () => {
  assert.deepEqual(differenceOf(88, 100), { text: '12 % less', tone: 'good' });
  assert.deepEqual(differenceOf(150, 100), { text: '50 % more', tone: 'bad' });
  assert.deepEqual(differenceOf(60, 80, false), { text: '25 % less', tone: 'bad' });
  assert.deepEqual(differenceOf(90, 80, false), { text: '13 % more', tone: 'good' });
});

test('small differences are not told from chance, and nothing is divided by nothing', () => {
  assert.equal(differenceOf(101, 100)?.tone, 'gone');
  assert.equal(differenceOf(100, 100)?.text, 'the same');
  assert.equal(differenceOf(0, 0)?.text, 'the same');
  assert.deepEqual(differenceOf(5, 0), { text: 'more', tone: 'bad' });
  assert.equal(differenceOf(null, 100), null);
  assert.equal(differenceOf(100, null), null);
  assert.equal(differenceOf(100_000, 10)?.text, 'over ten times as much');
});

test('an end moves by so many seconds', () => {
  assert.deepEqual(shiftOf('2026-04-05T10:00:00Z', '2026-04-05T10:01:00Z'), { seconds: 60, isLater: false });
  assert.deepEqual(shiftOf('2026-04-05T10:02:00Z', '2026-04-05T10:01:00Z'), { seconds: 60, isLater: true });
  assert.equal(shiftOf(null, '2026-04-05T10:01:00Z'), null);
});
