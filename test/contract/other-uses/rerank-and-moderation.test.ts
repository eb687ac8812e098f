// POST /v1/rerank and /v1/moderations: what providers are sent, what clients get, and what is charged.

import { afterAll, describe, expect, test } from 'bun:test';
import { type Script, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { chatCompletions } from '../fronts/drivers/chat-completions.ts';
import { expectError } from '../fronts/front-world.ts';
import { type Caller, expectMoney, expectNoTrace, type Json, sharedWorld } from '../post-messages/world.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const answers =
  (status: number, body: unknown): Script =>
  (answer) =>
    answer.send(status, JSON_HEADERS, JSON.stringify(body));
const ranked = (...scores: [index: number, score: number][]) =>
  scores.map(([index, relevance_score]) => ({ index, relevance_score }));

const upstream = await startScriptedUpstream(answers(500, {}));
const provider = { kind: 'openai', base_url: upstream.url, private_network: true, api_key: 'sk-upstream-credential-7' };
const ofSearches = { units: { per_thousand_searches: '2' } };
const world = await sharedWorld({
  providers: { ranks: provider, sandbox: { kind: 'sandbox' } },
  models: {
    'by-searches': {
      serves: 'rerank',
      price: ofSearches,
      routes: [{ provider: 'ranks', model: 'r', cost: ofSearches }],
    },
    'by-tokens': { serves: 'rerank', price: { input: '0.05' }, routes: [{ provider: 'ranks', model: 'r' }] },
    moderator: { serves: 'moderation', price: { input: '0.5' }, routes: [{ provider: 'ranks', model: 'm' }] },
    'omni-moderation-latest': { serves: 'moderation', price: { input: '0' }, routes: [{ provider: 'sandbox' }] },
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

const post = ({ secret }: Caller, path: string, body: Json, headers: Record<string, string> = {}) =>
  fetch(world.url + path, {
    method: 'POST',
    headers: { ...JSON_HEADERS, authorization: `Bearer ${secret}`, ...headers },
    body: JSON.stringify(body),
  });
const rerank = (caller: Caller, members: Json, path = '/v1/rerank') =>
  post(caller, path, { model: 'by-searches', query: 'red', documents: ['a', 'b'], ...members });
const moderate = (caller: Caller, members: Json) => post(caller, '/v1/moderations', { model: 'moderator', ...members });
const sent = () => JSON.parse(upstream.requests.at(-1)?.body ?? '{}') as Json;
const paths = () => upstream.requests.map(({ path }) => path);

describe('reranking', () => {
  test.each(['/v1/rerank', '/v2/rerank', '/rerank'])('%s answers in the shapes of Cohere and Jina', async (path) => {
    const caller = await world.makeKey();
    upstream.play(answers(200, { results: ranked([1, 0.9], [0, 0.1]), meta: { billed_units: { search_units: 1 } } }));
    const documents = ['a', { text: 'b' }];
    const response = await rerank(caller, { documents, top_n: 1, return_documents: true }, path);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      model: 'r',
      results: [{ index: 1, relevance_score: 0.9, document: { text: 'b' } }],
      meta: { billed_units: { search_units: 1 } },
    });
    expect(paths().at(-1)).toBe('/v1/rerank');
    expect(sent()).toEqual({ model: 'r', query: 'red', documents: ['a', 'b'], top_n: 1 });
    const use = { endpoint: 'rerank', units: { searches: 1 }, cost: '0.002', provider_cost: '0.002' };
    await expectMoney(world, caller, [{ model: 'by-searches', ...use, usage_source: 'reported' }]);
  });

  test('searches beyond what the request may use are not billed, and those of a silent provider are counted', async () => {
    const caller = await world.makeKey();
    const documents = Array.from({ length: 101 }, () => 'a');
    for (const meta of [
      { billed_units: { search_units: 1_000_000 } },
      { billed_units: { search_units: -1 } },
      undefined,
    ]) {
      upstream.play(answers(200, { results: ranked([0, 1]), usage: { total_tokens: 7 }, meta }));
      expect((await rerank(caller, { documents })).status).toBe(200);
    }
    const billed = { units: { searches: 2 }, cost: '0.004' };
    await expectMoney(world, caller, [billed, billed, billed]);
  });

  test('long documents count as several, and are held before they are sent', async () => {
    const caller = await world.makeKey({ credit: '0.003' });
    const before = upstream.requests.length;
    const refused = await rerank(caller, { documents: ['x'.repeat(60_000)] });
    await expectError(chatCompletions, refused, 'insufficient_user_quota');
    expect(upstream.requests.length).toBe(before);
    await expectNoTrace(world, caller, '0.003');
  });

  test('tokens are billed by models that have a price of tokens', async () => {
    const caller = await world.makeKey();
    upstream.play(answers(200, { results: ranked([0, 1]), usage: { total_tokens: 1_000 } }));
    expect((await rerank(caller, { model: 'by-tokens' })).status).toBe(200);
    await expectMoney(world, caller, [{ input_tokens: 1_000, cost: '0.00005' }]);
  });

  test('a server without a version in its path gets the request there, with the names of TEI', async () => {
    const caller = await world.makeKey();
    upstream.play(answers(404, {}), answers(200, [{ index: 1, score: 0.5 }]));
    expect(await (await rerank(caller, {})).json()).toMatchObject({ results: [{ index: 1, relevance_score: 0.5 }] });
    expect(paths().slice(-2)).toEqual(['/v1/rerank', '/rerank']);
    expect(sent()).toMatchObject({ query: 'red', texts: ['a', 'b'], truncate: true });
  });

  test.each([
    [{ results: [] }],
    [{ results: ranked([2, 1]) }],
    [{ results: ranked([0, 1], [0, 1]) }],
    [{ results: [{ index: 0, relevance_score: 'high' }] }],
    [{ data: 'none' }],
  ])('an answer that does not rank the documents is a failure, and free: %j', async (body) => {
    const caller = await world.makeKey();
    upstream.play(answers(200, body));
    await expectError(chatCompletions, await rerank(caller, {}), 'upstream_failed');
    await expectMoney(world, caller, [{ outcome: 'failed', cost: '0', units: {} }]);
  });

  test.each([
    [{ query: undefined }, 'query'],
    [{ query: '' }, 'query'],
    [{ documents: 'a' }, 'documents'],
    [{ documents: [] }, 'documents'],
    [{ documents: ['a', 1] }, 'documents.1'],
    [{ documents: [{ title: 'a' }] }, 'documents.0.text'],
    [{ documents: Array.from({ length: 1_001 }, () => 'a') }, 'documents'],
    [{ top_n: 0 }, 'top_n'],
    [{ max_tokens_per_doc: -1 }, 'max_tokens_per_doc'],
    [{ return_documents: 'yes' }, 'return_documents'],
  ])('refuses %j by the name of its field', async (members, path) => {
    const caller = await world.makeKey();
    await expectError(chatCompletions, await rerank(caller, members as Json), 'invalid_request', path);
  });

  test('a model of another use is not found, also with a key that may use it', async () => {
    const caller = await world.makeKey();
    await expectError(chatCompletions, await rerank(caller, { model: 'moderator' }), 'model_not_found', 'model');
  });
});

describe('moderation', () => {
  const results = (...flagged: boolean[]) => ({
    id: 'modr-1',
    model: 'm',
    results: flagged.map((one) => ({ flagged: one, categories: {}, category_scores: {} })),
  });

  test.each([
    ['a text', ['a text'], 1],
    [['one', 'two'], ['one', 'two'], 2],
    [
      [
        { type: 'text', text: 'one' },
        { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      ],
      null,
      1,
    ],
  ])('of %j: the answer is the provider’s own', async (input, _, count) => {
    const caller = await world.makeKey();
    const answer = results(...Array.from({ length: count }, (_, at) => at === 0));
    upstream.play(answers(200, answer));
    expect(await (await moderate(caller, { input })).json()).toEqual(answer);
    expect([paths().at(-1), sent()]).toEqual(['/v1/moderations', { model: 'm', input }]);
    await expectMoney(world, caller, [{ endpoint: 'moderation', usage_source: 'estimated', units: {} }]);
  });

  test('reported tokens are billed', async () => {
    const caller = await world.makeKey();
    upstream.play(answers(200, { ...results(false), usage: { prompt_tokens: 1_000 } }));
    expect((await moderate(caller, { input: 'a' })).status).toBe(200);
    await expectMoney(world, caller, [{ input_tokens: 1_000, cost: '0.0005', usage_source: 'reported' }]);
  });

  test('an answer that lacks a result is a failure', async () => {
    const caller = await world.makeKey();
    upstream.play(answers(200, results(false)));
    await expectError(chatCompletions, await moderate(caller, { input: ['a', 'b'] }), 'upstream_failed');
  });

  test('without a model, OpenAI’s default is asked; the sandbox flags a word', async () => {
    const caller = await world.makeKey();
    const response = await post(caller, '/v1/moderations', { input: ['this is forbidden', 'fine'] });
    expect(await response.json()).toMatchObject({ results: [{ flagged: true }, { flagged: false }] });
  });

  test.each([
    [{}, 'input'],
    [{ input: [] }, 'input'],
    [{ input: [1] }, 'input.0'],
    [{ input: [{ type: 'audio' }] }, 'input.0.type'],
    [{ input: [{ type: 'image_url' }] }, 'input.0.image_url.url'],
  ])('refuses %j by the name of its field', async (members, path) => {
    const caller = await world.makeKey();
    await expectError(chatCompletions, await moderate(caller, members), 'invalid_request', path);
  });
});

test('an answer is replayed under its idempotency key, and billed once', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, { results: ranked([0, 1]), usage: { total_tokens: 3 } }));
  const ask = () =>
    post(caller, '/v1/rerank', { model: 'by-searches', query: 'q', documents: ['d'] }, { 'idempotency-key': 'k' });
  const [first, second] = [await ask(), await ask()];
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect(await second.json()).toEqual(await first.json());
  await expectMoney(world, caller, [{ cost: '0.002' }]);
});

