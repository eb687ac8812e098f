// A message of every front: the request to the provider, the answer to the client and the cost are those of the same message
// in the Messages protocol.

import { describe, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { sayMessage } from '../../verify/clients/upstreams/speak-messages.ts';
import { bodyOf, expectMoney, GOOD } from '../post-messages/world.ts';
import { fronts } from './drivers/drivers.ts';
import { answerOf, expectError, expectHeaders, post, sentOf, sharedFronts, withoutTimes } from './front-world.ts';

const world = await sharedFronts();

const look = { name: 'look', description: 'Looks', schema: { type: 'object', properties: { at: { type: 'string' } } } };
const ONES: readonly ['streamed' | 'whole', boolean][] = [
  ['whole', false],
  ['streamed', true],
];

const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };

describe.each(fronts)('%s', (_, front) => {
  test.each(ONES)('the provider gets the message, and the client its answer (%s)', async (__, stream) => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    const turns = [{ user: 'Good morning!' }, ...(front.isTextOnly ? [] : [{ image: 'AAAA' }])];
    const response = await post(front, world, caller.secret, { stream, system: 'Be brief.', turns, tools: [look] });
    expectHeaders(front, response);
    expect(response.headers.get('content-type')).toBe(stream ? 'text/event-stream; charset=utf-8' : 'application/json');
    expect(await answerOf(front, response, stream)).toMatchObject({
      id: 'upstream',
      model: 'upstream-model',
      text: 'Hello there, world!',
      thinking: '',
      calls: [],
      stop: front.stops.end_turn,
      usage: { prompt: 25, cached: 0, output: 12, total: 37 },
    });
    expect(world.upstream.requests.at(-1)?.path).toBe('/v1/messages');
    expect(sentOf(world)).toEqual({
      model: 'upstream-model',
      max_tokens: 64,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Good morning!' }, ...(front.isTextOnly ? [] : [image])] },
      ],
      ...(!front.isTextOnly && {
        system: [{ type: 'text', text: 'Be brief.' }],
        tools: [{ name: look.name, description: look.description, input_schema: look.schema }],
      }),
      ...(stream && { stream }),
    });
    await expectMoney(world, caller, [{ ...GOOD, outcome: 'completed', stream }]);
  });

  test('a request costs the same as the equivalent message, streamed or not', async () => {
    const usage = { input_tokens: 25, cache_creation_input_tokens: 7, cache_read_input_tokens: 300, output_tokens: 12 };
    world.upstream.play(scripts.good({ usage, finalUsage: { output_tokens: 12 } }));
    const caller = await world.makeKey({}, { models: ['plain'] });
    for (const stream of [false, true]) {
      await (await world.post(caller.secret, bodyOf({ stream }))).text();
      const answer = await answerOf(front, await post(front, world, caller.secret, { stream }), stream);
      expect(answer.usage).toEqual({ prompt: 332, cached: 300, output: 12, total: 344 });
    }
    const records = await expectMoney(world, caller, Array(4).fill({ outcome: 'completed', usage_source: 'reported' }));
    const counted = records.map(({ cost, input_tokens, output_tokens, cache_read_tokens, model }) => ({
      cost,
      input_tokens,
      output_tokens,
      cache_read_tokens,
      model,
    }));
    expect(counted).toEqual(Array(4).fill(counted[0]));
    expect(counted[0]).not.toMatchObject({ cost: '0' });
  });

  test('every common form of the base URL works, and every way to send the key', async () => {
    world.upstream.play(scripts.good());
    const { secret } = await world.makeKey();
    const paths = front.paths.map((path) => ({ path, key: front.keyHeaders(secret)[0] }));
    const keys = front.keyHeaders(secret).map((key) => ({ path: front.path({}), key }));
    for (const { path, key } of [...paths, ...keys]) {
      const headers = { 'content-type': 'application/json', ...key };
      const response = await fetch(world.url + path, { method: 'POST', headers, body: JSON.stringify(front.body({})) });
      expect({ path, ...(await answerOf(front, response, false)) }).toMatchObject({
        path,
        text: 'Hello there, world!',
      });
    }
  });

  test.each(front.isTextOnly ? [] : ONES)(
    'thinking, text and calls reach the client, and the provider gets them back as they were (%s)',
    async (__, stream) => {
      const thinking = { type: 'thinking', thinking: 'I see.', signature: 'c2ln' } as const;
      const text = { type: 'text', text: 'One line.\u2028\n\n\u2029Another — the last.' } as const;
      const inputs = ['{"at":"Köln"}', '{"id":123456789012345678901}'] as const;
      const calls = inputs.map((input, place) => ({
        type: 'tool_use' as const,
        id: `toolu_${place}`,
        name: 'look',
        input,
      }));
      world.upstream.play(sayMessage({ content: [thinking, text, ...calls] }), scripts.good());
      const { secret } = await world.makeKey();
      const prompt = { tools: [look], thinking: true, maxTokens: 5_000 };
      const asked = { user: 'Look.' };
      const answer = await answerOf(
        front,
        await post(front, world, secret, { ...prompt, turns: [asked], stream }),
        stream,
      );
      expect(answer).toMatchObject({
        thinking: thinking.thinking,
        text: text.text,
        calls: calls.map(({ id, name, input }) => ({ id, name, input })),
        stop: front.stops.tool_use,
      });
      const results = answer.calls.map((call) => ({ result: `seen ${call.id}`, of: call }));
      await (
        await post(front, world, secret, { ...prompt, turns: [asked, { own: answer.own }, ...results] })
      ).arrayBuffer();
      expect(world.upstream.requests.at(-1)?.body).toContain(`"input":${inputs[1]}`);
      expect(sentOf(world)['messages']).toEqual([
        { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
        {
          role: 'assistant',
          content: [thinking, text, ...calls.map((call) => ({ ...call, input: JSON.parse(call.input) }))],
        },
        {
          role: 'user',
          content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `seen ${id}` })),
        },
      ]);
    },
  );

  test.each(Object.entries(front.stops))(
    'a message that ended by %s ends with %s, streamed or not',
    async (stopReason, word) => {
      world.upstream.play(sayMessage({ content: [{ type: 'text', text: 'Hm' }], stopReason }));
      const { secret } = await world.makeKey();
      for (const stream of [false, true])
        expect(await answerOf(front, await post(front, world, secret, { stream }), stream)).toMatchObject({
          text: 'Hm',
          stop: word,
        });
    },
  );

  test('a request with an idempotency-key is answered and charged once, and another request is refused', async () => {
    world.upstream.play(scripts.good());
    const caller = await world.makeKey();
    for (const stream of [false, true]) {
      const headers = { 'idempotency-key': `order-${stream}` };
      const ask = (prompt = {}) => post(front, world, caller.secret, { stream, ...prompt }, { headers });
      const answer = withoutTimes(await (await ask()).text());
      const again = await ask();
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(withoutTimes(await again.text())).toBe(answer);
      for (const other of [{ maxTokens: 63 }, { model: 'paired' }, { stream: !stream }])
        await expectError(front, await ask(other), 'idempotency_mismatch');
    }
    await expectMoney(world, caller, [GOOD, GOOD]);
  });
});
