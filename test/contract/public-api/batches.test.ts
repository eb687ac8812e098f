// Batches by the official SDKs of both protocols, over a real socket: their lives, their money, and who sees what.

import { afterAll, expect, test } from 'bun:test';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { scripts } from '../../support/scripted-upstream.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { bodyOf, type Caller, expectError, type Json, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const anthropicOf = (apiKey: string) => new Anthropic({ baseURL: world.url, apiKey, maxRetries: 0 });
const openaiOf = (apiKey: string) => new OpenAI({ baseURL: `${world.url}/v1`, apiKey, maxRetries: 0 });

type MessageRequest = Anthropic.Messages.BatchCreateParams.Request;
const requestOf = (custom_id: string, members: Json = {}) =>
  ({ custom_id, params: bodyOf(members) }) as unknown as MessageRequest;

async function untilEnded(client: Anthropic, id: string): Promise<Anthropic.Messages.MessageBatch> {
  for (;;) {
    const batch = await client.messages.batches.retrieve(id);
    if (batch.processing_status === 'ended') return batch;
    await Bun.sleep(20);
  }
}

async function accountOf({ account }: Caller) {
  const { balance, held } = (await world.admin('GET', `/accounts/${account}`)) as { balance: string; held: string };
  return { balance, held };
}

test('a batch of messages runs to its end, and is billed like messages', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  const requests = [
    requestOf('first'),
    requestOf('unknown', { model: 'nonesuch' }),
    requestOf('streamed', { stream: true }),
    requestOf('last'),
  ];
  const made = await client.messages.batches.create({ requests });
  expect(made).toMatchObject({ type: 'message_batch', processing_status: 'in_progress', results_url: null });
  const ended = await untilEnded(client, made.id);
  expect(ended.request_counts).toEqual({ processing: 0, succeeded: 2, errored: 2, canceled: 0, expired: 0 });
  const results = await Array.fromAsync(await client.messages.batches.results(made.id));
  expect(results.map(({ custom_id, result }) => [custom_id, result.type])).toEqual([
    ['first', 'succeeded'],
    ['unknown', 'errored'],
    ['streamed', 'errored'],
    ['last', 'succeeded'],
  ]);
  expect(results[1]?.result).toMatchObject({ error: { type: 'error', error: { code: 'model_not_found' } } });
  expect(results[2]?.result).toMatchObject({ error: { error: { message: expect.stringContaining('stream') } } });
  expect(await accountOf(caller)).toEqual({ balance: '9.99949', held: '0' });
  expect(await world.admin('GET', `/batches/${made.id}`)).toMatchObject({ succeeded: 2, errored: 2, cost: '0.00051' });
});

test('an account whose files exceed its limits makes no further batch of a file, although results are stored beyond them', async () => {
  world.reset();
  const { secret } = await world.makeKey({ credit: '1.00' });
  const client = openaiOf(secret);
  const body = bodyOf({ model: 'nonesuch' });
  const line = JSON.stringify({ custom_id: '__proto__', method: 'POST', url: '/v1/chat/completions', body });
  const input = await client.files.create({ purpose: 'batch', file: new File([line], 'batch.jsonl') });
  const asked = { input_file_id: input.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  const settings = async (more: object) => await world.admin('POST', '/apply', { document: { settings: more } });
  await settings({ files_max: 1 });
  try {
    const { id } = await client.batches.create(asked);
    while ((await client.batches.retrieve(id)).status !== 'completed') await Bun.sleep(20);
    const refused = await client.batches.create(asked).catch((failure) => failure);
    expect(refused).toMatchObject({ error: { code: 'file_quota_exceeded' } });
  } finally {
    await settings({ files_max: 10_000 });
  }
});

test('the money of a whole batch is held at once, and what is left is given back', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '0.01' });
  const client = anthropicOf(caller.secret);
  const requests = Array.from({ length: 20 }, (_, at) => requestOf(`item-${at}`));
  const refused = await client.messages.batches.create({ requests }).catch((failure) => failure);
  expect(refused).toMatchObject({ status: 400, error: { error: { code: 'insufficient_user_quota' } } });
  expect(await accountOf(caller)).toEqual({ balance: '0.01', held: '0' });
  expect(await Array.fromAsync(client.messages.batches.list())).toEqual([]);

  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await mayEnd;
    await scripts.good()(answer, request);
  });
  const made = await client.messages.batches.create({ requests: requests.slice(0, 5) });
  const { held } = await accountOf(caller);
  expect(Number(held)).toBeWithin(0.004, 0.01);
  const other = await world.post(caller.secret, bodyOf({ max_tokens: 600 }));
  expect(await other.json()).toMatchObject({ error: { code: 'insufficient_user_quota' } });
  end();
  await untilEnded(client, made.id);
  expect(await accountOf(caller)).toEqual({ balance: '0.008725', held: '0' });
});

