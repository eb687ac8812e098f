// Answers of batches that providers run, when a provider is faulty or an account wants its work for nothing: what is billed is what a
// message would cost, once.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { CONVERSED, GOOD } from '../../support/batch-provider.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { sharedTurnpike } from '../../support/shared-turnpike.ts';
import { balanceAfter, DIALECTS, MODELS, openBatchWorld, requestOf, until } from './provider-batch-world.ts';

type Json = Record<string, unknown>;
const { provider, turnpike, documentOf, start, untilGiven, stop } = await openBatchWorld(sharedTurnpike, {
  settings: { circuit_failures: null }, // each failure is met, whatever came before
});
afterAll(stop);
beforeEach(() => provider.reset());

const IN_LINES = ['anthropic', 'openai', 'bedrock', 'vertex'] as const;
const DEEP = 200_000; // more levels than the runtime can write
const deep = (levels: number) => `${'[1,'.repeat(levels)}1${']'.repeat(levels)}`;

/** The lines in which this request was answered are changed. */
function spoil(name: string, change: (line: string) => string) {
  let id = '?';
  provider.answer = (dialect, body, of) => {
    if (JSON.stringify(body).includes(`"${name}"`)) id = of;
    return { status: 200, body: GOOD[dialect] };
  };
  const isOf = (line: string) => line.includes(`"${id}"`);
  provider.rewrite = (lines) =>
    lines
      .split('\n')
      .map((line) => (isOf(line) ? change(line) : line))
      .join('\n');
}

test.each(IN_LINES)(
  'a result of %s that cannot be read keeps none of the others from being billed',
  async (dialect) => {
    for (const change of [
      () => 'no JSON',
      () => '"a text"',
      () => '\u0000{}',
      (line: string) => line.slice(0, -20),
      (line: string) => line.replace(/"(?:content|parts|message)":/, `"content":${deep(DEEP)},$&`),
      (line: string) => `${line}${line}`,
    ]) {
      provider.reset();
      spoil('b', change);
      provider.letGo();
      const { ended, wallet } = await start(['a', 'b', 'c'].map((name) => requestOf(name, MODELS[dialect])));
      expect((await ended()).request_counts).toMatchObject({ succeeded: 3 });
      expect(provider.direct.map((body) => /"[abc]"/.exec(JSON.stringify(body))?.[0])).toEqual(['"b"']);
      expect(await wallet()).toEqual({ balance: balanceAfter(3), held: '0' });
      expect(provider.removed.length).toBeGreaterThan(0);
    }
  },
);

test.each(IN_LINES)('a result of %s with more bytes than an answer may have is left out', async (dialect) => {
  using _ = setBounds({ upstreamBodyBytesMax: 2_000, batchEchoedBytesMax: 1_000 });
  spoil('b', (line) => line.replace('{', `{"filler":"${'x'.repeat(40_000)}",`));
  provider.letGo();
  const { ended, wallet } = await start(['a', 'b'].map((name) => requestOf(name, MODELS[dialect])));
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
  expect(provider.direct).toHaveLength(1);
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
});

test('a truncated file of results is taken as far as it goes', async () => {
  const { ended, wallet } = await start(['a', 'b'].map((name) => requestOf(name, 'gpt')));
  await untilGiven();
  provider.rewrite = (lines) => `${lines.split('\n')[0]}\n{"custom_id": "`;
  provider.letGo();
  await until(wallet, ({ balance }) => balance === balanceAfter(1));
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
});

/** The member with the counts, and how a dialect names input and output. */
const USAGE = {
  anthropic: ['usage', 'input_tokens', 'output_tokens'],
  openai: ['usage', 'prompt_tokens', 'completion_tokens'],
  gemini: ['usageMetadata', 'promptTokenCount', 'candidatesTokenCount'],
  bedrock: ['usage', 'input_tokens', 'output_tokens'],
  vertex: ['usageMetadata', 'promptTokenCount', 'candidatesTokenCount'],
} as const;

/** Sends each body as the answer to a request of a batch, and to the same request alone. Returns what was billed for both. */
async function billBoth(dialect: (typeof DIALECTS)[number], bodies: readonly Json[]) {
  const model = MODELS[dialect];
  const requests = bodies.map((_, at) => requestOf(`item-${at}-`, model));
  const bodyOf = (asked: Json) => bodies[Number(/item-(\d+)-/.exec(JSON.stringify(asked))?.[1])];
  provider.answer = (_, asked) => ({ status: 200, body: bodyOf(asked) as Json });
  provider.onDirect = (asked) => {
    const body = bodyOf(asked); // none of what only counts
    if (body !== undefined) throw Response.json(body);
  };
  provider.letGo();
  const batch = await start(requests);
  await batch.ended();
  const alone = await turnpike.makeKey({ credit: '10.00' });
  for (const { params } of requests) await (await turnpike.post(alone.secret, params)).text();
  const billed = async (account: string) => {
    const rows = (await turnpike.admin('GET', `/usage?account=${account}&limit=100`))['data'] as Json[];
    const facts = rows.map((row) => ['usage_source', 'input_tokens', 'output_tokens', 'cost'].map((name) => row[name]));
    return facts.filter(([source]) => source !== 'none').sort();
  };
  expect((await batch.wallet()).held).toBe('0');
  return [await billed(batch.caller.account), await billed(alone.account)] as const;
}

