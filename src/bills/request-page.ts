// Requests to the billing APIs of vendors: bounded in time, bytes and tries. The admin key is sent to the checked address
// only, and appears in no error.

import { setTimeout as wait } from 'node:timers/promises';
import { parseWholeNumber } from '../base/checked-number.ts';
import { findPrivateAddress } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { fetchUpstream, ProviderFault, readUpstream } from '../providers/providers.ts';
import type { Secret } from '../secrets/secrets.ts';
import { isJsonObject, type JsonObject } from '../wire/wire.ts';
import type { BillSource } from './bill-source.ts';

export interface BillingApi {
  source: Pick<BillSource, 'baseUrl' | 'isPrivate'>;
  credential: Secret;
  lookup(hostname: string): Promise<readonly string[]>;
  nowMs(): number;
  signal: AbortSignal;
}

export interface PageRequest {
  url: string;
  headers: Record<string, string>;
  /** null sends a GET. */
  body: string | null;
}

/** An answer that is not what the vendor documents, or none. The message is for operators. */
export function failedBill(message: string, cause?: unknown): TurnpikeError {
  return new TurnpikeError('bill_unavailable', `The provider's bill could not be read: ${message}.`, { cause });
}

/** Where the API is. Rejects with bill_unavailable if that is in a private network and must not be. */
export async function addressOf({ source, lookup }: BillingApi, usual: string): Promise<string> {
  const url = (source.baseUrl ?? usual).replace(/\/+$/, '');
  const address = source.isPrivate ? null : await findPrivateAddress(url, lookup);
  if (address === null) return url;
  throw failedBill(`its address resolves to ${address} in a private network; private_network would allow it`);
}

/**
 * One page, with the texts of its numbers in `numbers`: amounts must not become floats. Tries again after 429, 5xx and broken
 * connections. Rejects with bill_unavailable.
 */
export async function requestPage(api: BillingApi, make: () => Promise<PageRequest>): Promise<JsonObject> {
  for (let tries = 1; ; tries++) {
    const answer = await requestOnce(api, await make());
    if ('page' in answer) return answer.page;
    if (!answer.mayRetry || tries >= bounds.billTriesMax || api.signal.aborted) throw failedBill(answer.message);
    const pauseMs = answer.afterMs ?? bounds.billRetryMs * 2 ** (tries - 1);
    await wait(Math.min(pauseMs, bounds.billRetryMsMax), undefined, { signal: api.signal }).catch(() => {});
  }
}

type Answer = { page: JsonObject } | { message: string; mayRetry: boolean; afterMs: number | null };

async function requestOnce(api: BillingApi, request: PageRequest): Promise<Answer> {
  const signal = AbortSignal.any([api.signal, AbortSignal.timeout(bounds.billAnswerMsMax)]);
  const failed = (message: string, mayRetry: boolean, afterMs: number | null = null) => ({
    message,
    mayRetry,
    afterMs,
  });
  try {
    const response = await fetchUpstream({ ...request, signal });
    const text = await readUpstream(response, bounds.billAnswerBytesMax);
    if (text === null) return failed(`an answer has more than ${bounds.billAnswerBytesMax} bytes`, false);
    if (response.ok) return { page: parsePage(text) };
    const { status, headers } = response;
    const seconds = parseWholeNumber(headers.get('retry-after') ?? '');
    const why = status === 401 || status === 403 ? ': the credential must be one that may read costs' : '';
    return failed(`the vendor answered ${status}${why}`, status === 429 || status >= 500, seconds && seconds * 1_000);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) throw thrown;
    if (signal.aborted) return failed('the vendor did not answer in time', !api.signal.aborted);
    if (thrown instanceof ProviderFault) return failed(thrown.message, thrown.kind !== 'credentials');
    return failed('the connection broke', true);
  }
}

/** Numbers become their own texts. Throws bill_unavailable. */
function parsePage(text: string): JsonObject {
  const keepText = (_name: string, value: unknown, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined ? source : value;
  let value: unknown;
  try {
    value = (JSON.parse as (text: string, reviver: typeof keepText) => unknown)(text, keepText);
  } catch {
    throw failedBill('an answer is not JSON');
  }
  if (!isJsonObject(value as JsonObject)) throw failedBill('an answer is not an object');
  return value as JsonObject;
}

/** All pages of a list. `next` is null at the end. Rejects with bill_unavailable beyond a bound, and for a repeated cursor. */
export async function* eachPage(
  read: (cursor: string | null) => Promise<{ page: JsonObject; next: string | null }>,
): AsyncGenerator<JsonObject> {
  const seen = new Set<string>();
  for (let cursor: string | null = null; ; ) {
    const { page, next } = await read(cursor);
    yield page;
    if (next === null) return;
    if (seen.has(next)) throw failedBill('a list repeats a page');
    if (seen.add(next).size >= bounds.billPagesMax)
      throw failedBill(`a list has more than ${bounds.billPagesMax} pages`);
    cursor = next;
  }
}

/** The text of a member that may be a text or a number; '' for another value. */
export function plainText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The objects of a list. Throws bill_unavailable for another value. */
export function objectsOf(value: unknown, name: string): JsonObject[] {
  if (!Array.isArray(value) || !value.every((one) => isJsonObject(one)))
    throw failedBill(`the member ${name} of an answer is not a list of objects`);
  return value as JsonObject[];
}

/** The cursor of a page by `has_more` and `next_page`, as Anthropic and OpenAI write them. */
export function nextPageOf({ has_more: hasMore, next_page: next }: JsonObject): string | null {
  if (hasMore !== true) return null;
  if (typeof next === 'string' && next !== '') return next;
  throw failedBill('an answer has more pages, but does not name the next one');
}
