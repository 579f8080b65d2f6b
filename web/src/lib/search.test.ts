import assert from 'node:assert/strict';
import test from 'node:test';
import { searchOf } from './search';

test('words with a key are filters, the others are looked for in names', () => {
  assert.deepEqual(searchOf('user:mei state:failed,cancelled bert large', true), {
    rest: 'bert large',
    user: 'mei',
    label: null,
    states: ['failed', 'cancelled']
  });
  assert.deepEqual(searchOf('bert', true), { rest: 'bert', user: null, label: null, states: [] });
});

test('a label may have a value', () => {
  assert.deepEqual(searchOf('label:sweep=lr bert', true), { rest: 'bert', user: null, label: 'sweep=lr', states: [] });
  assert.deepEqual(searchOf('label:sweep', true), { rest: '', user: null, label: 'sweep', states: [] });
});

test('a word that is still being typed is none yet', () => {
  assert.deepEqual(searchOf('user:me', false), { rest: 'user:me', user: null, label: null, states: [] });
  assert.deepEqual(searchOf('user:mei ', false), { rest: '', user: 'mei', label: null, states: [] });
  assert.deepEqual(searchOf('state:failed user:mei bert', false), { rest: 'bert', user: 'mei', label: null, states: ['failed'] });
  assert.deepEqual(searchOf('user:me', true), { rest: '', user: 'me', label: null, states: [] });
});

test('what is no state stays text', () => {
  assert.deepEqual(searchOf('state:sleeping x', true), { rest: 'state:sleeping x', user: null, label: null, states: [] });
  assert.deepEqual(searchOf('http://user:pass', true), { rest: 'http://user:pass', user: null, label: null, states: [] });
});
