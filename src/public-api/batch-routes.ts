// The paths of batches: Anthropic's Message Batches, and OpenAI's batches of a file. A batch is shown to the key that made it, in the form
// it was made in. https://platform.claude.com/docs/en/api/messages/batches and
// https://developers.openai.com/api/reference/resources/batches (2026-11-30)

import { type Caller, topOf } from '../accounts/accounts.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { formatId, parseId } from '../base/ids.ts';
import { freeBytes } from '../base/sealed-chunks.ts';
import { type Batch, type BatchForm, type ItemCounts, type NewBatch, RequestSplitter } from '../batches/batches.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { formatOpenAiFileId } from '../files/files.ts';
import { SELECTORS } from '../gateway/gateway.ts';
import { Outpaced } from '../ledger/ledger.ts';
import { isJsonObject, type JsonObject, parseJson } from '../wire/wire.ts';
import { baseOf } from './base-of.ts';
import type { BatchEndpoints } from './dependencies.ts';
import type { EncodedReply } from './encode-reply.ts';
import type { Exchange } from './exchange.ts';
import { requireJson } from './require-type.ts';

const SECOND_MS = 1_000;
const BATCH_BODY_BYTES_MAX = 64 * 1024; // of one that names a file
const METADATA_MAX = { members: 16, nameCharacters: 64, valueCharacters: 512 };
/** Endpoints whose answers are JSON. */
const ENDPOINTS: readonly string[] = [
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/completions',
  '/v1/moderations',
  '/v1/images/generations',
  '/v1/images/edits',
];
const MESSAGES_ENDPOINT = '/v1/messages';
const PAGE = {
  messages: { most: 1_000, usual: 20, after: 'after_id' },
  openai: { most: 100, usual: 20, after: 'after' },
};

type Context = Parameters<Parameters<BatchEndpoints['answerCaller']>[1]>[2];

// Anthropic's

export function postMessageBatch(exchange: Exchange): Promise<EncodedReply> {
  requireJson(exchange.request.headers);
  return answer(exchange, async (endpoints, caller, context) => {
    using _slot = context.takeSlot();
    await context.takeRequest();
    const { files } = endpoints;
    const company = topOf(caller);
    await files.requireRoom(company, 0);
    const { bodyBytesMax } = exchange.dependencies.settings();
    await using content = await exchange.dependencies.spool.create(company);
    const splitter = new RequestSplitter(bodyBytesMax + bounds.batchItemBytesMore);
    await exchange.passBody(bounds.batchBytesMax, async (piece) => {
      for (const request of splitter.take(piece)) {
        await content.write(request);
        await content.write(LINE_END);
        freeBytes(request);
      }
      freeBytes(piece);
    });
    splitter.end();
    await content.finish();
    exchange.expect('slow-json'); // many requests take their time
    const { account, key } = await context.identifyAgain();
    const { nowMs } = exchange.dependencies.clock;
    const owner = { accountId: account.id, companyId: company, keyId: key.id };
    const file = {
      ...owner,
      onlyKeyId: key.id,
      name: 'requests.jsonl',
      mediaType: 'application/jsonl',
      purpose: 'batch_requests',
      nowMs: nowMs(),
      expiresAtMs: nowMs() + bounds.batchInputLifeMs,
    };
    const input = await files.create(file, content);
    const made: NewBatch = {
      ...owner,
      form: 'messages',
      endpoint: MESSAGES_ENDPOINT,
      headers: headersOf(exchange),
      metadata: null,
    };
    try {
      const batch = await endpoints.make(made, input, (position) => `requests.${position}.`);
      endpoints.look();
      return JSON.stringify(await showMessageBatch(exchange, endpoints, batch));
    } catch (failure) {
      await files.delete(input).catch(() => {}); // it expires
      throw failure;
    }
  });
}

