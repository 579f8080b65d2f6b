import assert from 'node:assert/strict';
import test from 'node:test';
import { interruptionsText } from './interruptions';

const job = { state: 'running' as const, attempt: 1, migrations: 0, resizes: 0, preemptions: 0 };

test('an attempt after another one is not called uninterrupted', () => {
  assert.equal(interruptionsText(job), 'uninterrupted');
  assert.equal(interruptionsText({ ...job, state: 'pending', attempt: 0 }), 'uninterrupted');
  assert.equal(interruptionsText({ ...job, attempt: 2 }), 'after 1 restart');
  assert.equal(interruptionsText({ ...job, state: 'failed', attempt: 3 }), 'after 2 restarts');
  assert.equal(interruptionsText({ ...job, state: 'held' }), 'has ended'); // it waits for the next one
});

test('what is known of it is told', () => {
  assert.equal(interruptionsText({ ...job, attempt: 2, preemptions: 1 }), 'after 1 interruption');
  assert.equal(interruptionsText({ ...job, attempt: 4, migrations: 2 }), 'after 2 moves, 1 restart');
  assert.equal(interruptionsText({ ...job, resizes: 1 }), 'after 1 resize'); // in place
});
