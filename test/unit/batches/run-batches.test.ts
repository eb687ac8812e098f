// Batches whose stored data is lost, and those that end while a request is sent again: each ends, and gives back its money.

import { expect, test } from 'bun:test';
import {
  type Batch,
  type BatchForm,
  BatchRunner,
  type BatchStore,
  makeBatch,
  type NewBatch,
  type RunnerParts,
  type SentItem,
} from '../../../src/batches/batches.ts';
import { bounds } from '../../../src/config/config.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import { Files, formatFileId } from '../../../src/files/files.ts';
import { ProviderFault } from '../../../src/providers/providers.ts';
import { openVault } from '../../../src/secrets/secrets.ts';
import { type BatchParts, startBatches } from '../../../src/server/batches.ts';
import { NO_LIMITS, type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';
import { memoryFiles } from '../../support/memory-files.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { setBounds } from '../../support/set-bounds.ts';

const AMOUNT = 1_000;
const answered: SentItem = { requestId: 'req_1', status: 200, body: '{}', failure: null };

const NO_PROVIDERS = {
  hasPlaces: () => false,
  placeOf: () => null,
  reservesOf: async () => new Map(),
  prepare: async () => null,
  onPartWaiting: () => {},
  onPartFailure: (_: unknown, __: unknown, failure: unknown) => expect(failure).toBeUndefined(),
};

/** An account with a batch of this form, whose requests `send` answers. */
async function openBatch(form: BatchForm, customIds: readonly string[], send: RunnerParts['send']) {
  const openMemory: OpenStores = (clock) => {
    const stores = memoryStores(clock);
    return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
  };
  const bench = await openWorkbench(openMemory, 1_000_000);
  const { files: store, batches } = bench.stores;
  const { nowMs } = bench.clock;
  const memory = memoryFiles();
  const limits = () => ({ files: 100, bytes: 1_000_000 });
  const files = new Files({ store, bytes: memory.bytes, vault: openVault(Buffer.alloc(32, 7)), limits, nowMs });
  const owner = { accountId: bench.account, companyId: bench.account, keyId: bench.key };
  const endpoint = form === 'messages' ? '/v1/messages' : '/v1/chat/completions';
  await using content = await memory.spool.create(1);
  for (const custom_id of customIds) {
    const item = form === 'messages' ? { params: {} } : { method: 'POST', url: endpoint, body: {} };
    await content.write(Buffer.from(`${JSON.stringify({ custom_id, ...item })}\n`));
  }
  await content.finish();
  const named = { name: 'requests.jsonl', mediaType: 'application/jsonl', purpose: 'batch', onlyKeyId: null };
  const input = await files.create({ ...owner, ...named, nowMs: nowMs(), expiresAtMs: null }, content);
  const made: NewBatch = { ...owner, form, endpoint, headers: {}, metadata: null };
  const requestBytesMax = () => 1_000_000;
  const batch = await makeBatch(
    {
      store: batches,
      files,
      nowMs,
      requestBytesMax,
      plan: async () => ({ group: { name: 'default', limits: NO_LIMITS }, amount: AMOUNT, model: 'plain' }),
      refuse: () => new TurnpikeError('internal', 'not refused'),
    },
    made,
    input,
    String,
  );
  const failures: unknown[] = [];
  const ended = Promise.withResolvers<Batch>();
  const run = (more: Partial<RunnerParts> = {}) =>
    new BatchRunner({
      store: batches,
      files,
      spool: memory.spool,
      nowMs,
      send,
      costOf: async () => 0,
      findAnswer: async (_, __, requestId) => ({ ...answered, requestId }),
      runningMax: () => 4,
      isBusy: () => false,
      isLeading: async () => true,
      ...NO_PROVIDERS,
      onEnded: ended.resolve,
      onFailure: (_, failure) => {
        failures.push(failure);
      },
      ...more,
    });
  const linesOf = async (id: number | null) => {
    const file = id === null ? null : await files.findOwn(id);
    const text = file === null ? '' : Buffer.concat(await Array.fromAsync(await files.read(file))).toString();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { custom_id: string; result?: { type: string; error?: { error: object } } });
  };
  const held = async () => (await bench.stores.ledger.accountMeters(bench.account, nowMs()))?.held;
  const nameOf = formatFileId(input.id);
  return { bench, memory, files, batch, batches, run, ended: ended.promise, failures, linesOf, held, nameOf };
}

