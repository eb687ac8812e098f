// Batches that providers run: what they get, what their answers cost, and what happens if they do not answer.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { type BatchAnswer, CONVERSED, GOOD, REFUSED } from '../../support/batch-provider.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { startTurnpike } from '../../support/start-turnpike.ts';
import { balanceAfter, DIALECTS, MODELS, openBatchWorld, requestOf, until } from './provider-batch-world.ts';

const groups = { default: { models: ['*'] }, vip: { models: ['gpt'] } };
const { provider, turnpike, documentOf, start, untilGiven, stop } = await openBatchWorld(startTurnpike, { groups });
afterAll(stop);
beforeEach(() => provider.reset());

/** The model as the batch, and not each of its requests, names it. */
const MODEL_OF_BATCH = {
  bedrock: 'anthropic.claude-upstream',
  vertex: 'publishers/google/models/gemini-upstream',
} as const;
const FAILED: BatchAnswer = { status: 500, body: { type: 'error', error: { type: 'api_error', message: 'Oh.' } } };

test.each(DIALECTS)('requests go to %s in one batch, and each is billed when its answer is there', async (dialect) => {
  const requests = ['a', 'b', 'c'].map((name) => requestOf(name, MODELS[dialect]));
  provider.answer = (_dialect, body) =>
    JSON.stringify(body).includes('"b"') ? REFUSED[dialect] : { status: 200, body: GOOD[dialect] };
  const { ended, results, wallet, records, shown } = await start(requests);
  const [batch] = await untilGiven();
  const part = { provider: expect.stringContaining(dialect), requests: 3 };
  expect(await shown()).toMatchObject({
    cost: '0',
    parts: [{ ...part, status: expect.stringMatching(/sending|running/) }],
  });
  expect(batch?.requests.map(({ body }) => JSON.stringify(body))).toEqual(
    ['a', 'b', 'c'].map((name) => expect.stringContaining(`"${name}"`)),
  );
  const isNamedOnce = dialect === 'bedrock' || dialect === 'vertex';
  expect(batch?.model).toBe(isNamedOnce ? MODEL_OF_BATCH[dialect] : undefined);
  expect(
    batch?.requests.every(
      ({ body }) =>
        isNamedOnce || dialect === 'gemini' || body['model'] === `${MODELS[dialect].split('-')[0]}-upstream`,
    ),
  ).toBe(true);
  expect(await records()).toEqual([]);
  expect(Number((await wallet()).held)).toBeGreaterThan(0);
  provider.letGo();
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2, errored: 1 });
  expect((await results()).map(({ custom_id, result }) => [custom_id, result.type])).toEqual([
    ['a', 'succeeded'],
    ['b', 'errored'],
    ['c', 'succeeded'],
  ]);
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
  const billed = (await records()).filter(({ cost }) => cost !== '0');
  // Half of 25 × 2 + 12 × 10 millionths.
  expect(billed.map(({ cost, provider_cost }) => [cost, provider_cost])).toEqual([
    ['0.000255', '0.000085'],
    ['0.000255', '0.000085'],
  ]);
  expect(await shown()).toMatchObject({ cost: '0.00051', parts: [{ ...part, status: 'ended' }] });
  expect(provider.direct).toEqual([]);
  expect(provider.removed.length).toBeGreaterThan(0);
  expect([...provider.files.keys()]).toEqual([]);
});

test.each(DIALECTS)('what %s did not execute, or failed at, is sent one by one', async (dialect) => {
  provider.answer = (_dialect, body) => {
    const said = JSON.stringify(body);
    if (said.includes('lost')) return null;
    return said.includes('failed') ? FAILED : { status: 200, body: GOOD[dialect] };
  };
  provider.letGo();
  const requests = ['good', 'lost', 'failed'].map((name) => requestOf(name, MODELS[dialect]));
  const { ended, wallet, records } = await start(requests);
  expect((await ended()).request_counts).toMatchObject({ succeeded: 3 });
  expect(provider.direct.map((body) => /lost|failed/.exec(JSON.stringify(body))?.[0])).toEqual(['lost', 'failed']);
  expect(await wallet()).toEqual({ balance: balanceAfter(3), held: '0' });
  const costs = (await records()).filter(({ cost }) => cost !== '0').map((record) => record['provider_cost']);
  expect(costs.sort()).toEqual(['0.000085', '0.00017', '0.00017']);
});

