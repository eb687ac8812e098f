// A batch of requests that a client sends at once and whose answers it collects later, and the store of its rows. Its requests and its
// results are files; results are rows until the batch ends.

import type { AuditContext } from '../audit/audit.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import type { Nano } from '../base/money.ts';
import type { NewEvent } from '../events/events.ts';
import type { Operation, Refusal } from '../ledger/ledger.ts';

/** The API in whose form it was made, which is the only one that shows it. */
export type BatchForm = 'messages' | 'openai';

/** `canceling`: no further request is sent. `ended`: its results are stored as files, and nothing is held for it. */
export type BatchStatus = 'running' | 'canceling' | 'ended';

export type ItemOutcome = 'succeeded' | 'errored' | 'canceled' | 'expired';
export type ItemCounts = Record<ItemOutcome, number>;

export interface Batch {
  id: number;
  accountId: number;
  /** The topmost account above, when it was made. */
  companyId: number;
  /** The key that made it: the only one that sees it, and whose money pays. */
  keyId: number;
  form: BatchForm;
  status: BatchStatus;
  createdAtMs: number;
  /** While it runs: when it expires. Then: when it is removed. */
  dueAtMs: number;
  /** The canonical path that each of its requests is sent to. */
  endpoint: string;
  /** The groups that sell its models; each has a reserve. */
  groups: readonly string[];
  /** Models that its requests name, at most `batchModelsMax`. Absent: made by an earlier build. */
  models?: readonly string[];
  /** Headers of the request that made it, by which its requests are read. Names in lower case. */
  headers: Readonly<Record<string, string>>;
  metadata: Readonly<Record<string, string>> | null;
  inputFileId: number;
  /** null: none yet, or nothing in it. */
  outputFileId: number | null;
  /** The file of requests that failed; null also for the form `messages`. */
  errorFileId: number | null;
  requests: number;
  /** Zeros until it has ended. */
  counts: ItemCounts;
  /** The cost of its requests. Absent: not known, or it has not ended. */
  cost?: Nano;
  /** How many requests went to batches of each provider. Absent: none, or it has not ended. */
  atProviders?: readonly SentPart[];
  expiresAtMs: number;
  cancelAtMs: number | null;
  endedAtMs: number | null;
}

export const NO_COUNTS: ItemCounts = Object.freeze({ succeeded: 0, errored: 0, canceled: 0, expired: 0 });

/** The result of one request: a line of the file of results, sealed. */
export interface ItemResult {
  /** The place of the request in the file of requests, from 0. */
  position: number;
  outcome: ItemOutcome;
  sealed: string;
  /** The cost of the request. */
  cost: Nano;
}

/** Counts and cost of the stored results of a batch that has not ended. */
export interface ResultSums {
  counts: ItemCounts;
  cost: Nano;
}

/** Requests that a provider runs, or has run, in a batch of its own. */
export type SentPart = Pick<BatchPart, 'provider' | 'requests'>;

/** Requests of a batch that a provider runs as a batch of its own. */
export interface BatchPart {
  /** Counts within the batch, from 0. */
  part: number;
  /** `sending`: the provider may have it, under a name. `ended`: its results are stored; what has none is sent like the rest. */
  status: 'sending' | 'running' | 'ended';
  /** The target: names as in the catalog. */
  provider: string;
  upstreamModel: string;
  credential: string | null;
  /** The address and the betas of its calls. */
  url: string;
  betas: string | null;
  /** The provider's id; null while it is not known. */
  ref: string | null;
  /** Places of the requests, as the text of `Places`. */
  places: string;
  requests: number;
  createdAtMs: number;
  /** Has all requests of the batch, and is no file of the client, who may delete it: without its request, an answer could not be billed. */
  requestsFileId: number;
  /** Its id was found by its time and size only, because the provider's batches have no names: it is perhaps another's. */
  isGuessed?: boolean;
}

export interface BegunMessage {
  requestId: string;
  state: 'running' | 'answered' | 'failed';
}

export interface BatchPage {
  keyId: number;
  form: BatchForm;
  /** Newest first, or oldest first. */
  order: 'desc' | 'asc';
  after: Pick<Batch, 'createdAtMs' | 'id'> | null;
  limit: number;
}

/** Batches that operators and account holders see, newest first. */
export interface ShownBatchPage {
  accountId: number | null;
  /** null: of all keys. */
  keyIds: readonly number[] | null;
  status: BatchStatus | null;
  sinceMs: number | null;
  untilMs: number | null;
  after: Pick<Batch, 'createdAtMs' | 'id'> | null;
  limit: number;
}

export interface BatchStore {
  getBatch(id: number): Promise<Batch | null>;
  listBatches(page: BatchPage): Promise<Batch[]>;
  listShownBatches(page: ShownBatchPage): Promise<Batch[]>;
  /** Those that have not ended: the first of each company, then the second of each, and so on. */
  listRunningBatches(limit: number): Promise<Batch[]>;
  /** Those of a company that have not ended. */
  countRunningBatches(companyId: number): Promise<number>;
  /** Those that have ended and are to be removed. */
  listDueBatches(nowMs: number, limit: number): Promise<Batch[]>;
  /** The last message that was admitted with this claim, in the last 24 hours; null: none. */
  findBegun(keyId: number, claim: string): Promise<BegunMessage | null>;
  sumResults(batchId: number): Promise<ResultSums>;
  /** In the order of the requests. */
  listResults(page: { batchId: number; after: number; limit: number }): Promise<ItemResult[]>;
  /** Positions only. */
  listDone(page: { batchId: number; after: number; limit: number }): Promise<number[]>;
  /** In their order. */
  listParts(batchId: number): Promise<BatchPart[]>;
  /** Rejects with Outpaced if another node has added one with this number. */
  addPart(batchId: number, part: BatchPart): Promise<void>;
  changePart(batchId: number, part: BatchPart): Promise<void>;
  /** The provider never had it. */
  removePart(batchId: number, part: number): Promise<void>;
  /** Together with the reserves. Resolves to the refusal of a reserve, and then there is no batch. */
  createBatch(batch: Batch, reserves: readonly Operation[]): Promise<Refusal | null>;
  /** Results that are stored already stay as they are. */
  addResults(batchId: number, results: readonly ItemResult[]): Promise<void>;
  /** From running to canceling. Rejects with Outpaced if it is not running any more. */
  cancelBatch(batch: Batch, auditContext?: AuditContext): Promise<void>;
  /** To ended, without rows of results and parts, with an event; gives back the reserves. Rejects with Outpaced if its status is not `from` any more. */
  endBatch(batch: Batch, from: BatchStatus, returns: readonly Operation[], event: NewEvent): Promise<void>;
  removeBatch(id: number): Promise<void>;
}

/** The request id of the reserve of a group. Sorts behind those of messages. */
export function reserveIdOf({ id, groups }: Pick<Batch, 'id' | 'groups'>, group: string): string | null {
  const at = groups.indexOf(group);
  return at < 0 ? null : `rsv_${id}_${at}`;
}

/** The batch that a hold with this request id is a reserve of; null: it is none. */
export function batchOfReserve(requestId: string): number | null {
  const [start, id = '', ...rest] = requestId.split('_');
  return start === 'rsv' && rest.length === 1 ? parseWholeNumber(id) : null;
}