test('requests are found by what they asked for', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, { results: ranked([0, 1]) }));
  await rerank(caller, {});
  await post(caller, '/v1/moderations', { input: 'fine' });
  for (const [endpoint, models] of [
    ['rerank', ['by-searches']],
    ['moderation', ['omni-moderation-latest']],
    ['messages', []],
  ] as const) {
    const found = await world.admin('GET', `/usage?account=${caller.account}&endpoint=${endpoint}`);
    expect((found['data'] as Json[]).map(({ model }) => model)).toEqual([...models]);
  }
});

test('the receipt of a key shows what was used and its rate', async () => {
  const caller = await world.makeKey();
  upstream.play(answers(200, { results: ranked([0, 1]), usage: { total_tokens: 3 } }));
  const id = (await rerank(caller, {})).headers.get('request-id');
  const receipt = await fetch(`${world.url}/v1/usage/${id}`, { headers: { 'x-api-key': caller.secret } });
  expect(await receipt.json()).toMatchObject({
    endpoint: 'rerank',
    units: { searches: 1 },
    rates: { per_thousand_searches: '2' },
    price: {
      parts: [{ part: 'input' }, { part: 'searches', searches: 1, rate: '2', amount: '0.002' }],
      after_rounding: '0.002',
    },
  });
});