export function listMessageBatches(exchange: Exchange): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) => {
    const query = exchange.parameters();
    const [after, before] = [query.get('after_id'), query.get('before_id')];
    if (after !== null && before !== null) throw wrong('before_id', 'cannot be combined with after_id');
    const { batches, hasMore } = await listPage(endpoints, caller, 'messages', query.get('limit'), after, before);
    const data = await Promise.all(batches.map((batch) => showMessageBatch(exchange, endpoints, batch)));
    const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id];
    return JSON.stringify({ data, has_more: hasMore, first_id, last_id });
  });
}

export function getMessageBatch(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) => {
    const batch = await findBatch(endpoints, caller, 'messages', id);
    return JSON.stringify(await showMessageBatch(exchange, endpoints, batch));
  });
}

export function cancelMessageBatch(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) => {
    const batch = await cancelBatch(exchange, endpoints, await findBatch(endpoints, caller, 'messages', id));
    return JSON.stringify(await showMessageBatch(exchange, endpoints, batch));
  });
}

export function deleteMessageBatch(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async ({ store, files, ...rest }, caller) => {
    const batch = await findBatch({ store, files, ...rest }, caller, 'messages', id);
    if (batch.status !== 'ended')
      throw new TurnpikeError('conflict', 'The batch has not ended. Cancel it, and delete it when it has ended.');
    if (batch.outputFileId !== null) await files.delete({ id: batch.outputFileId });
    await store.removeBatch(batch.id);
    return JSON.stringify({ id: formatId('msgbatch', batch.id), type: 'message_batch_deleted' });
  });
}

export function getMessageBatchResults(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) => {
    const { outputFileId } = await findBatch(endpoints, caller, 'messages', id);
    const file = outputFileId === null ? null : await endpoints.files.findOwn(outputFileId);
    if (file === null)
      throw new TurnpikeError('object_not_found', 'The batch has no results yet, or they have expired.');
    const headers = {
      'content-type': 'application/x-jsonl',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    if (exchange.request.method === 'HEAD') return { status: 200, headers, body: '' };
    return { status: 200, headers, body: sendPieces(exchange, await endpoints.files.read(file)) };
  });
}

async function showMessageBatch(exchange: Exchange, { store }: BatchEndpoints, batch: Batch) {
  const { status, requests, createdAtMs, expiresAtMs, endedAtMs, cancelAtMs, outputFileId } = batch;
  const id = formatId('msgbatch', batch.id);
  const counts = await countsOf(store, batch);
  return {
    id,
    type: 'message_batch',
    processing_status: { running: 'in_progress', canceling: 'canceling', ended: 'ended' }[status],
    request_counts: { processing: requests - sumOf(counts), ...counts },
    ended_at: timeOf(endedAtMs),
    created_at: timeOf(createdAtMs),
    expires_at: timeOf(expiresAtMs),
    archived_at: null,
    cancel_initiated_at: timeOf(cancelAtMs),
    results_url: outputFileId === null ? null : `${baseOf(exchange)}/v1/messages/batches/${id}/results`,
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

// OpenAI's

export function postBatch(exchange: Exchange): Promise<EncodedReply> {
  requireJson(exchange.request.headers);
  return answer(exchange, async (endpoints, caller, context) => {
    using _slot = context.takeSlot();
    await context.takeRequest();
    const body = await readObject(exchange);
    const endpoint = body['endpoint'];
    if (typeof endpoint !== 'string' || !ENDPOINTS.includes(endpoint))
      throw wrong('endpoint', `Input should be one of ${ENDPOINTS.join(', ')}`);
    if (body['completion_window'] !== '24h') throw wrong('completion_window', "Input should be '24h'");
    const fileId = body['input_file_id'];
    if (typeof fileId !== 'string') throw wrong('input_file_id', 'Field required');
    const metadata = readMetadata(body['metadata'] ?? null);
    const { account, key } = caller;
    const reader = { accountId: account.id, keyId: key.id, nowMs: exchange.dependencies.clock.nowMs() };
    const input = await endpoints.files.find(fileId, reader);
    if (input.purpose !== 'batch') throw wrong('input_file_id', "the purpose of the file must be 'batch'");
    exchange.expect('slow-json');
    const owner = { accountId: account.id, companyId: topOf(caller), keyId: key.id };
    await endpoints.files.requireRoom(owner.companyId, 0, 0); // results are stored beyond the limits, but not again and again
    const made: NewBatch = { ...owner, form: 'openai', endpoint, headers: headersOf(exchange), metadata };
    const batch = await endpoints.make(made, input, (position) => `line ${position + 1}: `);
    endpoints.look();
    return JSON.stringify(await showBatch(endpoints, batch));
  });
}

export function listBatches(exchange: Exchange): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) => {
    const query = exchange.parameters();
    const limit = query.get('limit');
    const { batches, hasMore } = await listPage(endpoints, caller, 'openai', limit, query.get('after'), null);
    const data = await Promise.all(batches.map((batch) => showBatch(endpoints, batch)));
    const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id];
    return JSON.stringify({ object: 'list', data, first_id, last_id, has_more: hasMore });
  });
}

