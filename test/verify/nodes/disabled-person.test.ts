// A person whose directory deactivates them while 50 of their streams run on three nodes: from the answer on, no node admits anything
// more for them, and what runs is served and billed to its end. The nodes never hear of the change: only the database knows.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { formatUsd } from '../../../src/base/money.ts';
import { askScim, patchOf, userOf } from '../../contract/scim/directory.ts';
import { costOf } from '../../money/load.ts';
import { holdRequests } from '../../support/held-requests.ts';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { countVerdicts } from './spread.ts';
import { applyEverywhere, type Nodes, startNodes } from './start-nodes.ts';

const STREAMS = 50;
const KEYS = 5;
const INPUT_TOKENS = 20;
const OUTPUT_TOKENS = 400;
const TRANCHE_TOKENS = 50; // so that each stream extends its hold after the answer
const EMAIL = 'max@example.com';

const bodyOf = (stream: boolean) => ({
  model: 'gated',
  max_tokens: 1_000,
  stream,
  messages: [{ role: 'user', content: 'go' }],
});

/** Begins each answer, and finishes it when the gate opens; those beyond the streams at once. */
function gatedAnswers(gate: Promise<void>): Script {
  let begun = 0;
  return async (answer) => {
    const isStream = ++begun <= STREAMS;
    const send = (value: { type: string; [member: string]: unknown }) =>
      answer.write(`event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`);
    const say = (tokens: number) =>
      send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'abc '.repeat(tokens) } });
    const message = { id: 'msg_gated', type: 'message', role: 'assistant', model: 'gated', content: [] };
    const usage = { input_tokens: INPUT_TOKENS, output_tokens: 1 };
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await send({ type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null, usage } });
    await send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    await say(1);
    if (isStream) await gate;
    for (let tokens = 1; tokens < OUTPUT_TOKENS; tokens++) await say(1);
    await send({ type: 'content_block_stop', index: 0 });
    const delta = { stop_reason: 'end_turn', stop_sequence: null };
    await send({ type: 'message_delta', delta, usage: { output_tokens: OUTPUT_TOKENS } });
    await send({ type: 'message_stop' });
    answer.end();
  };
}

describe.skipIf(cannotStartPostgres)('over three nodes', () => {
  const gate = Promise.withResolvers<void>();
  let upstream: ScriptedUpstream;
  let nodes: Nodes;
  beforeAll(async () => {
    upstream = await startScriptedUpstream(gatedAnswers(gate.promise));
    nodes = await startNodes(3, { preload: join(import.meta.dir, 'deaf-nodes.ts') });
    const provider = { kind: 'anthropic', base_url: upstream.url, private_network: true };
    const price = { input: '1', output: '5' };
    await applyEverywhere(nodes, {
      providers: { gated: provider },
      models: { gated: { price, routes: [{ provider: 'gated', model: 'gated' }] } },
      groups: { default: { models: ['*'] } },
      settings: { shed_loop_delay_ms: 60_000, output_tranche_tokens: TRANCHE_TOKENS },
    });
  });
  afterAll(async () => {
    gate.resolve();
    await nodes[Symbol.asyncDispose]();
    await upstream.close();
  });

  test('nothing is admitted for a deactivated person on any node, and their streams are billed to their end', async () => {
    const { person, secrets, deactivate } = await provision(nodes);
    const streams = await Promise.all(
      Array.from({ length: STREAMS }, (_, at) => openStream(nodes, at, String(secrets[at % KEYS]))),
    );
    const bodies = secrets.flatMap((secret) => [true, false].map((stream) => ({ secret, body: bodyOf(stream) })));
    // Their heads are read, and their keys found, before the directory asks.
    const waiting = await Promise.all(nodes.all.map(({ url }) => holdRequests(url, bodies)));
    expect(upstream.requests.length).toBe(STREAMS);

    await deactivate();
    const late = Promise.all(waiting.map((held) => held.release()));
    const anew = await Promise.all(
      nodes.all.flatMap(({ service }) =>
        bodies.map(async ({ secret, body }) => {
          const response = await service.post(secret, body);
          return { status: response.status, headers: {}, body: await response.text() };
        }),
      ),
    );
    const refused = { '401 key_disabled': 3 * 2 * KEYS };
    expect([countVerdicts(anew), countVerdicts((await late).flat())]).toEqual([refused, refused]);
    expect(upstream.requests.length).toBe(STREAMS);

    gate.resolve();
    const texts = await Promise.all(streams.map((rest) => rest()));
    expect(texts.filter((text) => !text.includes('event: message_stop\n') || text.includes('event: error'))).toEqual(
      [],
    );
    expect(await billsOf(nodes, person)).toEqual({
      costs: Array(STREAMS).fill(formatUsd(costOf(INPUT_TOKENS, OUTPUT_TOKENS))),
      used: formatUsd(STREAMS * costOf(INPUT_TOKENS, OUTPUT_TOKENS)),
      held: '0',
    });
    expect(await nodes.check()).toMatchObject({ ok: true, faults: [], open_holds: 0 });
  });
});

/** A person whom the directory made by its group, with a budget and keys. */
async function provision({ all }: Nodes) {
  const [{ service }, { service: other }] = all as [Nodes['all'][number], Nodes['all'][number]];
  const { account } = await service.makeKey();
  const { token } = await service.admin('POST', '/tokens', { role: 'scim' });
  const ask = async (method: string, path: string, body: object) => {
    const answer = await askScim(other, String(token), method, path, body);
    expect([path, answer.status < 300]).toEqual([path, true]);
    return answer.body;
  };
  const user = String((await ask('POST', '/Users', userOf(EMAIL)))['id']);
  await service.admin('POST', '/directory-groups', { name: 'people', source: 'scim', role: 'member', account });
  await ask('POST', '/Groups', { displayName: 'people', members: [{ value: user }] });
  const { data } = await service.admin('GET', `/people?account=${account}`);
  const person = String((data as { id: string; email: string }[]).find(({ email }) => email === EMAIL)?.id);
  await service.admin('PATCH', `/people/${person}/budget`, { limits: [{ window: 'month', limit: '5.00' }] });
  const secrets: string[] = [];
  for (let count = 0; count < KEYS; count++)
    secrets.push(String((await service.admin('POST', '/keys', { account, person }))['key']));
  const inactive = patchOf({ op: 'replace', path: 'active', value: false });
  return { person, secrets, deactivate: () => ask('PATCH', `/Users/${user}`, inactive) };
}

/** Resolves when the answer has begun, with what reads the rest of it. */
async function openStream({ all }: Nodes, at: number, secret: string): Promise<() => Promise<string>> {
  const { service } = all[at % all.length] as Nodes['all'][number];
  const response = await service.post(secret, bodyOf(true));
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const read = async () => {
    const { done, value } = await reader.read();
    if (!done) text += decoder.decode(value as Uint8Array, { stream: true });
    return done;
  };
  while (!text.includes('content_block_delta')) if (await read()) throw new Error(`the stream ended: ${text}`);
  return async () => {
    while (!(await read()));
    return text;
  };
}

async function billsOf({ all: [first] }: Nodes, person: string) {
  const { service } = first as Nodes['all'][number];
  const { data } = await service.admin('GET', `/usage?person=${person}&limit=1000`);
  const { budgets } = await service.admin('GET', `/people/${person}/budget`);
  const [budget] = budgets as { limits: { used: string; held: string }[] }[];
  const { used, held } = budget?.limits[0] ?? { used: null, held: null };
  return { costs: (data as { cost: string }[]).map(({ cost }) => cost), used, held };
}