test.each(DIALECTS)('a batch that %s refuses is sent one by one, also if its credential is wrong', async (dialect) => {
  for (const status of [400, 401, 429]) {
    provider.onCreate = () => {
      throw Response.json({ type: 'error', error: { type: 'invalid_request_error', message: 'No.' } }, { status });
    };
    const { ended, wallet } = await start([requestOf('one', MODELS[dialect]), requestOf('two', MODELS[dialect])]);
    expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
    expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
  }
  expect(provider.direct).toHaveLength(6);
  expect(provider.files.size).toBe(dialect === 'openai' ? 3 : 0); // files there expire
});

test.each(DIALECTS)('a batch whose creation at %s was cut off is looked for, and never made twice', async (dialect) => {
  let asked = 0;
  provider.onCreate = (batch) => {
    asked++;
    provider.batches.push(batch);
    throw new Response('', { status: 502 });
  };
  const { ended, wallet } = await start([requestOf('one', MODELS[dialect]), requestOf('two', MODELS[dialect])]);
  await until(
    () => asked,
    (times) => times > 0,
  );
  provider.letGo();
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
  expect([asked, provider.direct.length]).toEqual([1, 0]);
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
});

test.each(DIALECTS)('a cancellation that %s does not take is repeated', async (dialect) => {
  let asked = 0;
  provider.onCancel = () => {
    if (++asked < 3) throw new Response('', { status: 503 });
  };
  const { client, id, ended, wallet } = await start(['one', 'two'].map((name) => requestOf(name, MODELS[dialect])));
  await untilGiven();
  await client.messages.batches.cancel(id);
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
  expect(asked).toBe(3);
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
});

test.each(['openai', 'gemini', 'vertex'] as const)(
  'a batch canceled while %s makes it, whose answer is lost, is found there, ended and billed',
  async (dialect) => {
    const given = Promise.withResolvers<void>();
    const canceled = Promise.withResolvers<void>();
    let asked = 0;
    provider.onCreate = async (batch) => {
      asked++;
      given.resolve();
      await canceled.promise;
      provider.batches.push(batch);
      throw new Response('', { status: 502 });
    };
    const { client, id, ended, wallet } = await start(['one', 'two'].map((name) => requestOf(name, MODELS[dialect])));
    await given.promise;
    await client.messages.batches.cancel(id);
    canceled.resolve();
    expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
    expect([asked, provider.direct.length]).toEqual([1, 0]);
    expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
  },
);

test.each(DIALECTS)('a batch canceled at %s bills what was done by then, and nothing else', async (dialect) => {
  provider.answer = (_dialect, body) => {
    const said = JSON.stringify(body);
    if (said.includes('late')) return null;
    return said.includes('failed') ? FAILED : { status: 200, body: GOOD[dialect] };
  };
  const requests = ['early', 'late', 'failed'].map((name) => requestOf(name, MODELS[dialect]));
  const { client, id, ended, results, wallet } = await start(requests);
  await untilGiven();
  await client.messages.batches.cancel(id);
  expect((await ended()).request_counts).toMatchObject({ succeeded: 1, canceled: 2 });
  expect((await results()).map(({ result }) => result.type)).toEqual(['succeeded', 'canceled', 'canceled']);
  expect(provider.direct).toEqual([]);
  expect(await wallet()).toEqual({ balance: balanceAfter(1), held: '0' });
  expect(provider.files.size).toBe(0);
});