export function getBatch(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) =>
    JSON.stringify(await showBatch(endpoints, await findBatch(endpoints, caller, 'openai', id))),
  );
}

export function postCancelBatch(exchange: Exchange, id: string): Promise<EncodedReply> {
  return answer(exchange, async (endpoints, caller) => {
    const batch = await cancelBatch(exchange, endpoints, await findBatch(endpoints, caller, 'openai', id));
    return JSON.stringify(await showBatch(endpoints, batch));
  });
}

async function showBatch({ store }: BatchEndpoints, batch: Batch) {
  const { endpoint, inputFileId, outputFileId, errorFileId, requests, metadata } = batch;
  const counts = await countsOf(store, batch);
  const [created, ended] = [secondsOf(batch.createdAtMs), secondsOf(batch.endedAtMs)];
  const status = statusOf(batch);
  return {
    id: openAiIdOf(batch),
    object: 'batch',
    endpoint,
    errors: null,
    input_file_id: formatOpenAiFileId(inputFileId),
    completion_window: '24h',
    status,
    output_file_id: outputFileId === null ? null : formatOpenAiFileId(outputFileId),
    error_file_id: errorFileId === null ? null : formatOpenAiFileId(errorFileId),
    created_at: created,
    in_progress_at: created,
    expires_at: secondsOf(batch.expiresAtMs),
    finalizing_at: ended,
    completed_at: status === 'completed' ? ended : null,
    failed_at: null,
    expired_at: status === 'expired' ? ended : null,
    cancelling_at: secondsOf(batch.cancelAtMs),
    cancelled_at: status === 'cancelled' ? ended : null,
    request_counts: { total: requests, completed: counts.succeeded, failed: counts.errored + counts.expired },
    metadata,
  };
}

function statusOf({ status, cancelAtMs, counts }: Batch): string {
  if (status === 'running') return 'in_progress';
  if (status === 'canceling') return 'cancelling';
  if (cancelAtMs !== null) return 'cancelled';
  return counts.expired > 0 ? 'expired' : 'completed';
}

function secondsOf(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / SECOND_MS);
}

function openAiIdOf({ id }: Batch): string {
  return formatId('msgbatch', id).replace('msgbatch', 'batch');
}

async function readObject(exchange: Exchange): Promise<JsonObject> {
  const pieces: Uint8Array[] = [];
  await exchange.passBody(BATCH_BODY_BYTES_MAX, async (piece) => void pieces.push(piece.slice()));
  const body = parseJson(Buffer.concat(pieces).toString('utf8'));
  if (!isJsonObject(body)) throw new TurnpikeError('invalid_request', 'body: Input should be a valid dictionary');
  return body;
}

