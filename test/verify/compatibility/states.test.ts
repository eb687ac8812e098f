// Data of earlier builds, killed in the middle of streams: this build starts on it, ends every hold, bills what the clients
// had got, and serves. make-state.ts makes the data.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds } from '../../../src/config/config.ts';
import { startBatchProvider } from '../../support/batch-provider.ts';
import { cannotStartPostgres, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import { startReceiver } from '../../support/start-receiver.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import {
  isKept,
  isOfPostgres,
  loadState,
  type Opened,
  readState,
  replaceText,
  runOnCopy,
  stateNames,
  unpackFiles,
  unpackState,
} from './open-state.ts';
import { expectBatches, restoreBatches } from './state-batches.ts';
import { expectFeatures, readAll, restoreStripe, stripeEnvironment } from './state-features.ts';
import {
  bodyOf,
  PROMPT_TOKENS,
  postIdempotently,
  type Sent,
  stateUpstream,
  TURNPIKE_SECRET,
} from './state-upstream.ts';

const directories: string[] = [];
let postgres: TestPostgres | null = null;
afterAll(async () => {
  for (const path of directories) rmSync(path, { recursive: true, force: true });
  await postgres?.remove();
});

test.skipIf(!isKept)('there are states of several versions, on both stores', () => {
  expect(stateNames.filter(isOfPostgres).length).toBeGreaterThan(5);
  expect(stateNames.filter((name) => !isOfPostgres(name)).length).toBeGreaterThan(5);
});

async function unpack(name: string, use = 'whole'): Promise<Opened> {
  const data = isOfPostgres(name) ? mkdtempSync(join(tmpdir(), 'turnpike-state-')) : await unpackState(name);
  directories.push(data);
  if (!isOfPostgres(name)) return { data, environment: {} };
  postgres ??= await startPostgres();
  const url = await loadState(postgres, name, `${use}_${name}`.replaceAll('-', '_'));
  const files = await unpackFiles(name, data);
  return { data, environment: { TURNPIKE_DATABASE_URL: url, TURNPIKE_SECRET, ...files } };
}

async function untilHoldsEnd(turnpike: Turnpike, left = 0): Promise<void> {
  for (let tries = 0; (await turnpike.check()).open_holds > left; tries++) {
    expect(tries).toBeLessThan(300);
    await Bun.sleep(100);
  }
}

describe.each(stateNames.filter((name) => !cannotStartPostgres || !isOfPostgres(name)))('the data of %s', (name) => {
  const { accounts, keys, sent, features, batches = null } = readState(name);

  test('is served, with every hold ended and billed', async () => {
    const copy = await unpack(name);
    const { data, environment } = copy;
    await using provider = startBatchProvider();
    if (batches !== null) await restoreBatches(copy, provider, batches, Date.now() - features.madeAtMs);
    await using upstream = await stateUpstream();
    using receiver = startReceiver();
    const { sales } = features;
    if (sales !== null) await replaceText(copy, 'destinations', sales.receiver, receiver.url);
    const stripe = sales === null ? null : restoreStripe(sales);
    const stripeUrl = (await stripe?.listen())?.url ?? '';
    const payments = stripe === null ? {} : stripeEnvironment(stripe, stripeUrl);
    await using turnpike = await spawnTurnpike(data, { ...environment, ...payments });
    await untilHoldsEnd(turnpike);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });

    const records = new Map<unknown, Record<string, unknown>>();
    for (const account of accounts)
      for (const row of await readAll(turnpike.admin, `/usage?account=${account}`)) records.set(row['request_id'], row);
    for (const one of sent) expectBilled(one, records.get(one.requestId));
    const unanswered = sent.filter(({ requestId }) => requestId === null);
    expect(records.size).toBe(sent.length);
    expect(unanswered.length).toBeGreaterThan(0);

    const scripted = { kind: 'anthropic', base_url: upstream.url, private_network: true };
    await turnpike.admin('POST', '/apply', { document: { providers: { scripted } } });
    for (const [at, key] of keys.entries()) {
      const repeated = await postIdempotently(
        turnpike,
        key,
        `slow ${at}`.replace('slow', 'again'),
        { stream: true },
        `slow-${at}-2`,
      );
      expect(repeated).toMatchObject({ isFinished: true, pieces: 5 });
    }
    await expectRepeated(turnpike, sent, features.madeAtMs);
    await expectFeatures(turnpike, features, stripe, receiver);
    if (batches !== null) await expectBatches(turnpike, provider, batches);
    await expectAllReads(turnpike);
    expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});

describe.each(['version-16', 'version-16-postgres'].filter((name) => stateNames.includes(name)))(
  'of the data of %s',
  (name) => {
    test.skipIf(cannotStartPostgres)('one hold that cannot be read stays, and keeps no other', async () => {
      const copy = await unpack(name, 'damaged');
      const damage = `UPDATE holds SET document = '{"v":99}' WHERE request_id = (SELECT min(request_id) FROM holds)`;
      await runOnCopy(copy, damage);
      await using turnpike = await spawnTurnpike(copy.data, copy.environment);
      await untilHoldsEnd(turnpike, 1);
      const { ok, faults } = await turnpike.check();
      expect(ok).toBe(false);
      expect(faults.join('\n')).toMatch(
        /req_\w+: its hold cannot be read, because a later release wrote it, in version 99/,
      );
      expect(await (await turnpike.scrape()).text()).toContain('\nturnpike_stuck_holds 1\n');
      expect((await turnpike.post(turnpike.key || 'none', {})).status).toBeLessThan(500);
    });
  },
);

