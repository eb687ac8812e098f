// A provider of kind `openai-responses` gets the client's own body, and the client gets the provider's own answer; holds,
// bills and the end of a stream are those of every message.

import { afterAll, describe, expect, test } from 'bun:test';
import { sealThinking } from '../../../src/fronts/responses/sealed-thinking.ts';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { expectMoney, expectNoTrace, GOOD, type Json, sharedWorld } from '../post-messages/world.ts';
import { expectError, expectLastError, postResponse, responseOf } from './responses-world.ts';

const openai = await startScriptedUpstream(scripts.html());
const price = { input: '3', output: '15' };
const own = { provider: 'openai', model: 'gpt-5.5' };
const other = { provider: 'first', model: 'upstream-model' };
const openaiProvider = {
  kind: 'openai-responses',
  base_url: openai.url,
  api_key: 'sk-openai-1',
  private_network: true,
};
const world = await sharedWorld({
  providers: { openai: openaiProvider },
  models: {
    own: { price, routes: [own], max_output_tokens: 50 },
    long: { price, routes: [own] },
    either: { price, routes: [own, { ...other, priority: 1 }] },
    other: { price, routes: [other, { ...own, priority: 1 }] },
  },
});
afterAll(async () => {
  await world.stop();
  await openai.close();
});

const USAGE = { input_tokens: 25, output_tokens: 12, total_tokens: 37, output_tokens_details: { reasoning_tokens: 5 } };
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello there' }],
};
const REASONING = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAAABo' };
const PATCH = { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_1', name: 'apply_patch', input: '*** "Begin"' };
const OUTPUT = [REASONING, MESSAGE, PATCH];
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-5.5',
  output: OUTPUT,
  usage: USAGE,
};