test('OpenAI’s SDK makes a batch of a file, and gets its results and errors as files', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const { files, batches } = openaiOf(caller.secret);
  const url = '/v1/chat/completions';
  const lines = ['plain', 'nonesuch'].map((model, at) =>
    JSON.stringify({ custom_id: `request-${at}`, method: 'POST', url, body: bodyOf({ model }) }),
  );
  const file = await files.create({ file: new File([lines.join('\n')], 'batch.jsonl'), purpose: 'batch' });
  const metadata = { job: 'nightly' };
  const asked = { input_file_id: file.id, endpoint: url, completion_window: '24h', metadata } as const;
  const made = await batches.create(asked);
  expect(made).toMatchObject({ object: 'batch', status: 'in_progress', input_file_id: file.id, metadata });
  let batch = made;
  while (batch.status === 'in_progress') {
    await Bun.sleep(20);
    batch = await batches.retrieve(made.id);
  }
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 1, failed: 1 } });
  const linesOf = async (id: string | null | undefined) =>
    (await (await files.content(id ?? '')).text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json);
  expect(await linesOf(batch.output_file_id)).toMatchObject([
    {
      custom_id: 'request-0',
      error: null,
      response: {
        status_code: 200,
        body: { object: 'chat.completion', choices: [{ message: { content: 'Hello there, world!' } }] },
      },
    },
  ]);
  expect(await linesOf(batch.error_file_id)).toMatchObject([
    { custom_id: 'request-1', response: { status_code: 400, body: { error: { code: 'model_not_found' } } } },
  ]);
  expect((await batches.list()).data.map(({ id }) => id)).toEqual([made.id]);
  expect(await accountOf(caller)).toEqual({ balance: '9.999745', held: '0' });
});

test('a batch of edits of images has them in JSON', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const { files, batches } = openaiOf(caller.secret);
  const pixel = `data:image/png;base64,${Buffer.from('picture').toString('base64')}`;
  const body = { model: 'sandbox-image', prompt: 'in blue', size: '64x64', images: [{ image_url: pixel }] };
  const line = { custom_id: 'edit', method: 'POST', url: '/v1/images/edits', body };
  const file = await files.create({ file: new File([JSON.stringify(line)], 'batch.jsonl'), purpose: 'batch' });
  const asked = { input_file_id: file.id, endpoint: '/v1/images/edits', completion_window: '24h' } as const;
  let batch = await batches.create(asked);
  while (batch.status === 'in_progress') {
    await Bun.sleep(20);
    batch = await batches.retrieve(batch.id);
  }
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 1, completed: 1, failed: 0 } });
  const output = JSON.parse(await (await files.content(batch.output_file_id ?? '')).text());
  expect(Buffer.from(output.response.body.data[0].b64_json, 'base64').toString('latin1')).toStartWith('\x89PNG');
  expect(await accountOf(caller)).toEqual({ balance: '9.99', held: '0' });
});

test('a canceled batch finishes what it has begun, and bills nothing else', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const { promise: wasAsked, resolve: asked } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    asked();
    await mayEnd;
    await scripts.good()(answer, request);
  });
  const requests = Array.from({ length: 200 }, (_, at) => requestOf(`item-${at}`));
  const made = await client.messages.batches.create({ requests });
  await wasAsked;
  const canceling = await client.messages.batches.cancel(made.id);
  expect(canceling).toMatchObject({ processing_status: 'canceling', cancel_initiated_at: expect.any(String) });
  end();
  const { request_counts: counts } = await untilEnded(client, made.id);
  expect(counts).toMatchObject({ processing: 0, errored: 0, expired: 0 });
  expect(counts.succeeded + counts.canceled).toBe(200);
  expect(counts.canceled).toBeGreaterThan(0);
  const results = await Array.fromAsync(await client.messages.batches.results(made.id));
  expect(results.map(({ custom_id }) => custom_id)).toEqual(requests.map(({ custom_id }) => custom_id));
  expect(results.filter(({ result }) => result.type === 'canceled')).toHaveLength(counts.canceled);
  const { balance, held } = await accountOf(caller);
  expect(held).toBe('0');
  expect(Math.round((10 - Number(balance)) * 1e9)).toBe(counts.succeeded * 255_000);
});