test('a request that no money is reserved for goes to no batch of a provider, although its key may send it meanwhile', async () => {
  const caller = await turnpike.makeKey({ credit: '10.00' }, { models: ['gemini-pro'] });
  const client = new Anthropic({ baseURL: turnpike.url, apiKey: caller.secret, maxRetries: 0 });
  // A batch of Gemini has at most 200 requests: the others are read when it was made.
  const requests = Array.from({ length: 201 }, (_, at) => requestOf(`item-${at}`, MODELS.gemini));
  const created: string[] = [];
  provider.onCreate = async ({ dialect }) => {
    if (created.push(dialect) === 1) await turnpike.admin('PATCH', `/keys/${caller.key}`, { models: null });
  };
  provider.letGo();
  const { id } = await client.messages.batches.create({ requests: [...requests, requestOf('unreserved')] });
  const { request_counts: counts } = await until(
    () => client.messages.batches.retrieve(id),
    (batch) => batch.processing_status === 'ended',
  );
  expect(counts).toMatchObject({ succeeded: 202 });
  expect(created).toEqual(['gemini', 'gemini']);
  expect(JSON.stringify(provider.direct)).toContain('unreserved');
  expect(provider.direct).toHaveLength(1);
});

test('results that do not end are not read, and are asked for again', async () => {
  using _bounds = setBounds({ batchStrayLinesMax: 10, batchPartTriesMax: 1_000 });
  const { client, id, ended, wallet } = await start(['a', 'b'].map((name) => requestOf(name)));
  const [batch] = await untilGiven();
  if (batch === undefined) throw new Error('there is no batch');
  provider.letGo();
  const answers = batch.results;
  batch.results = [...Array.from({ length: 20 }, () => ({ id: 'another', answer: null })), ...answers];
  const { asked } = provider;
  await until(
    () => provider.asked,
    (now) => now > asked + 8,
  );
  expect((await client.messages.batches.retrieve(id)).request_counts).toMatchObject({ processing: 2 });
  batch.results = answers;
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
});

test('work that a provider has begun is paid for, whatever the account does with key, limits and money meanwhile', async () => {
  const { caller, ended, wallet, records } = await start([requestOf('one'), requestOf('two')], { credit: '0.01' });
  await untilGiven();
  const { held } = await wallet();
  const other = await turnpike.post(caller.secret, requestOf('x').params);
  expect(other.status).toBe(200); // what is left beside the reserve
  await turnpike.admin('PATCH', `/keys/${caller.key}`, {
    quota: '0.000001',
    models: ['gpt'],
    rpm: 1,
    status: 'disabled',
  });
  await turnpike.admin('PATCH', `/accounts/${caller.account}`, {
    status: 'disabled',
    allowance: '0.000001',
    groups: ['vip'],
  });
  provider.letGo();
  const billed = await until(records, (found) => found.filter(({ cost }) => cost === '0.000255').length === 3);
  expect(billed.map(({ written_off: writtenOff }) => writtenOff)).toEqual(['0', '0', '0']);
  await until(wallet, (now) => now.held === '0');
  expect(Number(held)).toBeGreaterThan(0.001);
  await turnpike.admin('PATCH', `/accounts/${caller.account}`, { status: 'enabled' });
  await turnpike.admin('PATCH', `/keys/${caller.key}`, { status: 'enabled' });
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
});