test('a batch whose file of requests has lost its bytes ends, and its money is given back', async () => {
  const { bench, memory, run, ended, held, nameOf } = await openBatch('openai', ['a', 'b'], async () => answered);
  await using _bench = bench;
  expect(await held()).toBe(2 * AMOUNT);
  memory.kept.delete(nameOf);
  const runner = run();
  expect((await ended).counts).toEqual({ succeeded: 0, errored: 0, canceled: 2, expired: 0 });
  await runner.stop();
  expect(await held()).toBe(0);
});

test('a batch whose file of requests was altered ends, and its money is given back', async () => {
  const { bench, memory, run, ended, failures, held, nameOf } = await openBatch(
    'messages',
    ['a', 'b'],
    async () => answered,
  );
  await using _bench = bench;
  const bytes = memory.kept.get(nameOf) as Uint8Array;
  bytes[3] = (bytes[3] ?? 0) ^ 1;
  const runner = run();
  expect((await ended).status).toBe('ended');
  await runner.stop();
  expect(await held()).toBe(0);
  expect(String(failures[0])).toContain('a part of a file was altered');
});

test.each(['messages', 'openai'] as const)(
  'a stored result that cannot be decrypted becomes an error, and the batch ends (%s)',
  async (form) => {
    const { bench, batch, batches, run, ended, failures, linesOf, held } = await openBatch(
      form,
      ['lost', 'kept'],
      async () => answered,
    );
    await using _bench = bench;
    await batches.addResults(batch.id, [{ position: 0, outcome: 'succeeded', sealed: 'v1.altered', cost: 0 }]);
    const runner = run();
    const { counts, outputFileId, errorFileId } = await ended;
    await runner.stop();
    expect(counts).toEqual({ succeeded: 1, errored: 1, canceled: 0, expired: 0 });
    const [lost, kept] = [...(await linesOf(errorFileId)), ...(await linesOf(outputFileId))];
    const error = expect.objectContaining({ code: 'result_unreadable' });
    expect(lost).toMatchObject(
      form === 'messages'
        ? { custom_id: 'lost', result: { type: 'errored', error: { type: 'error', error } } }
        : { custom_id: 'lost', response: null, error },
    );
    expect(kept?.custom_id).toBe('kept');
    expect(await held()).toBe(0);
    expect(failures).toHaveLength(1);
  },
);

test.each(['answered', 'running'] as const)(
  'a request that an earlier run has sent gets what was billed, although its key may not send it any more (%s)',
  async (first) => {
    using _bounds = setBounds({ batchItemPauseMs: 1 });
    const failure = new TurnpikeError('model_not_found', 'No such model.');
    const send = async () => ({ requestId: 'req_2', status: 404, body: '{"type":"error"}', failure });
    const { bench, batches, run, ended, linesOf } = await openBatch('openai', ['one'], send);
    await using _bench = bench;
    const states = [first, 'answered' as const];
    batches.findBegun = async () => ({ requestId: 'req_1', state: states.shift() ?? 'answered' });
    const runner = run();
    const { counts, outputFileId } = await ended;
    await runner.stop();
    expect(counts).toEqual({ succeeded: 1, errored: 0, canceled: 0, expired: 0 });
    expect(await linesOf(outputFileId)).toMatchObject([{ custom_id: 'one', response: { request_id: 'req_1' } }]);
  },
);

