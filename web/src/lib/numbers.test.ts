import assert from 'node:assert/strict';
import test from 'node:test';
import { wholeFault, wholeIn } from './numbers';

test('nothing typed is no number, above all not 0', () => {
  for (const typed of ['', '  ', 'x', '1.5', '1e3', '--1', '12345678901']) assert.equal(wholeIn(typed), null, typed);
  assert.deepEqual(['0', ' 7 ', '-3'].map(wholeIn), [0, 7, -3]);
});

test('a field says what it wants', () => {
  assert.equal(wholeFault(''), 'write a whole number');
  assert.equal(wholeFault('-1'), '');
  assert.equal(wholeFault('-1', 0), 'write a number from 0 on');
});
