// Batches of clients: who made them, how far they are, and what is held for them; neither requests nor results.

import { z } from '@hono/zod-openapi';
import { isKeyOf } from '../accounts/accounts.ts';
import type { Nano } from '../base/money.ts';
import { type Batch, type BatchPart, reserveIdOf } from '../batches/batches.ts';
import { bounds } from '../config/config.ts';
import { Outpaced } from '../ledger/ledger.ts';
import { askedAccount } from './accounts.ts';
import { findObject, noObject } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { accountOf, everyone, everyoneWhoChanges, makerOf, maySeeAccount, maySeeKey } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  accountField,
  accountShown,
  amountShown,
  countShown,
  idField,
  personShown,
  rangeFields,
  timeShown,
} from './fields.ts';
import { answerRows, cursorAfter, sortedPosition } from './pages.ts';
import { type AdminRoute, type Call, get, list, post } from './route.ts';
import { hideable } from './visibility.ts';

const STATUSES = ['running', 'canceling', 'ended'] as const;

export const batchSchema = z
  .object({
    id: idField('msgbatch').describe('Clients of OpenAI’s form know it as "batch_…".'),
    account: accountShown,
    key: idField('key').describe('The key that made it, and that alone reads its results.'),
    form: z.enum(['messages', 'openai']).describe('messages: Anthropic’s Message Batches. openai: a batch of a file.'),
    endpoint: z.string().describe('The path that each of its requests is sent to.'),
    status: z.enum(STATUSES).describe('canceling: no further request is sent.'),
    groups: hideable('group', z.array(z.string())).describe('The groups that sell its models.'),
    models: z.array(z.string()).describe('The models of its requests, at most 20. Empty if they are not known.'),
    requests: countShown,
    succeeded: countShown,
    errored: countShown,
    canceled: countShown,
    expired: countShown,
    cost: amountShown.nullable().describe('What its requests have cost so far. null: it is not known.'),
    reserved: amountShown.describe('The part of the balance that is held for requests that were not sent.'),
    created_at: timeShown,
    expires_at: timeShown.describe('When requests that were not sent expire.'),
    cancel_requested_at: timeShown.nullable(),
    ended_at: timeShown.nullable(),
  })
  .openapi('Batch');

const partSchema = z.object({
  provider: hideable('provider', z.string()),
  status: z.enum(['sending', 'running', 'ended']).describe('ended: its answers were collected, or will not be.'),
  requests: countShown,
});

export const batchDetails = batchSchema
  .extend({
    person: personShown.nullable().describe('Whose key it is; null: nobody’s.'),
    parts: z.array(partSchema).describe('Requests that providers run, or have run, in batches of their own.'),
  })
  .openapi('BatchDetails');

const encodeBatch = encoderOf(batchSchema);
const encodeDetails = encoderOf(batchDetails);
const params = z.object({ id: idField('msgbatch') });