test('a request that an earlier run sent, and that cost nothing, is not sent again when the batch is canceled', async () => {
  let sends = 0;
  const send = async () => {
    sends++;
    return answered;
  };
  const { bench, batch, batches, run, ended, held } = await openBatch('messages', ['one'], send);
  await using _bench = bench;
  batches.findBegun = async () => ({ requestId: 'req_1', state: 'failed' });
  await batches.cancelBatch({ ...batch, status: 'canceling', cancelAtMs: bench.clock.nowMs() });
  const runner = run();
  const { counts } = await ended;
  await runner.stop();
  expect([counts, sends]).toEqual([{ succeeded: 0, errored: 0, canceled: 1, expired: 0 }, 0]);
  expect(await held()).toBe(0);
});

test('a failed attempt that may be billed has its error as the result when the batch is canceled', async () => {
  using _bounds = setBounds({ batchItemPauseMs: 60_000, batchesPollMs: 5 });
  const sent = Promise.withResolvers<void>();
  const failure = new TurnpikeError('upstream_failed', 'The provider failed.');
  const failed: SentItem = { requestId: 'req_1', status: 502, body: '{"type":"error"}', failure };
  const send = async () => {
    sent.resolve();
    return failed;
  };
  const { bench, batch, batches, run, ended, linesOf, held } = await openBatch('messages', ['cut'], send);
  await using _bench = bench;
  const runner = run();
  await sent.promise;
  await batches.cancelBatch({ ...batch, status: 'canceling', cancelAtMs: bench.clock.nowMs() });
  runner.look();
  const { counts, outputFileId } = await ended;
  await runner.stop();
  expect(counts).toEqual({ succeeded: 0, errored: 1, canceled: 0, expired: 0 });
  expect((await linesOf(outputFileId)).map(({ custom_id, result }) => [custom_id, result?.type])).toEqual([
    ['cut', 'errored'],
  ]);
  expect(await held()).toBe(0);
});

function answerTo({ id }: Batch, position: number) {
  return { id: `turnpike-${id}-${position}`, answer: { status: 200, body: '{}' } };
}

/** A provider has both requests. */
async function addPart({ clock }: Workbench, { id, inputFileId: requestsFileId }: Batch, batches: BatchStore) {
  const target = { provider: 'p', upstreamModel: 'm', credential: null, url: 'https://p', betas: null };
  const times = { createdAtMs: clock.nowMs(), requestsFileId };
  await batches.addPart(id, { part: 0, status: 'running', ...target, ...times, ref: 'r', places: '0-1', requests: 2 });
}

/** A provider whose batch has ended with these results. */
function placeWith(results: () => AsyncGenerator<unknown>, discard = async () => {}): RunnerParts['placeOf'] {
  const batches = { isEnded: async () => true, results, remove: async () => {}, discard };
  return () => ({ batches, endpoint: {} }) as unknown as ReturnType<RunnerParts['placeOf']>;
}

test('results that break off are taken as far as they arrive, and given up two hours after the end, when five reads in a row have failed', async () => {
  using _bounds = setBounds({ batchItemPauseMs: 1, batchesPollMs: 5, batchPartPollMsMax: 5 });
  const sent: unknown[] = [];
  const send: RunnerParts['send'] = async (_, __, claim, done) => {
    sent.push([claim.at(-1), done !== null]);
    return answered;
  };
  const { bench, batch, batches, run, ended, held } = await openBatch('messages', ['a', 'b'], send);
  await using _bench = bench;
  await addPart(bench, batch, batches);
  let reads = 0;
  const told: unknown[] = [];
  const runner = run({
    placeOf: placeWith(async function* () {
      if (++reads === 3) bench.clock.advance(bounds.batchGraceMs);
      yield answerTo(batch, 1);
      throw new ProviderFault('failed', 'the results of the batch broke off');
    }),
    onPartFailure: (_, __, failure) => told.push(failure),
  });
  expect((await ended).counts).toMatchObject({ succeeded: 2 });
  await runner.stop();
  expect(sent).toEqual([
    ['1', true],
    ['0', false],
  ]);
  expect([reads, String(told)]).toEqual([bounds.batchPartTriesMax, expect.stringContaining('broke off')]);
  expect(await held()).toBe(0);
});