/** A row of each table becomes unreadable, where others stay. Audit records and the journal are never updated. */
const DAMAGES = [
  ['accounts', 'document', `'{"name":"one"}'`, 'id'],
  ['keys', 'document', `'{"name":"one"}'`, 'id'],
  ['account_meters', 'group_rates', `'[]'`, 'id'],
  ['key_meters', 'limits', `'{}'`, 'id'],
  ['usage_records', 'details', `'{"others":[]}'`, 'request_id'],
  ['events', 'document', `'[]'`, 'seq'],
  ['learned', 'document', `'{"version":7}'`, 'model'],
  ['route_hours', 'document', `'{"answered":"x"}'`, 'at_ms'],
].map(
  ([table, column, text, id]) =>
    `UPDATE ${table} SET ${column} = ${text} WHERE ${id} = (SELECT min(${id}) FROM ${table})`,
);
const BROKEN_MODEL = `UPDATE catalog SET document = '[]' WHERE kind = 'model' AND name = (SELECT min(name) FROM catalog WHERE kind = 'model')`;

describe.each(['version-16', 'version-16-postgres'].filter((name) => stateNames.includes(name)))(
  'of the data of %s',
  (name) => {
    test.skipIf(cannotStartPostgres)('rows that cannot be read stop no others', async () => {
      const copy = await unpack(name, 'unreadable');
      for (const damage of [...DAMAGES, BROKEN_MODEL]) await runOnCopy(copy, damage);
      await using turnpike = await spawnTurnpike(copy.data, copy.environment);
      await expectAllReads(turnpike);
      expect((await readAll(turnpike.admin, '/accounts', 1)).length).toBe(2);
      expect((await readAll(turnpike.admin, '/keys', 1)).length).toBe(2);
      expect((await readAll(turnpike.admin, '/usage')).length).toBeGreaterThan(8);
      await turnpike.admin('POST', '/apply', { document: { groups: { later: { models: ['*'] } } } });
      const { secret } = await turnpike.makeKey({ groups: ['later'] });
      const answer = await turnpike.post(secret, {
        model: 'sandbox-error-529',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      expect(answer.status).toBe(529);
    });
  },
);

/** As received, or not at all: a checkpoint is at most a few seconds old. */
function expectBilled(
  { stream, isFinished, pieces, requestId }: Sent,
  record: Record<string, unknown> | undefined,
): void {
  if (requestId === null) return;
  if (isFinished) {
    expect(record).toMatchObject({ outcome: 'completed', input_tokens: PROMPT_TOKENS, output_tokens: 8 * pieces });
    return;
  }
  expect(stream).toBe(true);
  expect(record).toMatchObject({ input_tokens: PROMPT_TOKENS });
  expect(record?.['output_tokens']).toBeGreaterThanOrEqual(8 * (pieces - 30));
  expect(record?.['output_tokens']).toBeLessThanOrEqual(9 * (pieces + 1));
}

/** A finished message is answered again from its idempotency record, and not billed again, for as long as records are kept. */
async function expectRepeated(turnpike: Turnpike, sent: readonly Sent[], madeAtMs: number): Promise<void> {
  if (Date.now() - madeAtMs > bounds.idempotencyKeptMs - 60_000) return;
  const finished = sent.filter(({ isFinished, idempotencyKey }) => isFinished && idempotencyKey !== null);
  expect(finished.length).toBeGreaterThan(0);
  for (const { secret, prompt, stream, idempotencyKey, requestId } of finished) {
    const body = bodyOf(prompt, stream);
    const response = await turnpike.post(secret, body, { headers: { 'idempotency-key': idempotencyKey ?? '' } });
    expect(response.headers.get('idempotency-original-request-id')).toBe(requestId);
    expect(await response.text()).toContain('All work of this stream is counted.');
  }
}

/** Every list and report of the admin API that needs no id. */
async function expectAllReads(turnpike: Turnpike): Promise<void> {
  const { paths } = (await turnpike.admin('GET', '/openapi.json')) as {
    paths: Record<string, { get?: { responses: Record<string, { content?: object }> } }>;
  };
  const isJson = (path: string) => 'application/json' in (paths[path]?.get?.responses['200']?.content ?? {});
  const readable = Object.keys(paths).filter((path) => isJson(path) && !path.includes('{'));
  expect(readable.length).toBeGreaterThan(20);
  const failed: string[] = [];
  for (const path of readable) {
    const failure = await turnpike.admin('GET', path.replace('/api/v1', '')).then(
      () => null,
      (fault: Error) => fault.message,
    );
    // 400: it needs parameters. Public pages are off.
    if (failure !== null && !/: 400 |^GET \/public\/\w+: 404 /.test(failure)) failed.push(failure);
  }
  expect(failed).toEqual([]);
}
