// Habits of Chat Completions servers that are not in OpenAI's documents: whole answers after their pieces, calls that share an
// index, and signatures of Gemini's thoughts beside calls.

import { describe, expect, test } from 'bun:test';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { readAll } from '../make-attempt.ts';
import { attemptAt, fold, openBody } from './read-fixture.ts';

const LONG = 'ab'.repeat(2_000);
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** The message of a stream of these choices. */
async function messageOf(choices: readonly JsonObject[]): Promise<JsonObject> {
  const last = { delta: {}, finish_reason: 'stop' };
  const chunks = [...choices, last].map((choice) => ({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] }));
  const text = [...chunks, { choices: [], usage: USAGE }].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  return fold(await readAll(openBody([new TextEncoder().encode(text)], attemptAt('compatible', { stream: true }))));
}

const callOf = (members: JsonObject, text: string, more: JsonObject = {}): JsonObject => ({
  delta: { tool_calls: [{ ...members, type: 'function', function: { arguments: text, ...more } }] },
});
const used = (name: string, input: JsonObject) => ({ type: 'tool_use', id: expect.any(String), name, input });

describe('a message that repeats the answer', () => {
  const call = { id: 'call_abcd', type: 'function', function: { name: 'look', arguments: '{"q":"a"}' } };

  test.each([
    ['text', { content: 'Hello' }, [{ type: 'text', text: 'Hello' }]],
    ['thinking', { reasoning_content: 'Hm.' }, [{ type: 'thinking', thinking: 'Hm.', signature: 'turnpike.chat.1.' }]],
    ['a call', { tool_calls: [{ index: 0, ...call }] }, [used('look', { q: 'a' })]],
  ] as const)('adds nothing to %s', async (_what, said, content) => {
    const message = { role: 'assistant', ...said } as JsonObject;
    const delta = said as unknown as JsonObject;
    for (const repeated of [
      { message },
      { delta: {}, message },
      { delta: { role: 'assistant', content: '' }, message },
    ])
      expect((await messageOf([{ delta }, repeated]))['content']).toEqual(content as unknown as JsonObject[]);
  });

  test('adds what no piece had', async () => {
    const message = { content: 'Hello', reasoning: 'Hm.', tool_calls: [call] } as unknown as JsonObject;
    expect((await messageOf([{ delta: { content: 'Hello' } }, { message }]))['content']).toMatchObject([
      { type: 'text', text: 'Hello' },
      { type: 'thinking', thinking: 'Hm.' },
      used('look', { q: 'a' }),
    ]);
    expect((await messageOf([{ delta: {}, message: { content: 'Hello' } }]))['content']).toEqual([
      { type: 'text', text: 'Hello' },
    ]);
  });
});

describe('messages in chunks of a stream', () => {
  const callWith = (text: string) => ({
    tool_calls: [{ id: 'call_abcd', function: { name: 'look', arguments: text } }],
  });
  const details = (text: string, more: JsonObject = {}) => [{ type: 'reasoning.text', index: 0, text, ...more }];
  const hello = [{ type: 'text', text: 'Hello' }];

  test.each<[string, JsonObject[], unknown[]]>([
    ['grow', [{ message: { content: 'Hel' } }, { message: { content: 'Hello' } }], hello],
    ['are the next pieces', [{ message: { content: 'Hel' } }, { message: { content: 'lo' } }], hello],
    ['repeat a piece', [{ delta: { content: 'Hel' } }, { message: { content: 'Hello' } }], hello],
    ['say it in other words', [{ delta: { content: 'Hello' } }, { message: { content: ' Hello\n' } }], hello],
    ['begin like the whole', [{ message: { content: 'lolo' } }, { message: { content: 'lo' } }], [{ text: 'lololo' }]],
    [
      'have parts',
      [{ message: { content: [{ text: 'He' }, { text: 'l' }] } }, { message: { content: [{ text: 'Hello' }] } }],
      hello,
    ],
    [
      'grow in thinking',
      [{ message: { reasoning: 'H' } }, { message: { reasoning: 'Hm', content: 'Hello' } }],
      [{ type: 'thinking', thinking: 'Hm' }, ...hello],
    ],
    [
      'grow in a call',
      [{ message: callWith('{"q":') }, { message: callWith('{"q":"a"}') }, { message: callWith('{"q":"a"}') }],
      [used('look', { q: 'a' })],
    ],
    [
      'are longer than their beginning',
      [{ delta: { content: LONG } }, { message: { content: `${LONG}!` } }],
      [{ text: `${LONG}!` }],
    ],
  ])('that %s give each text once', async (_how, choices, content) => {
    expect((await messageOf(choices))['content']).toMatchObject(content as JsonObject[]);
  });

  test.each<[string, JsonObject[]]>([
    ['a delta', [{ delta: { reasoning: 'Hm', reasoning_details: details('Hm', { signature: 's' }) } }]],
    ['a message', [{ message: { reasoning: 'H', reasoning_details: details('H') } }]],
  ])('have the details of reasoning once after %s', async (_what, choices) => {
    const whole = { reasoning: 'Hm', reasoning_details: details('Hm', { signature: 's' }) };
    const content = (await messageOf([...choices, { message: whole }]))['content'] as JsonObject[];
    const held = String(content[0]?.['signature']).replace('turnpike.chat.1.', '');
    expect(content).toHaveLength(1);
    expect(JSON.parse(Buffer.from(held, 'base64url').toString())['details']).toEqual(details('Hm', { signature: 's' }));
  });
});

