import assert from 'node:assert/strict';
import test from 'node:test';
import { MessageReader } from './event_stream';

const text = 'id: 7\nevent: line\ndata: {"x":"a"}\n\n: alive\n\nid: 9\nevent: end\ndata: 1\ndata: 2\n\n';

test('messages are the same wherever the connection cuts them', () => {
  const whole = new MessageReader().read(text);
  assert.deepEqual(whole, [
    { id: '7', event: 'line', data: '{"x":"a"}' },
    { id: '9', event: 'end', data: '1\n2' }
  ]);
  for (let cut = 0; cut <= text.length; cut += 1) {
    const reader = new MessageReader();
    assert.deepEqual([...reader.read(text.slice(0, cut)), ...reader.read(text.slice(cut))], whole);
  }
});