test('OpenAI’s form and its other endpoints go to batches of their provider, too', async () => {
  const caller = await turnpike.makeKey({ credit: '10.00' });
  const client = new OpenAI({ baseURL: `${turnpike.url}/v1`, apiKey: caller.secret, maxRetries: 0 });
  const line = (custom_id: string) =>
    JSON.stringify({
      custom_id,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'gpt', max_tokens: 64, messages: [{ role: 'user', content: custom_id }] },
    });
  const content = new Blob([`${line('one')}\n${line('two')}`]);
  const input = await client.files.create({ purpose: 'batch', file: new File([content], 'batch.jsonl') });
  provider.letGo();
  const made = await client.batches.create({
    input_file_id: input.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const batch = await until(
    () => client.batches.retrieve(made.id),
    ({ status }) => status === 'completed',
  );
  expect(batch.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
  const [given] = provider.batches;
  expect(given?.requests.map(({ url }) => url)).toEqual(['/v1/chat/completions', '/v1/chat/completions']);
  expect(given?.requests.map(({ id }) => id)).not.toContain('one'); // ids of clients stay here
  const text = await (await client.files.content(batch.output_file_id ?? '')).text();
  const results = text
    .trim()
    .split('\n')
    .map((result) => JSON.parse(result));
  expect(results.map(({ custom_id, response }) => [custom_id, response.body.choices[0].message.content])).toEqual([
    ['one', 'Hi.'],
    ['two', 'Hi.'],
  ]);
});

test('a file that its client deletes while a provider works is billed all the same', async () => {
  const caller = await turnpike.makeKey({ credit: '10.00' });
  const client = new OpenAI({ baseURL: `${turnpike.url}/v1`, apiKey: caller.secret, maxRetries: 0 });
  const body = { model: 'gpt', max_tokens: 64, messages: [{ role: 'user', content: 'one' }] };
  const text = JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body });
  const input = await client.files.create({ purpose: 'batch', file: new File([text], 'batch.jsonl') });
  const asked = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const made = await client.batches.create(asked);
  await untilGiven();
  await client.files.delete(input.id);
  provider.letGo();
  const batch = await until(
    () => client.batches.retrieve(made.id),
    ({ status }) => status === 'completed',
  );
  expect(batch.request_counts).toMatchObject({ completed: 1 });
  const { balance, held } = (await turnpike.admin('GET', `/accounts/${caller.account}`)) as Record<string, string>;
  expect({ balance, held }).toEqual({ balance: balanceAfter(1), held: '0' });
});

test('a batch that is only taken for the one whose creation was cut off is neither canceled nor removed', async () => {
  provider.onCreate = (batch) => {
    // Somebody else's, of the same size; ours never arrived.
    provider.batches.push({ ...batch, requests: [{ id: 'of-somebody-else', url: '', body: {} }] });
    throw new Response('', { status: 502 });
  };
  const { client, id, ended, wallet } = await start([requestOf('one')]);
  const [other] = await untilGiven();
  await client.messages.batches.cancel(id);
  const { asked } = provider;
  await until(
    () => provider.asked,
    (times) => times > asked + 2,
  );
  expect(other?.status).toBe('running');
  provider.letGo();
  expect((await ended()).request_counts).toMatchObject({ canceled: 1 });
  expect([provider.batches.length, provider.removed]).toEqual([1, []]);
  expect(await wallet()).toEqual({ balance: '10.00', held: '0' });
});

test('an account without room for a copy of its requests has them sent one by one', async () => {
  await turnpike.admin('POST', '/apply', { document: { ...documentOf(), settings: { files_max: 1 } } });
  const caller = await turnpike.makeKey({ credit: '10.00' });
  const client = new OpenAI({ baseURL: `${turnpike.url}/v1`, apiKey: caller.secret, maxRetries: 0 });
  const body = { model: 'gpt', max_tokens: 64, messages: [{ role: 'user', content: 'one' }] };
  const text = JSON.stringify({ custom_id: 'one', method: 'POST', url: '/v1/chat/completions', body });
  const input = await client.files.create({ purpose: 'batch', file: new File([text], 'batch.jsonl') });
  const asked = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const made = await client.batches.create(asked);
  await until(
    () => client.batches.retrieve(made.id),
    ({ status }) => status === 'completed',
  );
  expect([provider.batches.length, provider.direct.length]).toEqual([0, 1]);
  await turnpike.admin('POST', '/apply', { document: documentOf() });
});

