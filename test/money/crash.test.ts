// Kills the service under load, repeatedly on the same data: what it acknowledged is stored and billed once, and no
// hold remains. Also covers how it shuts down.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseUsd } from '../../src/base/money.ts';
import { rootDirectory } from '../check.ts';
import { holdRequests } from '../support/held-requests.ts';
import { makeRandom } from '../support/random.ts';
import { scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { spawnTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { endedAtStart, untilHoldsEnd } from '../support/test-store.ts';
import { type Acknowledged, type Callers, nothingAcknowledged, runLoad } from './load.ts';

const KILLS = 20;

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Row = Record<string, string | number>;

/** Reads every row of a list, page by page. */
async function readAll(turnpike: Turnpike, path: string): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: unknown = null;
  do {
    const page = await turnpike.admin('GET', `${path}limit=1000${cursor === null ? '' : `&cursor=${cursor}`}`);
    rows.push(...(page['data'] as Row[]));
    cursor = page['next_cursor'];
  } while (cursor !== null);
  return rows;
}

function nano(amount: unknown): number {
  return parseUsd(amount as string) as number;
}

async function makeCallers(turnpike: Turnpike): Promise<Callers> {
  const callers: Callers = { accounts: [], secrets: [], keys: [] };
  for (const credit of ['50.00', '50.00']) {
    const first = await turnpike.makeKey({ credit });
    const second = await turnpike.admin('POST', '/keys', { account: first.account, quota: '1000.00' });
    callers.accounts.push(first.account);
    callers.secrets.push(first.secret, second['key'] as string);
    callers.keys.push(first.key, second['id'] as string);
  }
  return callers;
}

/** Each message of the round whose end a client saw is billed at the cost of the usage it saw. */
async function expectBilled(turnpike: Turnpike, messages: ReadonlyMap<string, number>, sinceMs: number) {
  const since = new Date(sinceMs - 1_000).toISOString();
  const records = new Map((await readAll(turnpike, `/usage?since=${since}&`)).map((row) => [row['request_id'], row]));
  for (const [requestId, cost] of messages) {
    const record = records.get(requestId);
    expect([requestId, record?.['outcome'], nano(record?.['cost'])]).toEqual([requestId, 'completed', cost]);
  }
}

/** The journal has no message twice and each credit once, and adds up to the balance. */
async function expectBalanced(turnpike: Turnpike, callers: Callers, { credits }: Acknowledged) {
  for (const account of callers.accounts) {
    const entries = await readAll(turnpike, `/accounts/${account}/entries?`);
    const billed = entries.filter(({ kind }) => kind === 'usage').map(({ reference }) => reference);
    expect(new Set(billed).size).toBe(billed.length);
    for (const [reference, credit] of credits) {
      if (credit.account !== account) continue;
      const given = entries.filter((entry) => entry['reference'] === reference).map(({ change }) => nano(change));
      expect([reference, given]).toEqual([reference, [nano(credit.amount)]]);
    }
    const sum = entries.reduce((total, { change }) => total + nano(change), 0);
    const shown = await turnpike.admin('GET', `/accounts/${account}`);
    expect([nano(shown['balance']), nano(shown['held'])]).toEqual([sum, 0]);
    expect(sum).toBeGreaterThanOrEqual(0);
  }
}

/**
 * Repeats every credit under its reference, as a client without a response does: an acknowledged credit is stored and
 * is not given twice.
 */
async function repeatCredits(turnpike: Turnpike, { credits }: Acknowledged) {
  for (const [reference, { account, amount, isAnswered }] of credits) {
    const answer = await turnpike.admin('POST', `/accounts/${account}/credits`, { amount, reference });
    if (isAnswered) expect([reference, answer['repeated']]).toEqual([reference, true]);
  }
}

async function expectKeys(turnpike: Turnpike, callers: Callers, { quotas, keysMade }: Acknowledged) {
  const keys = new Map((await readAll(turnpike, '/keys?')).map((row) => [row['id'] as string, row]));
  expect([...keysMade].filter((id) => !keys.has(id))).toEqual([]);
  for (const id of callers.keys) {
    const { acknowledged, asked } = quotas.get(id) ?? { acknowledged: 0, asked: 0 };
    if (acknowledged === 0) continue;
    const change = nano(keys.get(id)?.['quota']) / 1_000_000_000 - 1_000;
    expect(change).toBeGreaterThanOrEqual(acknowledged);
    expect(change).toBeLessThanOrEqual(asked);
    // A change without a response may or may not have been made. From here on the stored value is the expected one.
    quotas.set(id, { acknowledged: change, asked });
  }
}

describe('a service that is killed', () => {
  test(`${KILLS} times under load bills each acknowledged message once and passes turnpike check`, async () => {
    const random = makeRandom(7);
    const all = nothingAcknowledged();
    let acknowledgedCount = 0;
    let turnpike = await spawnTurnpike(directory);
    const callers = await makeCallers(turnpike);
    for (let round = 0; round < KILLS; round++) {
      const startedMs = Date.now();
      const acknowledged: Acknowledged = { ...all, messages: new Map(), credits: new Map() };
      const dying = turnpike;
      const loading = runLoad({ turnpike: dying, callers, acknowledged, random, isOver: () => dying.process.killed });
      const madeBefore = all.keysMade.size;
      for (let tries = 0; tries < 500 && all.keysMade.size === madeBefore; tries++) await Bun.sleep(5); // PostgreSQL connections open first.
      await Bun.sleep(100 + random() * 150);
      dying.process.kill('SIGKILL');
      await dying.process.exited;
      await loading;

      turnpike = await spawnTurnpike(directory); // The lock of the killed process was released.
      expect(await turnpike.check()).toMatchObject({ ok: true, ...endedAtStart, faults: [] });
      await expectBilled(turnpike, acknowledged.messages, startedMs);
      await expectKeys(turnpike, callers, all);
      await repeatCredits(turnpike, acknowledged);
      for (const [reference, credit] of acknowledged.credits) all.credits.set(reference, credit);
      acknowledgedCount += acknowledged.messages.size;
    }
    await untilHoldsEnd(turnpike);
    await expectBalanced(turnpike, callers, all);
    expect([acknowledgedCount, all.credits.size, all.keysMade.size].every((count) => count > KILLS)).toBe(true);
    // The kill hit messages in progress.
    const cut = (await readAll(turnpike, '/usage?')).filter(({ outcome }) => outcome === 'service_cut');
    expect(cut.length).toBeGreaterThan(KILLS);
    // A message whose end is unknown is charged up to its last checkpoint, which may have the provider's last counts, or nothing.
    for (const { cost, usage_source } of cut)
      expect(nano(cost) === 0 ? ['none'] : ['estimated', 'reported']).toContain(usage_source as string);
    await turnpike.stop();
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  }, 300_000);
});

/** Starts a stream and reads its first event. */
async function beginStream(turnpike: Turnpike, secret: string, maxTokens: number) {
  const response = await turnpike.post(secret, { ...lorem, max_tokens: maxTokens, stream: true });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const first = await reader.read();
  const requestId = response.headers.get('request-id') as string;
  return { requestId, status: response.status, rest: readRest(reader, first.value) };
}

async function readRest(
  reader: { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> },
  first?: Uint8Array,
) {
  const decoder = new TextDecoder();
  let text = decoder.decode(first, { stream: true });
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
}

/** A catalog with the model `slow`, served by a provider at this address. */
function withProvider(url: string) {
  return {
    providers: { scripted: { kind: 'anthropic', base_url: url, private_network: true } },
    models: { slow: { price: { input: '1', output: '5' }, routes: [{ provider: 'scripted', model: 'slow' }] } },
  };
}

const lorem = { model: 'sandbox-lorem', max_tokens: 4, messages: [{ role: 'user', content: 'go' }] };

describe('a service that is stopped', () => {
  test('lets running streams finish, refuses new messages, and exits 0 without holds', async () => {
    await using turnpike = await spawnTurnpike();
    await using upstream = await startScriptedUpstream(async (answer, request) => {
      await Bun.sleep(400);
      await scripts.message()(answer, request);
    });
    await turnpike.admin('POST', '/apply', { document: withProvider(upstream.url) });
    const { secret } = await turnpike.makeKey();
    const streams = await Promise.all(
      Array.from({ length: 40 }, (_, at) => beginStream(turnpike, secret, 60 + at * 4)),
    );
    const slow = turnpike.post(secret, { ...lorem, model: 'slow' });
    while (upstream.requests.length === 0) await Bun.sleep(5);
    turnpike.process.kill('SIGTERM');

    const answers: string[] = [];
    let hasExited = false;
    const exit = turnpike.process.exited.then((code) => {
      hasExited = true;
      return code;
    });
    while (!hasExited) {
      const asked = turnpike.post(secret, lorem).then(
        async (response) =>
          `${response.status} ${((await response.json()) as { error?: { code: string } }).error?.code}`,
        (thrown) => thrown.code as string,
      );
      answers.push(await asked);
      await Bun.sleep(20);
    }
    expect(await exit).toBe(0);
    // Some requests may arrive before the signal does. Once one is refused, no later one is admitted.
    const firstRefusal = answers.findIndex((answer) => answer !== '200 undefined');
    expect(answers[firstRefusal]).toBe('503 draining');
    expect(new Set(answers.slice(firstRefusal))).toEqual(
      new Set(['503 draining', ...answers.filter(isConnectionLost)]),
    );
    for (const { status, rest } of streams) {
      expect(status).toBe(200);
      expect((await rest).endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
    }
    expect((await slow).status).toBe(200);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('answers a message whose body was still arriving, finishes a stream, and refuses later requests', async () => {
    await using turnpike = await spawnTurnpike();
    const { secret } = await turnpike.makeKey();
    const stream = { ...lorem, max_tokens: 300, stream: true };
    const held = await holdRequests(turnpike.url, [
      { secret, body: lorem },
      { secret, body: stream },
    ]);
    turnpike.process.kill('SIGTERM');
    let refused = await turnpike.post(secret, lorem);
    while (refused.status === 200) refused = await turnpike.post(secret, lorem); // Arrived before the signal.
    expect([refused.status, (await refused.json()).error.code]).toEqual([503, 'draining']);
    const answers = await held.release();
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(answers[1]?.body).toContain('event: message_stop');
    expect(await turnpike.process.exited).toBe(0);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('ends streams at the drain timeout with an error event and bills the output so far', async () => {
    await using turnpike = await spawnTurnpike();
    const { secret } = await turnpike.makeKey();
    await turnpike.admin('POST', '/apply', { document: { settings: { drain_seconds: 1 } } });
    const stream = await beginStream(turnpike, secret, 50_000);
    turnpike.process.kill('SIGTERM');
    const text = await stream.rest;
    expect(text).not.toContain('message_stop');
    expect(JSON.parse(text.slice(text.lastIndexOf('data: ') + 6)).error).toMatchObject({ code: 'draining' });
    expect(await turnpike.process.exited).toBe(0);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
    await using restarted = await spawnTurnpike(turnpike.dataDirectory);
    const record = await restarted.admin('GET', `/usage/${stream.requestId}`);
    expect(record).toMatchObject({ outcome: 'service_cut', usage_source: 'estimated' });
    expect(record['output_tokens'] as number).toBeGreaterThan(100);
  });
});

/** Returns the error code of a failed connection, in place of a status. */
function isConnectionLost(answer: string): boolean {
  return /^[A-Z]/.test(answer);
}

describe('a data directory', () => {
  test('serves one process: a second exits 1 with a reason, and the first keeps running', async () => {
    await using turnpike = await spawnTurnpike();
    const stream = await beginStream(turnpike, turnpike.key, 100);
    const second = Bun.spawn(
      [
        process.execPath,
        join(rootDirectory, 'src/main.ts'),
        'serve',
        '--listen',
        '127.0.0.1:0',
        '--data',
        turnpike.dataDirectory,
      ],
      { stdout: 'pipe', stderr: 'pipe' },
    );
    expect(await second.exited).toBe(1);
    expect(await new Response(second.stderr).text()).toContain('another server is running on the data directory');
    expect(await new Response(second.stdout).text()).toBe('');
    expect(await stream.rest).toContain('event: message_stop');
    expect((await turnpike.post(turnpike.key, lorem)).status).toBe(200);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});