/** The events of a stream with these deltas in its message. */
function eventsOf(deltas: readonly string[]): Json[] {
  const events: Json[] = [
    { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
    { type: 'response.in_progress', response: { id: 'resp_1', status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: { id: 'rs_1', type: 'reasoning', summary: [] } },
    { type: 'response.output_item.done', output_index: 0, item: REASONING },
    { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE, content: [] } },
    { type: 'response.content_part.added', output_index: 1, content_index: 0, part: { type: 'output_text', text: '' } },
    ...deltas.map((delta) => ({ type: 'response.output_text.delta', output_index: 1, content_index: 0, delta })),
    { type: 'response.some_new_event', n: 1 },
    { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
    { type: 'response.output_item.added', output_index: 2, item: { ...PATCH, input: '' } },
    { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: '*** "Be' },
    { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: 'gin"' },
    { type: 'response.custom_tool_call_input.done', output_index: 2, input: PATCH.input },
    { type: 'response.output_item.done', output_index: 2, item: PATCH },
    { type: 'response.completed', response: RESPONSE },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

const eventText = (event: Json) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`;
const STREAM = eventsOf(['Hello ', 'there']).map(eventText).join('');

function stream(text: string, bytesPerChunk = 100_000): Script {
  return async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(text);
    for (let start = 0; start < bytes.length; start += bytesPerChunk)
      await answer.write(bytes.subarray(start, start + bytesPerChunk));
    answer.end();
  };
}

const sentBody = () => openai.requests.at(-1)?.body ?? '';
const sent = () => JSON.parse(sentBody()) as Json & { input: Json[] };
const answers = scripts.json(JSON.stringify(RESPONSE));

test.each([
  [
    'its own limit',
    '{ "model": "own",  "input":"a\\u0020b", "temperature":1.00, "store" : false, "stream":false, "max_output_tokens":64 }',
    '{ "model": "gpt-5.5",  "input":"a\\u0020b", "temperature":1.00, "store" : false, "stream":false, "max_output_tokens":50 }',
  ],
  [
    'none',
    '{"model":"own","input":[{"role":"user","content":"a"}]}',
    '{"model":"gpt-5.5","input":[{"role":"user","content":"a"}],"max_output_tokens":50,"store":false,"stream":false}',
  ],
])(
  'the body reaches the provider byte for byte but for model, limit, storage and stream (%s)',
  async (_, given, body) => {
    const answer = JSON.stringify({ ...RESPONSE, extra: 1 }, null, 2);
    openai.play(scripts.json(answer));
    const caller = await world.makeKey();
    const response = await postResponse(world, caller.secret, {}, { body: given });
    expect(await response.text()).toBe(answer);
    expect(openai.requests.at(-1)).toMatchObject({ path: '/v1/responses', body });
    await expectMoney(world, caller, [GOOD]);
  },
);

test('a stream is relayed event for event, however its bytes are split', async () => {
  const caller = await world.makeKey();
  for (const bytes of [1, 7, 100_000]) {
    openai.play(stream(STREAM, bytes));
    expect(await (await postResponse(world, caller.secret, { model: 'own', stream: true })).text()).toBe(STREAM);
  }
  await expectMoney(world, caller, Array(3).fill({ ...GOOD, outcome: 'completed' }));
});

test('a stream that breaks off ends with an error and without the provider’s end', async () => {
  const end = STREAM.indexOf('event: response.completed');
  openai.play(stream(STREAM.slice(0, end)));
  const caller = await world.makeKey();
  const response = await postResponse(world, caller.secret, { model: 'own', stream: true });
  expect(await expectLastError(response, 'upstream_failed', 'server_error')).toStartWith(STREAM.slice(0, end));
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }]);
});

test('when the money runs out no more output of the provider is sent', async () => {
  openai.play(async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const event of eventsOf(Array(500).fill('word '.repeat(40)))) {
      if (answer.isGone) return;
      await answer.write(eventText(event));
      await Bun.sleep(1);
    }
    answer.end();
  });
  const caller = await world.makeKey({ credit: '0.02' });
  const members = { model: 'long', stream: true, max_output_tokens: 30_000 };
  const text = await expectLastError(
    await postResponse(world, caller.secret, members),
    'insufficient_user_quota',
    'insufficient_quota',
  );
  const [record] = await expectMoney(world, caller, [{ outcome: 'quota_cut', written_off: '0' }], '0.02');
  const relayed = (text.split('word ').length - 1) * 5;
  expect(relayed).toBeGreaterThan(500);
  expect(relayed / 5).toBeLessThanOrEqual(record?.['output_tokens'] as number); // each word is a token
});

test('a failure of the provider has our words and code, in its answer and within a stream', async () => {
  const error = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Limit reached for org-4711.' };
  const caller = await world.makeKey();
  openai.play((answer) => answer.send(429, { 'content-type': 'application/json' }, JSON.stringify({ error })));
  const refused = await postResponse(world, caller.secret, { model: 'own' });
  const told = await expectError(refused, 429, 'rate_limit_exceeded', 'upstream_rate_limited');
  expect(JSON.stringify(told)).not.toContain('4711');
  const failed = eventText({ type: 'response.failed', response: { ...RESPONSE, status: 'failed', error } });
  openai.play(stream(STREAM.slice(0, STREAM.indexOf('event: response.some_new_event')) + failed));
  const response = await postResponse(world, caller.secret, { model: 'own', stream: true });
  const text = await expectLastError(response, 'upstream_rate_limited', 'rate_limit_exceeded');
  expect(text).not.toContain('4711');
  await expectMoney(world, caller, [{ outcome: 'upstream_cut' }, { cost: '0' }]);
});

describe('what may cost more or read what is stored', () => {
  const user = (...content: Json[]) => ({ input: [{ role: 'user', content }] });
  const say = (...items: Json[]) => ({ input: [{ role: 'user', content: 'Hi' }, ...items] });
  const image = { type: 'input_image', image_url: 'data:image/png;base64,aGk=' };

  test.each<[Json]>([
    [{ background: true }],
    [{ store: true }],
    [{ previous_response_id: 'resp_1' }],
    [{ conversation: 'conv_1' }],
    [{ prompt: { id: 'pmpt_1' } }],
    [{ service_tier: 'flex' }],
    [{ service_tier: 'priority' }],
    [{ moderation: {} }],
    ...[
      'file_search',
      'code_interpreter',
      'computer',
      'image_generation',
      'mcp',
      'shell',
      'local_shell',
      'new_one',
    ].map((type): [Json] => [{ tools: [{ type }] }]),
    [{ tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'mcp' }] }] }],
    [say({ type: 'additional_tools', tools: [{ type: 'mcp' }] })],
    [{ tool_choice: { type: 'file_search' } }],
    [say({ type: 'item_reference', id: 'msg_1' })],
    [say({ id: 'msg_1' })],
    [say({ type: 'compaction', encrypted_content: 'x' })],
    [say({ type: 'mcp_call', id: 'x' })],
    [user({ ...image, file_id: 'file-1' })],
    [user({ type: 'input_file', file_id: 'file-1' })],
    [user({ type: 'input_file', file_id: 'file-1', file_data: 'data:text/plain;base64,aGk=' })],
    [say({ type: 'function_call_output', call_id: 'a', output: [{ ...image, file_id: 'file-1' }] })],
  ])('is refused before it is sent: %j', async (members) => {
    const before = openai.requests.length;
    const caller = await world.makeKey();
    const response = await postResponse(world, caller.secret, { model: 'own', ...members });
    expect(response.status).toBe(400);
    expect(openai.requests.length).toBe(before);
    await expectNoTrace(world, caller);
  });

  test('is left out where clients always send it or a later protocol may have it', async () => {
    openai.play(answers);
    const caller = await world.makeKey();
    const fn = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
    const tools = [{ ...fn, defer_loading: true, later: 1 }, { type: 'web_search' }, { type: 'tool_search' }];
    const later = {
      metadata: { a: 'b' },
      client_metadata: {},
      prompt_cache_retention: '24h',
      later: 1,
      max_tool_calls: 1,
    };
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'Hi', later: 1 }], later: 1 },
      { type: 'item_reference', id: 'rs_1' },
      { type: 'web_search_call', id: 'ws_1' },
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}', later: 1 },
      { type: 'function_call_output', call_id: 'a', output: 'ok' },
    ];
    const include = ['reasoning.encrypted_content', 'web_search_call.action.sources'];
    const reasoning = { effort: 'low', later: 1 };
    const response = await postResponse(world, caller.secret, {
      ...later,
      model: 'own',
      tools,
      input,
      include,
      reasoning,
    });
    expect(response.status).toBe(200);
    expect(sent()).toEqual({
      ...responseOf({ model: 'gpt-5.5', max_output_tokens: 50, store: false, stream: false }),
      tools: [fn],
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low' },
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'ok' },
      ],
    });
  });
});

describe('reasoning', () => {
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2lnbmVk' };
  const sealed = { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: sealThinking(thinking) };
  const text = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] };
  const stored = { type: 'reasoning', id: 'rs_3', summary: [] }; // names what another account may have stored
  const shown = {
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    content: [{ type: 'reasoning_text', text: 'Hm.' }],
  };
  const withFile = { ...REASONING, ...shown, content: [...shown.content, { type: 'input_file', file_id: 'file-1' }] };
  const conversation = [
    { role: 'user', content: 'a' },
    REASONING,
    withFile,
    sealed,
    stored,
    text,
    { role: 'user', content: 'b' },
  ];

  test('goes back to the kind that it came from, and to no other', async () => {
    openai.play(answers);
    world.upstream.play(scripts.good());
    const { secret } = await world.makeKey();
    expect((await postResponse(world, secret, { model: 'own', input: conversation })).status).toBe(200);
    expect(sent().input.filter(({ type }) => type === 'reasoning')).toEqual([REASONING, { ...REASONING, ...shown }]);
    expect((await postResponse(world, secret, { model: 'other', input: conversation })).status).toBe(200);
    const { messages } = JSON.parse(world.upstream.requests.at(-1)?.body ?? '') as { messages: Json[] };
    expect(messages[1]?.['content']).toEqual([thinking, { type: 'text', text: 'Hi' }]);
  });

  test('that another provider of the kind sealed is dropped, and the message is answered', async () => {
    const error = {
      type: 'invalid_request_error',
      code: 'invalid_encrypted_content',
      message: 'It could not be verified.',
    };
    openai.play((answer, { body }) =>
      body.includes('gAAAA')
        ? answer.send(400, { 'content-type': 'application/json' }, JSON.stringify({ error }))
        : answers(answer, {} as never),
    );
    const caller = await world.makeKey();
    const response = await postResponse(world, caller.secret, { model: 'own', input: conversation });
    expect(await response.json()).toEqual(RESPONSE);
    expect(sent().input.map(({ type, role }) => type ?? role)).toEqual(['user', 'message', 'user']);
    await expectMoney(world, caller, [GOOD]);
  });
});

test('another kind answers after a failure, from the translated message, and the other way round', async () => {
  const caller = await world.makeKey();
  for (const stream of [false, true]) {
    openai.play((answer) => answer.send(500, {}, 'no'));
    world.upstream.play(scripts.good());
    const translated = await (await postResponse(world, caller.secret, { model: 'either', stream })).text();
    expect(translated).toContain('"text":"Hello there, world!"');
  }
  openai.play(answers);
  world.upstream.play(scripts.overloaded());
  expect(await (await postResponse(world, caller.secret, { model: 'other' })).json()).toEqual(RESPONSE);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('an answer is repeated for the same idempotency key in the provider’s own words', async () => {
  openai.play(stream(STREAM));
  const caller = await world.makeKey();
  const headers = { 'idempotency-key': 'once' };
  for (let turn = 0; turn < 2; turn++) {
    const response = await postResponse(world, caller.secret, { model: 'own', stream: true }, { headers });
    expect(await response.text()).toBe(STREAM);
  }
  await expectMoney(world, caller, [GOOD]);
});

test('the header that says where tools are is forwarded, and no other', async () => {
  openai.play(answers);
  const { secret } = await world.makeKey();
  const lite = 'x-openai-internal-codex-responses-lite';
  await postResponse(world, secret, { model: 'own' }, { headers: { [lite]: 'true', 'x-codex-turn-metadata': 'x' } });
  expect(openai.requests.at(-1)?.headers).toMatchObject({ [lite]: 'true', authorization: 'Bearer sk-openai-1' });
  expect(openai.requests.at(-1)?.headers).not.toHaveProperty('x-codex-turn-metadata');
  await postResponse(world, secret, { model: 'own' });
  expect(openai.requests.at(-1)?.headers).not.toHaveProperty(lite);
});