test.each(DIALECTS)('absurd counts in results of %s are billed as those of a message', async (dialect) => {
  const [member, input, output] = USAGE[dialect];
  const good = GOOD[dialect];
  const withCounts = (counts: Json) => ({ ...good, [member]: { ...(good[member] as Json), ...counts } });
  const absurd = [-5, 1.5, 1e308, 1e18, '12', null, [], {}, 20_000_000, 1_000_000, 70, 0];
  const { [member]: _, ...without } = good;
  const bodies = [
    ...absurd.map((count) => withCounts({ [output]: count })),
    ...absurd.map((count) => withCounts({ [input]: count })),
    ...[without, { ...good, [member]: null }, { ...good, [member]: 'many' }, { ...good, [member]: [] }],
  ];
  const [batched, alone] = await billBoth(dialect, bodies);
  expect(batched).toEqual(alone);
  expect(batched).toHaveLength(bodies.length);
  expect(batched.every(([, , , cost]) => Number(cost) >= 0)).toBe(true);
});

test.each(DIALECTS)('answers of %s that are no messages are billed as those to a message', async (dialect) => {
  const other = dialect === 'openai' ? CONVERSED : GOOD.openai;
  const tooDeep = JSON.parse(deep(1_500)) as unknown;
  const bodies = [{}, other, { error: { type: 'api_error', message: 'Oh.' } }, { ...GOOD[dialect], deep: tooDeep }];
  const [batched, alone] = await billBoth(dialect, bodies);
  expect(batched).toEqual(alone);
});

test.each(DIALECTS)('a success of %s without a message is no answer', async (dialect) => {
  const bodies: unknown[] = [undefined, null, 'text', [], 7];
  provider.answer = (_, asked) => {
    const at = Number(/item-(\d+)-/.exec(JSON.stringify(asked))?.[1]);
    return { status: 200, body: bodies[at] as Json };
  };
  provider.letGo();
  const { ended, wallet } = await start(bodies.map((_, at) => requestOf(`item-${at}-`, MODELS[dialect])));
  expect((await ended()).request_counts).toMatchObject({ succeeded: bodies.length });
  expect(provider.direct).toHaveLength(bodies.length);
  expect(await wallet()).toEqual({ balance: balanceAfter(bodies.length), held: '0' });
});

test('what a provider did is billed although its account requires tags meanwhile, and requests may have fewer bytes', async () => {
  const long = requestOf('long');
  long.params.messages[0] = { role: 'user', content: 'long '.repeat(1_000) };
  const { caller, ended, wallet } = await start([requestOf('one'), long]);
  await untilGiven();
  await turnpike.admin('PATCH', `/accounts/${caller.account}`, { tags_required: ['team'] });
  await turnpike.admin('POST', '/apply', { document: { ...documentOf(), settings: { body_bytes_max: 1_024 } } });
  provider.letGo();
  expect((await ended()).request_counts).toMatchObject({ succeeded: 2 });
  await turnpike.admin('POST', '/apply', { document: documentOf() });
  expect(await wallet()).toEqual({ balance: balanceAfter(2), held: '0' });
});

test('a request with a file, which its client may delete, goes to no batch of a provider', async () => {
  const { secret, account } = await turnpike.makeKey({ credit: '10.00' });
  const form = new FormData();
  form.set('file', new File(['A text.'], 'a.txt', { type: 'text/plain' }));
  const uploaded = await fetch(`${turnpike.url}/v1/files`, {
    method: 'POST',
    body: form,
    headers: { 'x-api-key': secret, 'anthropic-version': '2023-06-01', 'anthropic-beta': 'files-api-2025-04-14' },
  });
  const { id: file_id } = (await uploaded.json()) as { id: string };
  const named = requestOf('named');
  const content = [{ type: 'document', source: { type: 'file', file_id } }];
  const params = { ...named.params, messages: [{ role: 'user', content }] };
  const made = await fetch(`${turnpike.url}/v1/messages/batches`, {
    method: 'POST',
    body: JSON.stringify({ requests: [requestOf('plain'), { ...named, params }] }),
    headers: { 'x-api-key': secret, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
  });
  expect(made.status).toBe(200);
  await until(
    () => provider.direct,
    ({ length }) => length > 0,
  );
  provider.letGo();
  await until(
    () => turnpike.admin('GET', `/accounts/${account}`),
    ({ balance, held }) => held === '0' && balance === balanceAfter(2),
  );
  expect(provider.direct).toHaveLength(1);
  expect(JSON.stringify(provider.direct)).toContain('A text.');
});
