import assert from 'node:assert/strict';
import test from 'node:test';
import { numberText, tickTexts, wholeFault, wholeIn } from './numbers';

test('nothing typed is no number, above all not 0', () => {
  for (const typed of ['', '  ', 'x', '1.5', '1e3', '--1', '12345678901']) assert.equal(wholeIn(typed), null, typed);
  assert.deepEqual(['0', ' 7 ', '-3'].map(wholeIn), [0, 7, -3]);
});

test('a field says what it wants', () => {
  assert.equal(wholeFault(''), 'write a whole number');
  assert.equal(wholeFault('-1'), '');
  assert.equal(wholeFault('-1', 0), 'write a number from 0 on');
  assert.equal(wholeFault('1.5'), 'write a whole number');
  assert.equal(wholeFault(' 3000000000 '), 'too large: write at most 9 digits');
});

test('numbers keep the digits that tell them apart, small ones too', () => {
  const cases: [number, string][] = [
    [0, '0'],
    [4, '4'],
    [1234.5, '1235'],
    [41.74, '41.7'],
    [2.5, '2.5'],
    [0.5234, '0.523'],
    [-0.0123, '-0.0123'],
    [0.00012, '0.00012'],
    [2e-5, '2e-5'],
    [1.2345e-7, '1.23e-7']
  ];
  for (const [value, text] of cases) assert.equal(numberText(value), text);
});

test('no two ticks of an axis read the same', () => {
  assert.deepEqual(tickTexts([0, 200_000, 800_000], 200_000), ['0', '200,000', '800,000']);
  assert.deepEqual(tickTexts([0, 0.025, 0.05], 0.025), ['0', '0.025', '0.05']);
  assert.deepEqual(tickTexts([0, 5e-6, 1e-5, 1.5e-5, 2e-5], 5e-6), ['0', '5e-6', '1e-5', '1.5e-5', '2e-5']);
  assert.deepEqual(tickTexts([0.1, 0.1 + 1e-5], 1e-5), ['0.1', '0.10001']);
  assert.deepEqual(tickTexts([1, null], 1), ['1', '']);
});