export const batchRoutes: AdminRoute[] = [
  list('/batches', 'batch-list', 'List batches', everyone, {
    query: {
      account: accountField.optional(),
      key: idField('key').optional(),
      status: z.enum(STATUSES, { error: `must be ${STATUSES.join(' or ')}` }).optional(),
      ...rangeFields,
    },
    page: [batchSchema, 'Batches, newest first'],
    async handle(call) {
      const { account, key, status = null, since = null, until = null, limit } = call.query;
      const asked = await askedAccount(call, account);
      const keyIds = await askedKeys(call, key);
      const accountId = key === undefined ? accountOf(call.principal, asked) : asked; // the key was seen
      const [createdAtMs, id] = sortedPosition<[number, number]>(call, 'created') ?? [];
      const after = createdAtMs === undefined || id === undefined ? null : { createdAtMs, id };
      const page = { accountId, keyIds, status, sinceMs: since, untilMs: until, after, limit };
      const batches = await call.batches.listShownBatches(page);
      const last = batches.length < limit ? undefined : batches.at(-1);
      const next =
        last === undefined ? null : cursorAfter(call, JSON.stringify(['created', last.createdAtMs, last.id]));
      return answerRows(batches, async (batch) => encodeBatch(await shownOf(call, batch)), next);
    },
  }),
  get('/batches/{id}', 'batch-show', 'Retrieve a batch', everyone, {
    params,
    answer: [batchDetails, 'The batch'],
    handle: async (call) => detailsOf(call, await findBatch(call, call.params.id)),
  }),
  post('/batches/{id}/cancel', 'batch-cancel', 'Cancel a batch', everyoneWhoChanges, {
    params,
    body: z.strictObject({}),
    answer: [batchDetails, 'The batch. Requests in progress end as they would; one that is not running stays as it is'],
    async handle(call) {
      const batch = await findBatch(call, call.params.id);
      if (batch.status !== 'running') return detailsOf(call, batch);
      const canceling: Batch = { ...batch, status: 'canceling', cancelAtMs: call.clock.nowMs() };
      const [before, after] = [{ status: batch.status }, { status: canceling.status }];
      const note = changeNote('batch.cancel', call.params.id, batch.accountId, before, after);
      try {
        await call.batches.cancelBatch(canceling, recordAudit(call, [note]));
      } catch (failure) {
        if (!(failure instanceof Outpaced)) throw failure; // it has ended, or another call has canceled it
      }
      return detailsOf(call, await findBatch(call, call.params.id));
    },
  }),
];

/** The keys whose batches are listed; null: all. Throws object_not_found. */
async function askedKeys(call: Call, id: string | undefined): Promise<number[] | null> {
  if (id !== undefined) {
    const key = await findObject('key', 'key', id, call.accounts.getKey, (row) => maySeeKey(call, row));
    return [key.id];
  }
  if (call.principal.role !== 'member') return null;
  const { accountId } = call.principal;
  const own = { accountId, madeBy: makerOf(call.principal), after: null, limit: bounds.pageItemsMax };
  return (await call.accounts.listKeys(own)).map((key) => key.id);
}

async function findBatch(call: Call, id: string): Promise<Batch> {
  const { role, id: principal } = call.principal;
  const batch = await findObject('msgbatch', 'batch', id, call.batches.getBatch, (row) =>
    maySeeAccount(call, row.accountId),
  );
  if (role !== 'member') return batch;
  const key = await call.accounts.getKey(batch.keyId);
  if (key === null || !isKeyOf(key, principal)) throw noObject('batch', id);
  return batch;
}

async function shownOf(call: Call, batch: Batch) {
  const { keyId: key, models = [], cancelAtMs: cancelRequestedAtMs } = batch;
  const about = { ...batch, key, models, cancelRequestedAtMs };
  if (batch.status === 'ended') return { ...about, ...batch.counts, cost: batch.cost ?? null, reserved: 0 };
  const { counts, cost } = await call.batches.sumResults(batch.id);
  return { ...about, ...counts, cost, reserved: await reservedFor(call, batch) };
}

async function reservedFor({ ledger }: Call, batch: Batch): Promise<Nano> {
  const reserves = batch.groups.map((group) => reserveIdOf(batch, group));
  if (reserves.length === 0) return 0;
  const page = { account: batch.accountId, after: `rsv_${batch.id}_`, limit: reserves.length };
  const holds = await ledger.listHolds(page);
  return holds.reduce((sum, hold) => sum + (reserves.includes(hold.requestId) ? hold.amount : 0), 0);
}

async function detailsOf(call: Call, batch: Batch): Promise<z.infer<typeof batchDetails>> {
  const key = await call.accounts.getKey(batch.keyId);
  const parts = (batch.atProviders ?? []).map((part) => ({ ...part, status: 'ended' as const }));
  const running = batch.status === 'ended' ? [] : (await call.batches.listParts(batch.id)).filter(isTaken);
  const personId = key?.personId ?? null;
  return encodeDetails({ ...(await shownOf(call, batch)), personId, parts: [...parts, ...running] });
}

/** The provider has refused the others. */
function isTaken({ status, ref }: BatchPart): boolean {
  return status !== 'ended' || ref !== null;
}