test('a batch is shown to its key only, and its files are not listed', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  const made = await client.messages.batches.create({ requests: [requestOf('one')] });
  await untilEnded(client, made.id);
  const { key: other } = (await world.admin('POST', '/keys', { account: caller.account })) as { key: string };
  const elsewhere = (await world.makeKey({ credit: '10.00' })).secret;
  for (const secret of [other, elsewhere]) {
    const stranger = anthropicOf(secret);
    expect(await Array.fromAsync(stranger.messages.batches.list())).toEqual([]);
    for (const [cursor, words] of [
      [`after_id=${made.id}`, 'after_id: No such batch'],
      ['after_id=&before_id=&limit=', '"data":[]'],
    ] as const) {
      const listed = await fetch(`${world.url}/v1/messages/batches?${cursor}`, { headers: { 'x-api-key': secret } });
      expect(await listed.text()).toContain(words);
    }
    for (const asking of [
      () => stranger.messages.batches.retrieve(made.id),
      () => stranger.messages.batches.cancel(made.id),
      () => stranger.messages.batches.delete(made.id),
      () => stranger.get(`/v1/messages/batches/${made.id}/results`),
    ])
      expect(await (asking() as Promise<unknown>).catch(({ status }) => status)).toBe(404);
  }
  expect((await openaiOf(caller.secret).batches.list()).data).toEqual([]);
  expect((await openaiOf(caller.secret).files.list()).data).toEqual([]);
  expect(await client.messages.batches.delete(made.id)).toEqual({ id: made.id, type: 'message_batch_deleted' });
  expect(await client.messages.batches.retrieve(made.id).catch(({ status }) => status)).toBe(404);
});

test('a request that is refused for a while is sent again', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' }, { concurrency: 1 });
  const client = anthropicOf(caller.secret);
  world.upstream.play(scripts.error(529, 'overloaded_error', 'Overloaded'), scripts.good());
  const made = await client.messages.batches.create({ requests: [requestOf('one'), requestOf('two')] });
  const { request_counts: counts } = await untilEnded(client, made.id);
  expect(counts.succeeded).toBe(2);
});