function readMetadata(given: JsonObject[string]): Record<string, string> | null {
  if (given === null) return null;
  if (!isJsonObject(given)) throw wrong('metadata', 'Input should be a valid dictionary');
  const entries = Object.entries(given);
  const { members, nameCharacters, valueCharacters } = METADATA_MAX;
  if (entries.length > members) throw wrong('metadata', `Dictionary should have at most ${members} items`);
  for (const [name, value] of entries) {
    if (name.length > nameCharacters) throw wrong('metadata', `Keys should have at most ${nameCharacters} characters`);
    if (typeof value !== 'string' || value.length > valueCharacters)
      throw wrong(`metadata.${name}`, `Input should be a string of at most ${valueCharacters} characters`);
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

// Shared

const LINE_END = Buffer.from('\n');

/** Headers that decide how the requests are read: of versions, features and tags. */
function headersOf(exchange: Exchange): Record<string, string> {
  const { headers, dependencies } = exchange;
  const prefixes = dependencies.settings().vendorPrefixes;
  const names = prefixes.flatMap((prefix) => ['version', 'beta', ...SELECTORS].map((name) => `${prefix}-${name}`));
  const found: Record<string, string> = {};
  for (const name of [...names, 'x-turnpike-tags']) {
    const value = headers.get(name);
    if (value !== null) found[name] = value;
  }
  return found;
}

async function answer(
  exchange: Exchange,
  work: (endpoints: BatchEndpoints, caller: Caller, context: Context) => Promise<string | EncodedReply>,
): Promise<EncodedReply> {
  const endpoints = exchange.dependencies.batches;
  if (endpoints === undefined) throw new TurnpikeError('route_not_found', 'Batches are not offered here.');
  return endpoints.answerCaller<EncodedReply['body']>(exchange.open(), (caller, _catalog, context) =>
    work(endpoints, caller, context),
  );
}

/** Throws object_not_found, also for batches of other keys and of the other form. */
async function findBatch({ store }: BatchEndpoints, { key }: Caller, form: BatchForm, id: string): Promise<Batch> {
  const number = parseId('msgbatch', form === 'openai' ? id.replace(/^batch_/, 'msgbatch_') : id);
  const batch = number === null ? null : await store.getBatch(number);
  if (batch === null || batch.keyId !== key.id || batch.form !== form)
    throw new TurnpikeError('object_not_found', 'No such batch.');
  return batch;
}

/** Requests that are in progress end as they would. A batch that is not running stays as it is. */
async function cancelBatch(exchange: Exchange, endpoints: BatchEndpoints, batch: Batch): Promise<Batch> {
  if (batch.status !== 'running') return batch;
  const canceling: Batch = { ...batch, status: 'canceling', cancelAtMs: exchange.dependencies.clock.nowMs() };
  try {
    await endpoints.store.cancelBatch(canceling);
  } catch (failure) {
    if (!(failure instanceof Outpaced)) throw failure;
    return (await endpoints.store.getBatch(batch.id)) ?? batch;
  }
  endpoints.look();
  return canceling;
}

async function listPage(
  endpoints: BatchEndpoints,
  caller: Caller,
  form: BatchForm,
  limitText: string | null,
  after: string | null,
  before: string | null,
): Promise<{ batches: Batch[]; hasMore: boolean }> {
  const limit = readLimit(limitText, PAGE[form]);
  const cursor = before ?? after;
  const place = cursor === null ? null : await findBatch(endpoints, caller, form, cursor).catch(() => null);
  if (cursor !== null && place === null) throw wrong(before === null ? PAGE[form].after : 'before_id', 'No such batch');
  const order = before === null ? 'desc' : 'asc';
  const page = await endpoints.store.listBatches({ keyId: caller.key.id, form, order, after: place, limit: limit + 1 });
  const shown = page.slice(0, limit);
  return { batches: before === null ? shown : shown.reverse(), hasMore: page.length > limit };
}

function readLimit(text: string | null, { most, usual }: { most: number; usual: number }): number {
  if (text === null) return usual;
  const limit = parseWholeNumber(text);
  if (limit === null || limit < 1 || limit > most)
    throw wrong('limit', `Input should be a whole number from 1 to ${most}`);
  return limit;
}

async function countsOf(store: BatchEndpoints['store'], { id, status, counts }: Batch): Promise<ItemCounts> {
  return status === 'ended' ? counts : (await store.sumResults(id)).counts;
}

function sumOf(counts: ItemCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

async function* sendPieces(exchange: Exchange, pieces: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  exchange.expect('stream');
  try {
    yield* pieces;
  } finally {
    exchange.expect('end');
  }
}

function wrong(path: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${path}: ${sentence}`);
}
