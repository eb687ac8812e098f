// Batches, composed: their endpoints, and the runner of the node that leads.

import { formatId } from '../base/ids.ts';
import {
  type Batch,
  type BatchPart,
  BatchRunner,
  type MakerParts,
  makeBatch,
  type NewBatch,
  reserveIdOf,
} from '../batches/batches.ts';
import { TurnpikeError } from '../errors.ts';
import { isPlaceFailure } from '../files/files.ts';
import {
  answerCaller,
  type BatchItem,
  type ClientRequest,
  type DoneWork,
  findResponse,
  type Gateway,
  namesFiles,
  planItem,
  prepareItem,
  refusalError,
} from '../gateway/gateway.ts';
import { isStoreUnavailable } from '../ledger/ledger.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import { type PublicDependencies, planItemOf, readItemAnswer, sendItem } from '../public-api/public-api.ts';
import type { Leadership } from './leadership.ts';
import type { OpenStore } from './open-store.ts';

export interface BatchParts {
  store: OpenStore;
  leadership: Leadership;
  gateway: Gateway;
  publicApi: PublicDependencies;
  log: Pick<LogWriter, 'writeEvent'>;
  /** Reports a task that failed. Never rejects. */
  failed(task: string, failure: unknown): Promise<void>;
}

/** Adds the endpoints of batches to the public API. The returned function stops what runs. Nothing without files. */
export function startBatches({
  store: { stores },
  leadership,
  gateway,
  publicApi,
  log,
  failed,
}: BatchParts): () => Promise<void> {
  const { files, clock } = gateway;
  if (files === undefined) return async () => {};
  const { batches: store } = stores;
  const runner = new BatchRunner({
    store,
    files,
    spool: publicApi.spool,
    nowMs: clock.nowMs,
    send: (batch, body, claim, done) =>
      sendItem(publicApi, requestOf(batch, body), itemOf(batch, claim, done && { ...done, groups: batch.groups })),
    hasPlaces: () => [...gateway.catalog().providers.values()].some(({ batches }) => batches),
    placeOf: (target) => placeOf(gateway, target),
    async reservesOf(batch) {
      const { accountId, id, groups } = batch;
      const holds = await stores.ledger.listHolds({ account: accountId, after: `rsv_${id}_`, limit: groups.length });
      const amountOf = (group: string) =>
        holds.find(({ requestId }) => requestId === reserveIdOf(batch, group))?.amount ?? 0;
      return new Map(groups.map((group) => [group, amountOf(group)]));
    },
    prepare: (batch, body) => prepare(gateway, publicApi, batch, body),
    async findAnswer(batch, body, requestId) {
      const find = (request: ClientRequest) => findResponse(gateway.answers, request, body, requestId);
      const item = itemOf(batch, requestId, null);
      const answer = await readItemAnswer(publicApi, find, requestOf(batch, body), item);
      return answer === null ? null : { requestId, status: 200, body: answer, failure: null };
    },
    runningMax: () => gateway.catalog().settings.batchMessagesMax,
    isBusy: () => isBusy(publicApi),
    isLeading: () => (publicApi.isDraining() ? Promise.resolve(false) : leadership.isHeld()),
    onPartFailure({ id }, { provider, requests }, failure) {
      const batch = formatId('msgbatch', id);
      log.writeEvent('batch_not_taken', { batch, provider, requests, cause: describeFailure(failure) });
    },
    onPartWaiting: (_, { provider }, failure) =>
      void failed('batches', new Error(`${provider}: ${describeFailure(failure)}`)),
    costOf: async (requestId) => (await stores.usage.getUsage(requestId))?.cost ?? 0,
    onEnded: ({ id, counts }) => log.writeEvent('batch_ended', { batch: formatId('msgbatch', id), ...counts }),
    onFailure(batch, failure) {
      if (isStoreUnavailable(failure) && !isPlaceFailure(failure)) return; // which each change reports
      const id = batch === null ? null : formatId('msgbatch', batch.id);
      log.writeEvent('batch_not_sent', { batch: id, cause: describeFailure(failure) });
      void failed('batches', failure);
    },
  });
  const maker = makerOf(gateway, publicApi, { store, files });
  publicApi.batches = {
    store,
    files,
    answerCaller: (clientRequest, answer) => answerCaller(gateway, clientRequest, answer),
    make: (batch, input, place) => makeBatch(maker, batch, input, place),
    look: () => runner.look(),
  };
  return () => runner.stop();
}

function makerOf(
  gateway: Gateway,
  publicApi: PublicDependencies,
  places: Pick<MakerParts, 'store' | 'files'>,
): MakerParts {
  const { clock } = gateway;
  return {
    ...places,
    nowMs: clock.nowMs,
    requestBytesMax: () => gateway.catalog().settings.bodyBytesMax,
    plan: (batch, body) =>
      planItemOf(publicApi, (request) => planItem(gateway, request), requestOf(batch, body), {
        keyId: batch.keyId,
        claim: '',
        reserveOf: () => null,
        done: null,
      }),
    refuse: (refusal, amount) =>
      refusalError(refusal, { nowMs: clock.nowMs(), amount, isLeast: false, headers: {}, maxTokensThatFit: 0 }),
  };
}

function requestOf({ endpoint, headers }: Pick<NewBatch, 'endpoint' | 'headers'>, body: string) {
  return { endpoint, headers, body };
}

function itemOf(batch: Batch, claim: string, done: DoneWork | null): BatchItem {
  return { keyId: batch.keyId, claim, reserveOf: (group) => reserveIdOf(batch, group), done };
}

/** null also for what would be refused: its own path says why. Without its files, an answer could not be billed. */
async function prepare(gateway: Gateway, publicApi: PublicDependencies, batch: Batch, body: string) {
  if (namesFiles(body)) return null;
  try {
    const item = itemOf(batch, '', null);
    return await planItemOf(publicApi, (request) => prepareItem(gateway, request), requestOf(batch, body), item);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError && !thrown.retry) return null;
    throw thrown;
  }
}

/** Where the batches of a provider are, as it is configured now. */
function placeOf({ catalog, providers }: Gateway, target: Pick<BatchPart, 'provider' | 'credential'>) {
  const settings = catalog().providers.get(target.provider);
  const batches = settings && providers.get(settings.kind)?.batches;
  if (settings === undefined || batches === undefined) return null;
  const { credentials, residency: _, ...address } = settings;
  const credential = credentials.find(({ name }) => name === target.credential) ?? null;
  if (credential === null && target.credential !== null) return null;
  return { batches, endpoint: { ...address, credential: credential?.secret ?? null } };
}

/** Batches wait while clients use half of what makes the node refuse them. */
function isBusy({ load, settings }: PublicDependencies): boolean {
  const { shedLoopDelayMs, shedOpenMessages } = settings();
  return load.loopDelayMs() > shedLoopDelayMs / 2 || load.openMessages() > shedOpenMessages / 2;
}
