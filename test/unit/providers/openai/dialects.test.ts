// Habits of Chat Completions servers that are not in OpenAI's documents: whole answers after their pieces, calls that share an
// index, and signatures of Gemini's thoughts beside calls.

import { describe, expect, test } from 'bun:test';
import { convertAnswer } from '../../../../src/providers/openai/convert-chunk.ts';
import { openai } from '../../../../src/providers/openai/openai.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import type { EventSource, ProviderFault } from '../../../../src/providers/providers.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf, makeAttempt, readAll, readToFault } from '../make-attempt.ts';
import { attemptAt, fold, openBody } from './read-fixture.ts';

const END = { delta: {}, finish_reason: 'stop' };
const LONG = 'ab'.repeat(2_000);
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** A stream of events with these texts. */
function openText(events: readonly string[], upstreamModel = 'gpt-4.1'): EventSource {
  const text = events.map((event) => `data: ${event}\n\n`).join('');
  return openBody([new TextEncoder().encode(text)], attemptAt('compatible', { stream: true }, { upstreamModel }));
}

/** A stream of these choices, and its end. */
function openChoices(choices: readonly JsonObject[], end: readonly JsonObject[] = [END], model?: string): EventSource {
  const chunks = [...choices, ...end].map((choice) => ({ id: 'c', model: 'm', choices: [{ index: 0, ...choice }] }));
  return openText(
    [...chunks, { choices: [], usage: USAGE }].map((chunk) => JSON.stringify(chunk)),
    model,
  );
}

async function messageOf(
  choices: readonly JsonObject[],
  end?: readonly JsonObject[],
  model?: string,
): Promise<JsonObject> {
  return fold(await readAll(openChoices(choices, end, model)));
}

/** The message of a whole answer. */
function wholeOf(answer: JsonObject): JsonObject {
  const attempt = attemptAt('compatible');
  const profile = chooseProfile(attempt.provider.baseUrl, attempt.upstreamModel);
  return fold(convertAnswer(answer, attempt, profile, null));
}

const callOf = (members: JsonObject, text: string, more: JsonObject = {}): JsonObject => ({
  delta: { tool_calls: [{ ...members, type: 'function', function: { arguments: text, ...more } }] },
});
const FIRST = { index: 0, id: 'call_abcd' };
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

