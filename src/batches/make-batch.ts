// Makes a batch of a file of requests: checks each, plans its largest cost, and reserves the money of all of them at once.

import { newNumber } from '../base/ids.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import { nextTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Files, StoredFile } from '../files/files.ts';
import type { RateLimits, Refusal, Reserve } from '../ledger/ledger.ts';
import { readLines } from '../wire/wire.ts';
import { type Batch, type BatchStore, NO_COUNTS, reserveIdOf } from './batch.ts';
import { readItem } from './read-item.ts';

/** The most that a request may cost, and the group that sells its model. */
export interface PlannedItem {
  group: { name: string; limits: RateLimits };
  amount: Nano;
  model: string;
}

export type NewBatch = Pick<Batch, 'accountId' | 'companyId' | 'keyId' | 'form' | 'endpoint' | 'headers' | 'metadata'>;

export interface MakerParts {
  store: BatchStore;
  files: Files;
  nowMs(): number;
  /** The most bytes of a request. */
  requestBytesMax(): number;
  /** Throws what the request would be refused for before its admission. */
  plan(batch: NewBatch, body: string): Promise<PlannedItem>;
  /** The error for a reserve that does not fit. */
  refuse(refusal: Refusal, amount: Nano): TurnpikeError;
}

interface Reserved {
  group: PlannedItem['group'];
  amount: Nano;
  model: string;
}

/**
 * The batch, which begins at once. `place`: how errors call the request of a position. Throws invalid_request and invalid_json, which name it, conflict if too many batches run,
 * and the refusal of the money. A request that would be refused on its own is part of the batch, and fails in it.
 */
export async function makeBatch(
  parts: MakerParts,
  made: NewBatch,
  input: StoredFile,
  place: (position: number) => string,
): Promise<Batch> {
  const { store, files, nowMs } = parts;
  await requireRoom(store, made.companyId);
  const ids = new Set<string>();
  const reserves = new Map<string, Reserved>();
  const models = new Set<string>();
  let position = 0;
  for await (const line of readLines(await files.read(input), parts.requestBytesMax() + bounds.batchItemBytesMore)) {
    if (position >= bounds.batchRequestsMax)
      throw new TurnpikeError('invalid_request', `requests: List should have at most ${bounds.batchRequestsMax} items`);
    const where = place(position);
    const { customId, body } = readItem(made, line, where);
    if (ids.has(customId)) throw new TurnpikeError('invalid_request', `${where}custom_id: is not unique`);
    ids.add(customId);
    await nextTurn(); // clients come between two requests
    const planned = await planOrNull(parts, made, body);
    add(reserves, planned);
    if (planned !== null && models.size < bounds.batchModelsMax) models.add(planned.model);
    position++;
  }
  if (position === 0) throw new TurnpikeError('invalid_request', 'requests: List should have at least 1 item');
  const createdAtMs = nowMs();
  const expiresAtMs = createdAtMs + bounds.batchLifeMs;
  const batch: Batch = {
    ...made,
    id: newNumber(),
    status: 'running',
    createdAtMs,
    dueAtMs: expiresAtMs,
    groups: [...reserves.keys()],
    models: [...models],
    inputFileId: input.id,
    outputFileId: null,
    errorFileId: null,
    requests: position,
    counts: NO_COUNTS,
    expiresAtMs,
    cancelAtMs: null,
    endedAtMs: null,
  };
  const refusal = await store.createBatch(batch, reservesOf(batch, reserves));
  if (refusal === null) return batch;
  const total = [...reserves.values()].reduce((sum, { amount }) => sum + amount, 0);
  throw parts.refuse(refusal, Math.min(NANO_MAX, total));
}

async function requireRoom(store: BatchStore, companyId: number): Promise<void> {
  if ((await store.countRunningBatches(companyId)) < bounds.batchesPerCompanyMax) return;
  throw new TurnpikeError(
    'conflict',
    `The account has its limit of ${bounds.batchesPerCompanyMax} batches that run. Wait for one to end.`,
  );
}

/** null: it will be refused when it is sent, and costs nothing. */
async function planOrNull(parts: MakerParts, batch: NewBatch, body: string): Promise<PlannedItem | null> {
  try {
    return await parts.plan(batch, body);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError && !thrown.retry && thrown.status !== 401) return null;
    throw thrown;
  }
}

function add(reserves: Map<string, Reserved>, planned: PlannedItem | null): void {
  if (planned === null) return;
  const { group, model } = planned;
  const before = reserves.get(group.name)?.amount ?? 0;
  reserves.set(group.name, { group, model, amount: Math.min(NANO_MAX, before + planned.amount) });
}

function reservesOf(batch: Batch, reserves: ReadonlyMap<string, Reserved>): Reserve[] {
  return [...reserves].map(([name, { group, amount, model }]) => ({
    kind: 'reserve',
    requestId: reserveIdOf(batch, name) as string,
    account: batch.accountId,
    key: batch.keyId,
    group: name,
    limits: group.limits,
    amount,
    draft: { model, stream: false },
  }));
}
