import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns, fitting, ofQueue, widthOf } from './columns';

const keys = (room: number): string[] => fitting(ofQueue, room).map(({ key }) => key);

test('columns give way where there is too little room, in their order', () => {
  const all = ofQueue.map(({ key }) => key);
  assert.deepEqual(keys(widthOf(ofQueue)), all);
  assert.deepEqual(keys(widthOf(ofQueue) - 1), all.filter((key) => key !== 'user'));
  assert.deepEqual(keys(0), ['gpus', 'why']);
});

test('columns that a user has chosen stay', () => {
  assert.deepEqual(fitting(columns, 0), columns);
});
