// Gemini signs its calls, and refuses them without their signatures: clients of Chat Completions get them beside the calls,
// streamed or not, and send them back, whichever kind of provider serves Gemini.

import { afterAll, describe, expect, test } from 'bun:test';
import { scripts } from '../../../support/scripted-upstream.ts';
import { type Json, sharedWorld } from '../../post-messages/world.ts';
import { chatCompletions } from '../drivers/chat-completions.ts';
import { post, sentOf } from '../front-world.ts';

const SIGNATURE = 'c2lnbmVkIGNhbGw=';
const SIGNED = { extra_content: { google: { thought_signature: SIGNATURE } } };
const events = (chunks: Json[], end = '') => chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + end;

interface Kind {
  /** Two calls in one turn, of which the first is signed. */
  whole: Json;
  chunks: Json[];
  end: string;
  /** The signatures of the calls in a request, in order. */
  signaturesIn(sent: Json): unknown[];
}

const called = (id: string, name: string, more: Json) => ({
  id,
  type: 'function',
  function: { name, arguments: '{}' },
  ...more,
});
const choice = (members: Json) => ({ id: 'c', model: 'm', choices: [{ index: 0, ...members }] });
const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };
const usageMetadata = { promptTokenCount: 9, candidatesTokenCount: 5, totalTokenCount: 14 };
const parts = [
  { functionCall: { id: 'call_one', name: 'look', args: {} }, thoughtSignature: SIGNATURE },
  { functionCall: { id: 'call_two', name: 'look', args: {} } },
];
const candidate = (content: Json, finishReason?: string) => ({
  candidates: [{ index: 0, content: { role: 'model', ...content }, finishReason }],
  usageMetadata,
});

const KINDS: Readonly<Record<string, Kind>> = {
  openai: {
    whole: {
      ...choice({
        message: {
          role: 'assistant',
          content: null,
          tool_calls: [called('call_one', 'look', SIGNED), called('call_two', 'look', {})],
        },
        finish_reason: 'tool_calls',
      }),
      usage,
    },
    chunks: [
      choice({ delta: { role: 'assistant', tool_calls: [{ index: 0, ...called('call_one', 'look', SIGNED) }] } }),
      choice({ delta: { tool_calls: [{ index: 1, ...called('call_two', 'look', {}) }] } }),
      { ...choice({ delta: {}, finish_reason: 'tool_calls' }), usage },
    ],
    end: 'data: [DONE]\n\n',
    signaturesIn: ({ messages }) =>
      (messages as { tool_calls?: (typeof SIGNED)[] }[])
        .flatMap(({ tool_calls = [] }) => tool_calls)
        .map((call) => call.extra_content?.google.thought_signature),
  },
  gemini: {
    whole: candidate({ parts }, 'STOP'),
    chunks: [...parts.map((part) => candidate({ parts: [part] })), candidate({ parts: [] }, 'STOP')],
    end: '',
    signaturesIn: ({ contents }) =>
      (contents as { parts: (typeof parts)[number][] }[])
        .flatMap((content) => content.parts)
        .filter(({ functionCall }) => functionCall !== undefined)
        .map(({ thoughtSignature }) => thoughtSignature),
  },
};

const world = await sharedWorld();
afterAll(() => world.stop());
const kinds = Object.keys(KINDS);
await world.admin('POST', '/apply', {
  document: {
    providers: Object.fromEntries(
      kinds.map((kind) => [
        `signs-${kind}`,
        { kind, base_url: world.upstream.url, private_network: true, api_key: 'k' },
      ]),
    ),
    models: Object.fromEntries(
      kinds.map((kind) => [
        `signs-${kind}`,
        {
          price: { input: '3', output: '15' },
          routes: [{ provider: `signs-${kind}`, model: 'gemini-3.6-flash' }],
        },
      ]),
    ),
  },
});
const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }];

interface ToolCall extends Json {
  index?: number;
  id: string;
  function: Json;
}

/** The calls of an answer as a client sends them back. */
async function callsOf(response: Response, stream: boolean): Promise<ToolCall[]> {
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.any(String)]);
  if (!stream) return JSON.parse(text).choices[0].message.tool_calls;
  const deltas = text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .flatMap((event): ToolCall[] => JSON.parse(event.slice(6)).choices[0]?.delta.tool_calls ?? []);
  const calls: ToolCall[] = [];
  for (const { index = 0, ...delta } of deltas) {
    const call = calls[index];
    if (call === undefined) calls[index] = delta as ToolCall;
    else call.function['arguments'] = `${call.function['arguments']}${delta.function['arguments']}`;
  }
  return calls;
}

describe.each(kinds)('%s', (kind) => {
  const { whole, chunks, end, signaturesIn } = KINDS[kind] as Kind;
  test.each([false, true])('shows the signature of a call and takes it back (stream: %p)', async (stream) => {
    const { secret } = await world.makeKey();
    const body = stream ? events(chunks, end) : JSON.stringify(whole);
    world.upstream.play((answer) =>
      answer.send(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' }, body),
    );
    const user = { role: 'user', content: 'Look twice.' };
    const ask = (messages: Json[]) =>
      post(chatCompletions, world, secret, { model: `signs-${kind}`, stream, members: { messages, tools } });
    const calls = await callsOf(await ask([user]), stream);
    expect(calls.map(({ extra_content }) => extra_content)).toEqual([SIGNED.extra_content, undefined]);
    const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'A tree.' }));
    await (await ask([user, { role: 'assistant', content: null, tool_calls: calls }, ...results])).text();
    expect(signaturesIn(sentOf(world))).toEqual([SIGNATURE, undefined]);
  });
});

test('a signature of a client reaches no provider of another protocol', async () => {
  world.upstream.play(scripts.good());
  const { secret } = await world.makeKey();
  const messages = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: [called('call_one', 'look', SIGNED)] },
    { role: 'tool', tool_call_id: 'call_one', content: 'A tree.' },
  ];
  expect((await post(chatCompletions, world, secret, { members: { messages, tools } })).status).toBe(200);
  expect(world.upstream.requests.at(-1)?.body).not.toContain(SIGNATURE);
});