test.each(DIALECTS)('if %s stops answering, it is asked again', async (dialect) => {
  const { ended, wallet } = await start([requestOf('one', MODELS[dialect])]);
  await untilGiven();
  using _ = setBounds({ batchCallMsMax: 200, batchTransferMsMax: 200 });
  provider.isSilent = true;
  const { asked } = provider;
  await until(
    () => provider.asked,
    (times) => times > asked + 1,
  );
  provider.isSilent = false;
  provider.letGo();
  expect((await ended()).request_counts).toMatchObject({ succeeded: 1 });
  expect(provider.direct).toEqual([]);
  expect(await wallet()).toEqual({ balance: balanceAfter(1), held: '0' });
});

test.each(DIALECTS)(
  'results of another batch of %s, repeated results and results without a request are not taken',
  async (dialect) => {
    provider.onCreate = (batch) => {
      const [first] = batch.requests;
      batch.requests.push(
        { id: 'turnpike-1-0', url: '', body: {} },
        { id: `${first?.id}9`, url: '', body: {} },
        { id: `${first?.id}`, url: '', body: {} },
        { id: '', url: '', body: {} },
      );
    };
    provider.letGo();
    const { ended, wallet } = await start([requestOf('one', MODELS[dialect])]);
    expect((await ended()).request_counts).toMatchObject({ succeeded: 1 });
    expect(await wallet()).toEqual({ balance: balanceAfter(1), held: '0' });
  },
);