test.each([
  [{}, 'requests: Field required'],
  [{ requests: [] }, 'requests: List should have at least 1 item'],
  [{ requests: {} }, 'requests: Input should be a valid list'],
  [{ requests: [1] }, 'requests.0: Input should be a valid dictionary'],
  [{ requests: [{ params: {} }] }, 'requests.0.custom_id: Field required'],
  [{ requests: [{ custom_id: 'a b', params: {} }] }, 'requests.0.custom_id: Input should be'],
  [{ requests: [{ custom_id: 'a' }] }, 'requests.0.params: Field required'],
  [{ requests: [{ custom_id: 'a', params: [] }] }, 'requests.0.params: Input should be a valid dictionary'],
  [{ requests: [requestOf('a'), requestOf('a')] }, 'requests.1.custom_id: is not unique'],
  [{ model: 'plain', requests: [] }, 'model: Extra inputs are not permitted'],
])('%j is refused by name', async (body, message) => {
  const caller = await world.makeKey({ credit: '10.00' });
  const response = await fetch(`${world.url}/v1/messages/batches`, {
    method: 'POST',
    headers: { 'x-api-key': caller.secret, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const told = await expectError(response, 400, 'invalid_request_error', 'invalid_request');
  expect(told).toContain(message);
  expect(await accountOf(caller)).toEqual({ balance: '10.00', held: '0' });
});

test('making a batch takes one request from the rates, even if nothing of it can be sold', async () => {
  const caller = await world.makeKey({ credit: '10.00' }, { rpm: 2 });
  const make = async () => {
    const { status, headers } = await fetch(`${world.url}/v1/messages/batches`, {
      method: 'POST',
      headers: { 'x-api-key': caller.secret, 'content-type': 'application/json' },
      body: JSON.stringify({ requests: [requestOf('one', { model: 'nonesuch' })] }),
    });
    return [status, headers.has('retry-after')];
  };
  expect([await make(), await make(), await make()]).toEqual([
    [200, false],
    [200, false],
    [429, true],
  ]);
  const body = { input_file_id: 'file-none', endpoint: '/v1/chat/completions', completion_window: '24h' };
  const ofFile = await fetch(`${world.url}/v1/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(ofFile.status).toBe(429);
});

test('a request that is sent again takes its money from the same reserve, which others cannot spend in between', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '0.01' });
  const client = anthropicOf(caller.secret);
  const heldAt: number[] = [];
  const note = async () => void heldAt.push(Number((await accountOf(caller)).held));
  world.upstream.play(
    async (answer, request) => {
      await note();
      await scripts.error(529, 'overloaded_error', 'Overloaded')(answer, request);
    },
    async (answer, request) => {
      await note();
      await scripts.good()(answer, request);
    },
  );
  const made = await client.messages.batches.create({ requests: [requestOf('one')] });
  await untilEnded(client, made.id);
  expect(heldAt[0]).toBeGreaterThan(0);
  expect(heldAt[1]).toBe(heldAt[0] as number);
  expect(await accountOf(caller)).toEqual({ balance: '0.009745', held: '0' });
});

const set = (settings: object) => world.admin('POST', '/apply', { document: { settings } });

test('what was not sent in 24 hours expires, and costs nothing', async () => {
  world.reset();
  using _bounds = setBounds({ batchLifeMs: 300 });
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  await set({ batch_messages_max: 0 });
  try {
    const made = await client.messages.batches.create({ requests: [requestOf('one'), requestOf('two')] });
    const { request_counts: counts } = await untilEnded(client, made.id);
    expect(counts).toEqual({ processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 2 });
    const results = await Array.fromAsync(await client.messages.batches.results(made.id));
    expect(results.map(({ result }) => result.type)).toEqual(['expired', 'expired']);
    expect(await accountOf(caller)).toEqual({ balance: '10.00', held: '0' });
    expect(world.upstream.requests).toEqual([]);
  } finally {
    await set({ batch_messages_max: 16 });
  }
});

test('a multiplier sells requests of batches at the price of the operator, and their receipts say so', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  await set({ batch_multiplier: '0.5' });
  try {
    const made = await client.messages.batches.create({ requests: [requestOf('one')] });
    await untilEnded(client, made.id);
    expect(await accountOf(caller)).toEqual({ balance: '9.9998725', held: '0' });
    const { data } = (await world.admin('GET', `/usage?account=${caller.account}`)) as { data: Json[] };
    expect(data).toMatchObject([{ cost: '0.0001275', rates: { multiplier: '0.5' } }]);
  } finally {
    await set({ batch_multiplier: '1' });
  }
});

test('operators and account holders see a batch, what is reserved for it, and cancel it', async () => {
  world.reset();
  const caller = await world.makeKey({ credit: '10.00' });
  const client = anthropicOf(caller.secret);
  await set({ batch_messages_max: 0 });
  try {
    const made = await client.messages.batches.create({ requests: [requestOf('one'), requestOf('two')] });
    const [kept] = [await client.messages.batches.create({ requests: [requestOf('three')] })];
    const path = `/batches/${made.id}`;
    const { held } = await accountOf(caller);
    const shown = {
      id: made.id,
      account: caller.account,
      status: 'running',
      requests: 2,
      succeeded: 0,
      endpoint: '/v1/messages',
      models: ['plain'],
      cost: '0',
      person: null,
      parts: [],
    };
    const first = await world.admin('GET', path);
    const second = await world.admin('GET', `/batches/${kept?.id}`);
    expect(first).toMatchObject(shown);
    expect(Number(first['reserved']) + Number(second['reserved'])).toBeCloseTo(Number(held), 9);
    const listed = async (query: string) =>
      ((await world.admin('GET', `/batches?account=${caller.account}${query}`))['data'] as Json[]).map(({ id }) => id);
    expect(await listed('')).toEqual([kept?.id, made.id]);
    const page = await world.admin('GET', `/batches?account=${caller.account}&limit=1`);
    expect(await listed(`&limit=1&cursor=${page['next_cursor']}`)).toEqual([made.id]);
    expect(await world.admin('POST', `${path}/cancel`, {})).toMatchObject({ id: made.id, requests: 2 });
    await untilEnded(client, made.id);
    const canceled = { status: 'ended', canceled: 2, cost: '0', reserved: '0' };
    expect(await world.admin('GET', path)).toMatchObject(canceled);
    const { data: events } = await world.admin('GET', `/events?account=${caller.account}&type=batch.ended`);
    expect(events).toMatchObject([
      { data: { batch: made.id, key: caller.key, requests: 2, succeeded: 0, canceled: 2, cost: '0' } },
    ]);
    expect(await world.admin('POST', `${path}/cancel`, {})).toMatchObject({ status: 'ended' });
    expect(await listed('&status=running')).toEqual([kept?.id]);
    expect(await listed('&since=2099-01-01')).toEqual([]);
    await client.messages.batches.cancel(kept?.id ?? '');
    await untilEnded(client, kept?.id ?? '');
    const { data: audit } = (await world.admin('GET', '/audit?limit=20')) as { data: Json[] };
    expect(audit.filter(({ action, object }) => action === 'batch.cancel' && object === made.id)).toHaveLength(1);
  } finally {
    await set({ batch_messages_max: 16 });
  }
});
