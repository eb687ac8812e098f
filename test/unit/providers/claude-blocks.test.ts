// Content blocks for Claude at clouds, with values that only an attacker sends.

import { expect, test } from 'bun:test';
import { BlockCleaner } from '../../../src/providers/claude-blocks.ts';

const RULES = { serverTools: [], hasAddresses: true, toolChanges: true, hasFiles: true, longCache: /./ };
const clean = (block: object, isLong = false) =>
  new BlockCleaner(RULES, isLong).clean([{ role: 'user', content: [block] }] as never, 'messages').value;

test('a source of an unknown type is refused, since it would be read with the rights of the operator', () => {
  for (const source of [{ type: 's3', uri: 's3://bucket/key' }, { type: 'gcs', uri: 'gs://bucket/key' }, {}])
    for (const type of ['image', 'document'])
      expect(() => clean({ type, source })).toThrow('messages.0.content.0.source.type');
  const known = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
  expect(clean(known)).toEqual([{ role: 'user', content: [known] }]);
});

test('breakpoints within search results and tool results are cleaned like others', () => {
  const text = { type: 'text', text: 'found', cache_control: { type: 'ephemeral', ttl: '1h', scope: 'global' } };
  const cleaned = { type: 'text', text: 'found', cache_control: { type: 'ephemeral' } };
  const result = { type: 'search_result', source: 'https://example.com', title: 'A page' };
  expect(clean({ ...result, content: [text] })).toEqual([
    { role: 'user', content: [{ ...result, content: [cleaned] }] },
  ]);
  const called = { type: 'tool_result', tool_use_id: 'toolu_1' };
  expect(clean({ ...called, content: [{ ...result, content: [text] }] })).toEqual([
    { role: 'user', content: [{ ...called, content: [{ ...result, content: [cleaned] }] }] },
  ]);
});