describe('the end of an answer', () => {
  const hello = { delta: { content: 'Hello' } };

  test.each<[string, JsonObject, string]>([
    ['a plain native word', { finish_reason: 'stop', native_finish_reason: 'STOP' }, 'end_turn'],
    ['an unknown native word', { finish_reason: 'stop', native_finish_reason: 'something_new' }, 'end_turn'],
    ['a filter', { finish_reason: 'stop', native_finish_reason: 'SAFETY' }, 'refusal'],
    ['a bound', { finish_reason: 'stop', native_finish_reason: 'MAX_TOKENS' }, 'max_tokens'],
    ['a plain native word beside a bound', { finish_reason: 'length', native_finish_reason: 'stop' }, 'max_tokens'],
  ])('with %s', async (_what, end, reason) => {
    expect(await messageOf([hello, { delta: {}, ...end }], [])).toMatchObject({ stop_reason: reason });
  });

  test.each([
    ['SAFETY_NEW', 'unusable'],
    ['error', 'failed'],
  ])('as %p is a fault', async (word, kind) => {
    const { fault } = await readToFault(openChoices([hello, { delta: {}, finish_reason: word }], []));
    expect(fault.kind).toBe(kind as typeof fault.kind);
  });

  test.each([undefined, null, ''])('with the finish reason %p is that of a whole answer', (finish_reason) => {
    const choice = { message: { content: 'Hello' }, ...(finish_reason !== undefined && { finish_reason }) };
    const text = { ...choice, message: null, text: 'Hello' };
    for (const whole of [choice, text])
      expect(wholeOf({ choices: [whole] })).toMatchObject({ stop_reason: 'end_turn', content: [{ text: 'Hello' }] });
  });

  test('without a finish reason is [DONE] after content, unless the stream has reasons and its counts are missing', async () => {
    const stream = (...chunks: unknown[]) => openText([...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']);
    const called = { choices: [callOf({ index: 0 }, '{"q":"a"}', { name: 'look' })] };
    expect(fold(await readAll(stream(called)))).toMatchObject({ stop_reason: 'tool_use' });
    expect((await readToFault(stream({ choices: [{ delta: { role: 'assistant' } }] }))).fault.kind).toBe('failed');
    const cut = { choices: [{ delta: { content: 'Hello' }, finish_reason: null }] };
    expect((await readToFault(stream({ ...cut, usage: USAGE }))).fault.kind).toBe('failed');
    expect((await readToFault(stream({ choices: [], usage: USAGE }, cut))).fault.kind).toBe('failed');
    expect(fold(await readAll(stream(cut, { choices: [], usage: USAGE })))).toMatchObject({ stop_reason: 'end_turn' });
  });
});

test.each(['delta', 'message'])('usage in a %s is counted, and a later zero changes nothing', async (place) => {
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  const chunks = [
    { choices: [{ [place]: { content: 'Hello', usage } }] },
    { choices: [END], usage: { input_tokens: 0, output_tokens: 0, prompt_tokens: 0 } },
  ];
  const { usage: counted } = fold(await readAll(openText(chunks.map((chunk) => JSON.stringify(chunk)))));
  expect(counted).toMatchObject({ input_tokens: 10, output_tokens: 5 });
});

test.each([0, 1, undefined])(
  'of several choices, which nobody asked for, the first is the answer (index %p)',
  async (index) => {
    const said = (content: string, finish_reason: string | null = null) => ({
      index,
      delta: { content },
      finish_reason,
    });
    const other = { index: 7, delta: { content: 'Nope' }, finish_reason: 'length' };
    const chunks = [[said('Hel')], [other], [said('lo'), other], [said('', 'stop')]].map((choices) => ({ choices }));
    const message = fold(await readAll(openText([...chunks, { usage: USAGE }].map((chunk) => JSON.stringify(chunk)))));
    expect(message).toMatchObject({ content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' });
  },
);

describe('content in another form', () => {
  const thinking = (text: string) => ({ type: 'thinking', thinking: text, signature: expect.any(String) });
  const hi = { type: 'text', text: 'Hi' };
  const tagged = '<think>\nHm\n</think>\n\nHi';

  test.each<[string, JsonObject, unknown[]]>([
    ['thinking in tags, too', { reasoning_content: 'Hm', content: tagged }, [thinking('Hm'), hi]],
    ['other thinking in tags', { reasoning_content: 'So', content: tagged }, [thinking('SoHm\n'), hi]],
    [
      'thinking in a part, too',
      { reasoning: 'Hm', content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }, hi] },
      [thinking('Hm'), hi],
    ],
    ['thinking as the text of a part', { content: [{ type: 'thinking', thinking: 'Hm' }, hi] }, [thinking('Hm'), hi]],
    ['thinking as an object', { reasoning: { content: 'Hm' }, content: 'Hi' }, [thinking('Hm'), hi]],
    ['a refusal as a part', { content: [{ type: 'refusal', refusal: 'Hi' }] }, [hi]],
    ['a part', { content: hi }, [hi]],
    ['texts', { content: ['H', 'i'] }, [hi]],
  ])('is read: %s', async (_what, said, content) => {
    expect((await messageOf([{ delta: said }]))['content']).toEqual(content as JsonObject[]);
    expect((await messageOf([{ message: said }]))['content']).toEqual(content as JsonObject[]);
    expect(wholeOf({ choices: [{ message: said }] })['content']).toEqual(content as JsonObject[]);
  });

  test('is read: thinking whose pieces alternate with those in tags', async () => {
    const deltas = [
      { reasoning_content: 'One ', content: '<think>One' },
      { content: ' two' },
      { reasoning_content: 'two three' },
      { content: ' three</think>Hi' },
    ];
    const content = [thinking('One two three'), hi];
    expect((await messageOf(deltas.map((delta) => ({ delta }))))['content']).toEqual(content);
    const long = 'a b '.repeat(50_000);
    const twice = [{ delta: { reasoning: long } }, { delta: { content: `<think>${long}</think>Hi` } }];
    expect((await messageOf(twice))['content']).toEqual([thinking(long), hi]);
  });

  test('is read: a refusal among parts as a refusal', async () => {
    const message = await messageOf([{ delta: { content: [{ type: 'refusal', refusal: 'No' }] } }]);
    expect(message['stop_reason']).toBe('refusal');
  });

  test.each([undefined, {}, { role: 'assistant', content: '' }])(
    'is read: the text of a choice beside the delta %p',
    async (delta) => {
      const choice = { text: 'H', ...(delta !== undefined && { delta }) };
      expect((await messageOf([choice, { text: 'i', delta: null }]))['content']).toEqual([hi]);
      expect(wholeOf({ choices: [{ text: 'Hi' }] })).toMatchObject({ content: [hi], stop_reason: 'end_turn' });
      expect((await messageOf([{ text: 'Hi', delta: { content: 'Hi' } }]))['content']).toEqual([hi]);
    },
  );
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

  test.each<[string, JsonObject[], unknown[]]>([
    [
      'with one id and two inputs are two',
      [callOf(FIRST, '{"q":"a"}', { name: 'look' }), callOf(FIRST, '{"q":"b"}', { name: 'look' })],
      two,
    ],
    [
      'repeated at the end are one',
      [
        callOf(FIRST, '{"q":', { name: 'look' }),
        callOf({ index: 0 }, '"a"}'),
        callOf(FIRST, '{"q":"a"}', { name: 'look' }),
        callOf({ ...FIRST, index: 1 }, '{"q":"a"}', { name: 'look' }),
      ],
      [used('look', { q: 'a' })],
    ],
    [
      'with the name in each piece, without index and id, are one',
      [callOf({}, '{"q":', { name: 'look' }), callOf({}, '"a"', { name: 'look' }), callOf({}, '}', { name: 'look' })],
      [used('look', { q: 'a' })],
    ],
    [
      'with another id and the name in each piece are one',
      [
        callOf({ index: 0, id: 'call_aaaa' }, '', { name: 'look' }),
        callOf({ index: 0, id: 'call_bbbb' }, '{"q":', { name: 'look' }),
        callOf({ index: 0, id: 'call_cccc' }, '"a"}', { name: 'look' }),
      ],
      [used('look', { q: 'a' })],
    ],
    ...['{}', '[]', 'null'].map((empty): [string, JsonObject[], unknown[]] => [
      `with the placeholder ${empty} before the input are one`,
      [callOf(FIRST, empty, { name: 'look' }), callOf({ index: 0 }, '{"q":'), callOf({ index: 0 }, '"a"}')],
      [used('look', { q: 'a' })],
    ]),
    [
      'with placeholders, at two indexes, are two',
      [
        callOf(FIRST, '{}', { name: 'look' }),
        callOf({ index: 1, id: 'call_efgh' }, '{}', { name: 'look' }),
        callOf({ index: 0 }, '{"q":"a"}'),
        callOf({ index: 1 }, '{"q":"b"}'),
      ],
      two,
    ],
    [
      'without arguments and ids are two',
      [callOf({ index: 0 }, '', { name: 'now' }), callOf({ index: 0 }, '', { name: 'now' })],
      [used('now', {}), used('now', {})],
    ],
    [
      'with a repeated name before the input are one',
      [
        callOf({ index: 0 }, '', { name: 'look' }),
        callOf({ index: 0 }, '', { name: 'look' }),
        callOf({ index: 0 }, '{"q":"a"}'),
      ],
      [used('look', { q: 'a' })],
    ],
    ['with an empty list have no arguments', [callOf({ index: 0 }, '[]', { name: 'now' })], [used('now', {})]],
  ])('%s', async (_what, choices, content) => {
    const said = (await messageOf(choices))['content'] as JsonObject[];
    expect(said).toEqual(content as JsonObject[]);
    expect(new Set(said.map(({ id }) => id)).size).toBe(said.length);
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

test.each([
  ['beside a call', ''],
  ['after its input', 'a'],
])('the signature %s is in a block before it', async (_where, late) => {
  const extra_content = { google: { thought_signature: 'c2ln' } };
  const signed = { tool_calls: [{ index: 0, extra_content }] };
  const first = callOf({ ...FIRST, ...(late === '' && { extra_content }) }, '{"q":"a"}', { name: 'look' });
  const choices = [
    first,
    ...(late === '' ? [] : [{ delta: signed }]),
    callOf({ index: 1, id: 'call_efgh' }, '{"q":"b"}', { name: 'look' }),
  ];
  expect((await messageOf(choices, [END], 'gemini-3-pro'))['content']).toEqual([
    { type: 'thinking', thinking: '', signature: 'gemini.call.c2ln' },
    used('look', { q: 'a' }),
    used('look', { q: 'b' }),
  ]);
});

/** The fault of an answer with status 200: whole, in place of a stream, and as an event of one. */
async function faultsOf(answer: unknown): Promise<ProviderFault[]> {
  const text = JSON.stringify(answer);
  await using upstream = await startScriptedUpstream(scripts.json(text), scripts.json(text));
  const faults = [(await readToFault(openText([text]))).fault];
  for (const stream of [true, false]) {
    const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], stream };
    faults.push(await faultOf(openai.submit(makeAttempt(`${upstream.url}/v1`, body))));
  }
  return faults;
}

describe('an error with status 200', () => {
  const exceeds = 'The input token count (5000) exceeds the maximum number of tokens allowed (4096).';

  test.each<[string, unknown, string, RegExp]>([
    ['in a list', [{ error: { code: 400, message: exceeds, status: 'INVALID_ARGUMENT' } }], 'rejected', /5000/],
    ['in a list without a code', [{ error: { message: 'x', status: 'RESOURCE_EXHAUSTED' } }], 'rate_limited', /x/],
    ['beside a message', { error: { code: 429, message: 'x' }, choices: [] }, 'rate_limited', /x/],
    [
      'in a choice',
      { choices: [{ message: { content: 'par' }, error: { code: 502, message: 'Gone' }, finish_reason: null }] },
      'failed',
      /Gone/,
    ],
    ['in a choice as text', { choices: [{ delta: { content: 'par' }, error: 'Gone' }] }, 'failed', /Gone/],
    ['at the top', { code: 429, message: 'x', details: 'RESOURCE_EXHAUSTED' }, 'rate_limited', /x/],
    ['at the top with a code in words', { code: 'RESOURCE_EXHAUSTED', message: 'x' }, 'rate_limited', /x/],
    ['at the top with digits', { code: '503', msg: 'Busy' }, 'overloaded', /Busy/],
    ['as detail', { detail: 'Not today.' }, 'failed', /Not today/],
    [
      'of the context',
      { detail: `This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.` },
      'rejected',
      /5000/,
    ],
    ['in errors', { success: false, errors: [{ code: 429, message: 'x' }], result: null }, 'rate_limited', /x/],
    ['in errors as text', { errors: ['Gone'] }, 'failed', /Gone/],
    [
      'of MiniMax',
      { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
      'credentials',
      /balance/,
    ],
    ['of MiniMax for its rate', { base_resp: { status_code: 1002, status_msg: 'rate limit' } }, 'rate_limited', /rate/],
  ])('%s is a fault of its kind', async (_where, answer, kind, message) => {
    for (const fault of await faultsOf(answer)) {
      expect(fault.kind).toBe(kind as ProviderFault['kind']);
      expect(fault.message).toMatch(message);
    }
  });

  test('is none if its code says so', async () => {
    const events = [
      { code: 200, message: 'ok' },
      { choices: [{ delta: { content: 'Hello' }, finish_reason: 'stop' }] },
    ];
    const stream = openText(events.map((event) => JSON.stringify(event)));
    expect(fold(await readAll(stream))['content']).toEqual([{ type: 'text', text: 'Hello' }]);
  });

  test.each(['', false, null, {}, { code: null, message: '' }, []])(
    'is none if it is %p beside content',
    async (error) => {
      const more = { error, base_resp: { status_code: 0, status_msg: '' }, errors: [], code: 0, message: '' };
      const text = (choice: object) => JSON.stringify({ ...more, choices: [{ ...choice, error }] });
      const stream = openText([text({ delta: { content: 'Hello' } }), text(END), '[DONE]']);
      const hello = [{ type: 'text', text: 'Hello' }];
      expect(fold(await readAll(stream))['content']).toEqual(hello);
      expect(wholeOf(JSON.parse(text({ message: { content: 'Hello' } })))['content']).toEqual(hello);
    },
  );
});