describe('calls at one index', () => {
  const two = [used('look', { q: 'a' }), used('look', { q: 'b' })];

  test.each<[string, JsonObject[]]>([
    [
      'without ids',
      [callOf({ index: 0 }, '{"q":"a"}', { name: 'look' }), callOf({ index: 0 }, '{"q":"b"}', { name: 'look' })],
    ],
    [
      'with empty ids, and input in pieces',
      [
        callOf({ index: 0, id: '' }, '', { name: 'look' }),
        callOf({ index: 0, id: '' }, '{"q":'),
        callOf({ index: 0, id: '' }, '"a"}'),
        callOf({ index: 0, id: '' }, '', { name: 'look' }),
        callOf({ index: 0, id: '' }, '{"q":'),
        callOf({ index: 0, id: '' }, '"b"}'),
      ],
    ],
    [
      'of which the first alone has an id',
      [
        callOf({ index: 0, id: 'call_abcd' }, '{"q":"a"}', { name: 'look' }),
        callOf({ index: 0 }, '{"q":"b"}', { name: 'look' }),
      ],
    ],
    [
      'with ids of their own',
      [
        callOf({ index: 0, id: 'call_abcd' }, '{"q":"a"}', { name: 'look' }),
        callOf({ index: 0, id: 'call_efgh' }, '{"q":"b"}', { name: 'look' }),
      ],
    ],
    ['without index and ids', [callOf({}, '{"q":"a"}', { name: 'look' }), callOf({}, '{"q":"b"}', { name: 'look' })]],
  ])('%s are different calls', async (_how, choices) => {
    const { content, stop_reason } = await messageOf(choices);
    expect(content).toEqual(two);
    expect(stop_reason).toBe('tool_use');
    expect(new Set((content as JsonObject[]).map(({ id }) => id)).size).toBe(2);
  });

  test('of another tool without input begin with the name', async () => {
    const choices = [
      callOf({ index: 0 }, '{"q":"a"}', { name: 'look' }),
      callOf({ index: 0 }, '', { name: 'now' }),
      callOf({ index: 0 }, ''),
    ];
    expect((await messageOf(choices))['content']).toEqual([used('look', { q: 'a' }), used('now', {})]);
  });

  test('whose name is repeated after the input is one call', async () => {
    const choices = [
      callOf({ index: 0, id: 'call_abcd' }, '{"q":"a"}', { name: 'look' }),
      callOf({ index: 0, id: 'call_abcd' }, '', { name: 'look' }),
      callOf({ index: 0 }, '', { name: 'look' }),
    ];
    expect((await messageOf(choices))['content']).toEqual([used('look', { q: 'a' })]);
  });
});

test('the signature beside a call is in a block before it', async () => {
  const extra_content = { google: { thought_signature: 'c2ln' } };
  const choices = [
    callOf({ index: 0, id: 'call_abcd', extra_content }, '{"q":"a"}', { name: 'look' }),
    callOf({ index: 1, id: 'call_efgh' }, '{"q":"b"}', { name: 'look' }),
  ];
  expect((await messageOf(choices))['content']).toEqual([
    { type: 'thinking', thinking: '', signature: 'gemini.call.c2ln' },
    used('look', { q: 'a' }),
    used('look', { q: 'b' }),
  ]);
});
