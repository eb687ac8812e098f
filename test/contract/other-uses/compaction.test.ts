// POST /v1/responses/compact: relayed to providers of Responses, held and billed like a message, and refused elsewhere.

import { afterAll, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { responses } from '../fronts/drivers/responses.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

const json = (value: unknown): string => JSON.stringify(value);
const answers =
  (value: unknown): Script =>
  (answer) =>
    answer.send(200, { 'content-type': 'application/json' }, json(value));
const upstream = await startScriptedUpstream(answers({}));
const of = (kind: string) => ({ kind, base_url: upstream.url, api_key: 'k', private_network: true });
const through = (...providers: string[]) => ({
  price: { input: '2', output: '10', cache_read: '0.2' },
  max_output_tokens: 1_000,
  routes: providers.map((provider, priority) => ({ provider, model: 'upstream-model', priority })),
});
const world = await sharedWorld({
  providers: { own: of('openai-responses'), chat: of('openai'), claude: of('anthropic'), google: of('gemini') },
  models: {
    own: through('own'),
    chat: through('chat'),
    claude: through('claude'),
    google: through('google'),
    second: through('chat', 'own'),
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const HELLO = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] };
const SEALED = { id: 'cmp_1', type: 'compaction', encrypted_content: 'c2VhbGVk' };
const COMPACTED = {
  id: 'resp_1',
  object: 'response.compaction',
  created_at: 1_790_000_000,
  output: [{ id: 'msg_1', status: 'completed', ...HELLO }, SEALED],
  usage: {
    input_tokens: 120,
    input_tokens_details: { cached_tokens: 20 },
    output_tokens: 40,
    output_tokens_details: { reasoning_tokens: 10 },
    total_tokens: 160,
  },
};
const COST = String((100 * 2 + 20 * 0.2 + 40 * 10) / 1e6);
const post = ({ secret }: Caller, path: string, body: Json, headers: Record<string, string> = {}) =>
  fetch(`${world.url}/v1/responses${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: json(body),
  });
const compact = (caller: Caller, members: Json = {}, headers: Record<string, string> = {}) =>
  post(caller, '/compact', { model: 'own', input: [HELLO], ...members }, headers);
const sent = (): Json => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;

test('a compaction is relayed as it came, and billed by its report', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(COMPACTED));
  const kept = { instructions: 'Be brief', prompt_cache_key: 'a', reasoning: { effort: 'low' } };
  const response = await compact(caller, { ...kept, stream: true, store: false, metadata: { a: 'b' }, temperature: 1 });
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(await response.json()).toEqual(COMPACTED);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/responses/compact');
  expect(sent()).toEqual({ model: 'upstream-model', input: [HELLO], ...kept });
  await expectMoney(world, caller, [
    { input_tokens: 100, cache_read_input_tokens: 20, output_tokens: 40, usage_source: 'reported', cost: COST },
  ]);
});

test('a compacted conversation goes on at the same kind of provider, which gets it as it is', async () => {
  const caller = await world.makeKey();
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }];
  upstream.play(answers({ id: 'r', object: 'response', status: 'completed', output, usage: COMPACTED.usage }));
  const input = [HELLO, { ...SEALED, created_by: 'x' }, HELLO];
  expect((await post(caller, '', { model: 'own', max_output_tokens: 20, input })).status).toBe(200);
  expect(upstream.requests.at(-1)?.path).toBe('/v1/responses');
  expect(sent()['input']).toEqual([HELLO, SEALED, HELLO]);
  upstream.play(answers(COMPACTED));
  expect((await compact(caller, { input })).status).toBe(200);
  expect(sent()['input']).toEqual([HELLO, SEALED, HELLO]);
  await expectMoney(world, caller, [{ cost: COST }, { cost: COST }]);
});

test.each(['chat', 'claude', 'google'])('another kind of provider refuses both by name (%s)', async (model) => {
  const caller = await world.makeKey();
  const before = upstream.requests.length;
  await expectError(responses, await compact(caller, { model }), 'upstream_rejected', 'model');
  const body = { model, max_output_tokens: 20, input: [HELLO, SEALED, HELLO] };
  await expectError(responses, await post(caller, '', body), 'upstream_rejected', 'input.1');
  expect(upstream.requests).toHaveLength(before);
  await expectMoney(world, caller, [{ cost: '0' }, { cost: '0' }]);
});

test('a route that cannot compact is passed over', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(COMPACTED));
  expect(await (await compact(caller, { model: 'second' })).json()).toEqual(COMPACTED);
  await expectMoney(world, caller, [{ cost: COST, provider: 'own' }]);
});

test('all that the model may write is held', async () => {
  const before = upstream.requests.length;
  const short = await world.makeKey({ credit: '0.009' }); // a thousand tokens cost 0.01
  await expectError(responses, await compact(short), 'insufficient_user_quota');
  expect(upstream.requests).toHaveLength(before);
  await expectNoTrace(world, short, '0.009');
});

test('an answer without a report is billed by what was counted and what it has', async () => {
  const caller = await world.makeKey();
  const { usage: _, ...unreported } = COMPACTED;
  upstream.play(answers(unreported));
  expect((await compact(caller)).status).toBe(200);
  const most = Math.ceil(json(unreported).length / 4);
  await expectMoney(world, caller, [{ output_tokens: most, usage_source: 'estimated' }]);
});

test('an answer without a conversation is a failure, which is not billed', async () => {
  const caller = await world.makeKey();
  upstream.play(answers({ id: 'resp_1', object: 'response.compaction' }));
  await expectError(responses, await compact(caller), 'upstream_failed');
  await expectMoney(world, caller, [{ cost: '0' }]);
});

test.each<[string, Json, string]>([
  ['no input', { input: null }, 'input'],
  ['an earlier response', { previous_response_id: 'resp_1' }, 'previous_response_id'],
  ['a sealed part without content', { input: [HELLO, { type: 'compaction' }] }, 'input.1.encrypted_content'],
  [
    'messages of Chat Completions',
    { input: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/a.png' } }] }] },
    'input',
  ],
])('%s is refused by its field', async (_, members, path) => {
  const caller = await world.makeKey();
  await expectError(responses, await compact(caller, members), 'invalid_request', path);
  await expectNoTrace(world, caller);
});

test('a retry with its idempotency key gets the stored answer, and is charged once', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(COMPACTED));
  const headers = { 'idempotency-key': crypto.randomUUID() };
  for (let count = 0; count < 2; count++) expect(await (await compact(caller, {}, headers)).json()).toEqual(COMPACTED);
  await expectMoney(world, caller, [{ cost: COST }]);
});