describe('at clouds', () => {
  const CLOUDS = ['bedrock', 'vertex'] as const;
  const refuse = (type: string) => {
    throw Response.json({ message: 'No.' }, { status: 400, headers: { 'x-amzn-errortype': type } });
  };

  test('Converse at Bedrock and Claude at Vertex AI have batches, too', async () => {
    for (const [model, named, url] of [
      ['nova-aws', 'amazon.nova-upstream', 'Converse'],
      ['claude-google', 'publishers/anthropic/models/claude-upstream@1', ''],
    ] as const) {
      provider.reset();
      provider.answer = () => ({ status: 200, body: url === 'Converse' ? CONVERSED : GOOD.anthropic });
      const { ended, wallet } = await start([requestOf('one', model), requestOf('two', model)]);
      const [batch] = [...(await untilGiven())];
      provider.letGo();
      expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
      expect(batch).toMatchObject({ model: named, requests: [{ url }, { url }] });
      expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
      expect([provider.direct.length, provider.files.size]).toEqual([0, 0]);
    }
  });

  test('fewer requests than a job of Bedrock must have, and what its jobs refuse, are sent one by one', async () => {
    using _ = setBounds({ bedrockBatchRequestsMin: 3 });
    const tools = [{ name: 'look', input_schema: { type: 'object' as const } }];
    const withTools = { ...requestOf('tools', 'nova-aws').params, tools };
    const { ended } = await start([
      ...['one', 'two'].map((name) => requestOf(name, 'claude-aws')),
      ...['three', 'four'].map((name) => requestOf(name, 'nova-aws')),
      { custom_id: 'five', params: withTools },
    ]);
    expect((await ended()).request_counts).toMatchObject({ processing: 0 });
    expect([provider.batches.length, provider.removed.length]).toEqual([0, 0]);
    expect(new Set(provider.direct.map((body) => JSON.stringify(body))).size).toBe(5);
  });

  test.each(CLOUDS)('requests too long for a result that repeats them are sent to %s one by one', async (dialect) => {
    using _ = setBounds({ batchEchoedBytesMax: 2_000 });
    provider.letGo();
    const long = requestOf('long', MODELS[dialect]);
    long.params.messages[0] = { role: 'user', content: 'long '.repeat(500) };
    const { ended } = await start([requestOf('short', MODELS[dialect]), long]);
    expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
    expect(provider.direct.map((body) => JSON.stringify(body).includes('long long'))).toEqual([true]);
  });

  test.each(CLOUDS)('a bucket of %s that refuses the requests has them sent one by one', async (dialect) => {
    provider.store.refused = ['PUT', 'GET', 'LIST', 'DELETE'];
    const { ended, wallet } = await start([requestOf('one', MODELS[dialect])]);
    expect((await ended()).request_counts).toMatchObject({ succeeded: 1 });
    expect([provider.batches.length, provider.direct.length]).toEqual([0, 1]);
    expect(await wallet()).toEqual({ balance: balanceAfter(1), held: '0' });
  });

  test.each(CLOUDS)('a job of %s that wrote no results has its requests sent one by one', async (dialect) => {
    const { ended, wallet } = await start([requestOf('one', MODELS[dialect])]);
    await untilGiven();
    const [written = ''] = provider.files.keys();
    provider.letGo();
    for (const name of provider.files.keys()) if (name !== written) provider.files.delete(name);
    expect((await ended()).request_counts).toMatchObject({ succeeded: 1 });
    expect([provider.direct.length, provider.files.size]).toEqual([1, 0]);
    expect(provider.removed).toContain(written);
    expect(await wallet()).toEqual({ balance: balanceAfter(1), held: '0' });
  });

  test.each(CLOUDS)('objects beside those of a batch of %s are neither read nor removed', async (dialect) => {
    const bucket = { bedrock: 'aws-bucket', vertex: 'google-bucket' }[dialect];
    const names = ['of-somebody-else/results/a.jsonl', 'of/batches/turnpike-1-0/results/a.jsonl'];
    for (const name of names) provider.files.set(`${bucket}/${name}`, 'not ours');
    const { ended } = await start([requestOf('one', MODELS[dialect])]);
    const [batch] = await untilGiven();
    const own = [...provider.files.keys()].find((name) => name.includes(batch?.name ?? '?')) ?? '';
    const folder = own.slice(bucket.length + 1).replace('requests.jsonl', '');
    provider.store.alsoListed.push(...names, `${folder}results/../../turnpike-1-0/results/a.jsonl`);
    provider.letGo();
    expect((await ended()).request_counts).toMatchObject({ succeeded: 1 });
    expect(provider.direct).toEqual([]);
    expect([...provider.files.keys()]).toEqual(names.map((name) => `${bucket}/${name}`));
  });

  test.each(CLOUDS)(
    'the test of a provider writes, reads, lists and removes an object in the bucket of %s',
    async (dialect) => {
      const testNow = async () => {
        // Bedrock is asked for a model that does not exist.
        if (dialect === 'bedrock') provider.onDirect = () => refuse('ValidationException');
        return await turnpike.admin('POST', `/providers/${dialect}/test`, {});
      };
      const able = 'It can write, read, list and remove objects in batch_bucket.';
      const { ok, message } = await testNow();
      expect([ok, String(message)]).toEqual([true, expect.stringContaining(able)]);
      expect(String(message).includes('batch_role')).toBe(dialect === 'bedrock');
      const folder = dialect === 'bedrock' ? 'aws-bucket/' : 'google-bucket/of/batches/';
      expect(provider.removed).toEqual([
        expect.stringMatching(new RegExp(`^${folder}turnpike-test-[0-9a-f-]+/requests.jsonl$`)),
      ]);
      for (const [method, what] of Object.entries({ PUT: 'write', GET: 'read', LIST: 'list', DELETE: 'remove' })) {
        provider.reset();
        provider.store.refused = [method];
        const refused = await testNow();
        const said = `But batch_bucket cannot be used: it cannot ${what} an object there (the bucket of its batches answered with status 403 AccessDenied).`;
        expect(refused).toMatchObject({ ok: false, status: 403, message: expect.stringContaining(said) });
        expect(provider.files.size).toBe(method === 'DELETE' ? 1 : 0);
      }
      provider.reset();
      provider.store.movedTo = 'https://elsewhere.example/';
      expect((await testNow())['message']).toContain('it may be in another region');
      const document = documentOf();
      Object.assign(document.providers[dialect], { batches: false });
      await turnpike.admin('POST', '/apply', { document });
      expect(await testNow()).toMatchObject({ ok: true });
      await turnpike.admin('POST', '/apply', { document: documentOf() });
    },
  );
});
