import assert from 'node:assert/strict';
import test from 'node:test';
import { keyNow, refusalOf, shortcuts } from './shortcuts';

test('the keys at first do not conflict with each other', () => {
  assert.equal(new Set(shortcuts.map(({ key }) => key)).size, shortcuts.length);
  for (const { key } of shortcuts) assert.equal(refusalOf({}, key, key), null);
});

test('a key that means something already is refused with its meaning', () => {
  assert.match(refusalOf({}, 'c', 'x') ?? '', /x is “Choose the job” in tables of jobs/);
  assert.equal(refusalOf({}, 'c', 'q'), null);
  assert.equal(refusalOf({}, 'c', 'X'), null);
});

test('what another has given up can be taken, what another has taken cannot', () => {
  assert.equal(refusalOf({ x: '' }, 'c', 'x'), null);
  assert.equal(refusalOf({ x: 'q' }, 'c', 'x'), null);
  assert.match(refusalOf({ x: 'q' }, 'c', 'q') ?? '', /Choose the job/);
});

test('a key that begins another shortcut cannot be one, and nothing begins with one', () => {
  assert.match(refusalOf({}, 'c', 'g') ?? '', /g begins another shortcut: g o is “Overview”/);
  assert.match(refusalOf({}, 'g o', 'c h') ?? '', /c is “Submit a job”/);
  assert.equal(refusalOf({}, 'g o', 'q h'), null);
});

test('a shortcut is one key or two', () => {
  for (const bad of ['ab', 'g  o', ' ', 'a b c', 'ab c']) assert.match(refusalOf({}, 'c', bad) ?? '', /one key, or two/);
  assert.equal(refusalOf({}, 'c', 'ß'), null);
  assert.equal(refusalOf({}, 'c', ''), null);
});

test('a key is what it was made, else what it is at first', () => {
  assert.equal(keyNow({ c: 'q' }, 'c'), 'q');
  assert.equal(keyNow({ c: '' }, 'c'), '');
  assert.equal(keyNow({}, 'c'), 'c');
});