test('an answer of a provider whose reserve is lost becomes the error of its account, and is reported once', async () => {
  using _bounds = setBounds({ batchItemPauseMs: 1, batchesPollMs: 5 });
  const failure = new TurnpikeError('insufficient_user_quota', 'The balance is exhausted.');
  const sends: unknown[] = [];
  const send: RunnerParts['send'] = async (_, __, claim, done) => {
    sends.push(done);
    return { requestId: claim, status: 403, body: '{"type":"error"}', failure };
  };
  const { bench, batch, batches, run, ended, failures, linesOf, held } = await openBatch('messages', ['a', 'b'], send);
  await using _bench = bench;
  await addPart(bench, batch, batches);
  const runner = run({
    placeOf: placeWith(async function* () {
      for (const at of [0, 1]) yield answerTo(batch, at);
    }),
  });
  const { counts, outputFileId } = await ended;
  await runner.stop();
  expect(counts).toEqual({ succeeded: 0, errored: 2, canceled: 0, expired: 0 });
  expect((await linesOf(outputFileId)).map(({ result }) => result?.type)).toEqual(['errored', 'errored']);
  expect(sends).toHaveLength(2 * bounds.batchPartTriesMax);
  expect(failures).toEqual([failure]);
  expect(await held()).toBe(0);
});

test('a batch that others came before is canceled all the same', async () => {
  using _bounds = setBounds({ batchItemPauseMs: 60_000, batchesPollMs: 5 });
  const sent = Promise.withResolvers<void>();
  const failure = new TurnpikeError('requests_rate_exceeded', 'Too many requests.');
  const { bench, batch, batches, run, ended } = await openBatch('messages', ['one'], async () => {
    sent.resolve();
    return { requestId: 'req_1', status: 429, body: '{}', failure };
  });
  await using _bench = bench;
  const runner = run();
  await sent.promise;
  batches.listRunningBatches = async () => [];
  await batches.cancelBatch({ ...batch, status: 'canceling', cancelAtMs: bench.clock.nowMs() });
  expect((await ended).counts).toMatchObject({ canceled: 1 });
  await runner.stop();
});

test('a batch that waits for the place of its files is logged, and is a failed task, but not one that waits for the database', async () => {
  const { bench, memory, files, batches } = await openBatch('openai', ['a'], async () => answered);
  await using _bench = bench;
  memory.bytes.read = async function* () {
    yield await Promise.reject(new Error('no route to host'));
  };
  const logged: unknown[] = [];
  const failed: unknown[] = [];
  const world = {
    store: { stores: bench.stores },
    leadership: { isHeld: async () => true },
    gateway: {
      files,
      clock: bench.clock,
      catalog: () => ({ providers: new Map(), settings: { batchMessagesMax: 1 } }),
    },
    publicApi: { spool: memory.spool, isDraining: () => false },
    log: { writeEvent: (...line: unknown[]) => logged.push(line) },
    failed: async (...task: unknown[]) => void failed.push(task),
  } as unknown as BatchParts;
  const stop = startBatches(world);
  await until(() => failed.length > 0);
  await stop();
  const cause = expect.stringContaining('no route to host');
  expect(logged[0]).toEqual(['batch_not_sent', { batch: expect.stringMatching(/^msgbatch_/), cause }]);
  expect(failed[0]).toEqual(['batches', expect.any(TurnpikeError)]);
  const [logs, tasks] = [logged.length, failed.length];
  const down = new TurnpikeError('store_unavailable', 'The database does not answer.');
  let asked = 0;
  batches.listRunningBatches = async () => {
    asked++;
    throw down;
  };
  const stopAgain = startBatches(world);
  await until(() => asked > 0);
  await stopAgain();
  expect([logged.length, failed.length]).toEqual([logs, tasks]);
});

async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await Bun.sleep(5);
}
