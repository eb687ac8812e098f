// The path of one message, from request to reply. Start with `submitMessage`: its steps stand in order, with the step
// numbers of docs/request-path.md.

import { authenticate, type Caller, groupsOf } from '../accounts/accounts.ts';
import {
  type CallerScope,
  type Catalog,
  checkFeatures,
  type Offer,
  resolveModel,
  withOwnCredentials,
} from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import type { Levels } from '../ledger/ledger.ts';
import { type MessageRequest, parseInTurns, readFeatures } from '../wire/wire.ts';
import { type AdmissionRequest, admitMessage, refuseMessage } from './admit-message.ts';
import { type Opened, openRoute } from './attempts.ts';
import type { ClientRequest, Reply } from './client-request.ts';
import { countPrompt } from './count-tokens.ts';
import type { Gateway } from './dependencies.ts';
import { describeKey } from './describe-key.ts';
import { describeUsage } from './describe-usage.ts';
import { checkIdempotency, replayResponse } from './idempotency.ts';
import { rateHeaders } from './last-levels.ts';
import { describeModels, describeOneModel } from './models.ts';
import { OpenMessage } from './open-message.ts';
import type { PlanTerms } from './plan-message.ts';
import { idempotencyError, isIdempotencyRefusal, refusalError } from './refusal-error.ts';
import { leaveMessage, relay } from './relay.ts';
import { type HeldMessage, releaseHold } from './release-hold.ts';
import type { Slot } from './slots.ts';

export { AdmissionQueue } from './admission-queue.ts';
export type { ClientRequest, MessageReport, Reply } from './client-request.ts';
export { type MessageTimes, startTimes } from './client-request.ts';
export type { Gateway, StreamWaits } from './dependencies.ts';
export { IdempotencyRecords } from './idempotency-records.ts';
export { LastLevels } from './last-levels.ts';
export type { MessageTrace, TracedRoute, TraceStart } from './message-trace.ts';
export { PromptCounts } from './prompt-counts.ts';
export { Conversations, listHealth, RouteHealth, type TargetHealth } from './routes/routes.ts';
export { type CutReason, type Running, RunningMessages } from './running-messages.ts';
export { type SelfServiceReader, SelfServiceReads } from './self-service-reads.ts';
export { SilenceWatches } from './silence-watch.ts';
export { Slots } from './slots.ts';
export { StreamHolds } from './stream-hold.ts';

/** After a slower body the caller is identified again: the key may have been revoked or rotated meanwhile. */
const SLOW_BODY_MS = 100;

/**
 * Handles one message. Resolves to the reply, whose body may be a stream. Rejects with TurnpikeError for every error before
 * the first byte, and throws it if the key is known to be wrong.
 */
export function submitMessage(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  const caller = identify(gateway, clientRequest); // 3
  if (!(caller instanceof Promise)) return submitAs(gateway, clientRequest, caller);
  return caller.then((found) => submitAs(gateway, clientRequest, found));
}

async function submitAs(gateway: Gateway, clientRequest: ClientRequest, identified: Caller): Promise<Reply> {
  const catalog = gateway.catalog();
  let caller = identified;
  clientRequest.caller = caller;
  let headers: Record<string, string> | null = null;
  let slot: Slot | null = null;
  let held: AdmissionRequest | null = null;
  let message: OpenMessage | null = null;
  try {
    requireBrowserHeader(catalog, clientRequest); // 3
    slot = gateway.slots.take(caller.account.id); // 3
    const body = await clientRequest.readBody(catalog.settings.bodyBytesMax, caller.account.id); // 4
    if (clientRequest.times.bodyMs > SLOW_BODY_MS) caller = await identify(gateway, clientRequest); // 3 again, with the current state
    const request = await parseInTurns(body, clientRequest.protocol); // 5
    const claim = checkIdempotency(clientRequest.idempotencyKey, request.text); // 5, before 8
    const { offer, terms } = resolveOffer(gateway, catalog, caller, request, clientRequest.betas); // 6
    const admissionRequest = { clientRequest, caller, request, offer, terms, claim };
    const { plan, admission } = await admitMessage(gateway, admissionRequest); // 8
    if (isIdempotencyRefusal(admission)) {
      const lastKnown = headersLastKnown(gateway, catalog, caller, clientRequest);
      const reply = await replayResponse(gateway, admissionRequest, admission, lastKnown); // 7
      slot.giveBack();
      return reply;
    }
    if (admission.ok) held = admissionRequest;
    headers = rememberLevels(gateway, catalog, caller, clientRequest, admission.levels);
    if (!admission.ok) throw refuseMessage(gateway, admissionRequest, plan, admission, headers);
    message = new OpenMessage(gateway, admissionRequest, plan, admission, slot); // the message owns hold and slot now
    gateway.running.add(message);
    clientRequest.isAdmitted = true;
    message.beginTrace();
    const opening = openMessage(gateway, message); // 9
    return request.stream
      ? await replyWithStream(gateway, message, opening, headers) // 10, 11
      : await replyWithMessage(message, opening, headers); // 11
  } catch (thrown) {
    const error = asTurnpikeError(thrown);
    if (message !== null) await message.fail(error);
    else if (held !== null) await releaseHold(gateway, heldMessage(held)).catch(() => {}); // creating the message failed
    slot?.giveBack();
    throw withHeaders(error, headers ?? headersLastKnown(gateway, catalog, caller, clientRequest));
  }
}

function heldMessage({ clientRequest, caller, request, offer }: AdmissionRequest): HeldMessage {
  return { requestId: clientRequest.requestId, isStream: request.stream, caller, offer };
}

/** The rate headers of an admission or refusal, whose levels are remembered for other answers of the key. */
function rememberLevels(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  clientRequest: ClientRequest,
  levels: Levels | null,
): Record<string, string> {
  if (levels === null) return headersLastKnown(gateway, catalog, caller, clientRequest);
  gateway.levels.remember(caller, catalog, levels);
  return rateHeaders(levels, clientRequest.vendorPrefix);
}

/** Counts the tokens of a prompt. Takes one request of the rate limit; free of charge. */
export function countTokens(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, async (caller, catalog) => {
    using _seat = gateway.slots.take(caller.account.id);
    const request = await parseInTurns(await clientRequest.readBody(catalog.settings.bodyBytesMax, caller.account.id));
    const { storedObject } = readFeatures(request, clientRequest.betas);
    const sold = resolveModel(catalog, scopeOf(caller), request.model);
    const offer = requireOwn(catalog, sold, caller, storedObject);
    const { name: group, limits } = offer.group;
    const { account, key } = caller;
    const admission = await gateway.ledger.admit({ kind: 'take', account: account.id, key: key.id, group, limits });
    if (isIdempotencyRefusal(admission)) throw idempotencyError(admission);
    gateway.levels.remember(caller, catalog, admission.levels);
    const context = { nowMs: gateway.clock.nowMs(), amount: 0, isLeast: false, headers: {}, maxTokensThatFit: null };
    if (!admission.ok) throw refusalError(admission, context);
    return countPrompt(gateway, { clientRequest, caller, request, offer });
  });
}

/** The models that the caller may use: the requested page. */
export function listModels(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, (caller, catalog) =>
    describeModels(catalog, scopeOf(caller), clientRequest.query),
  );
}

/** One model by name or alias. Throws model_not_found with status 404. */
export function getModel(gateway: Gateway, clientRequest: ClientRequest, id: string): Promise<Reply> {
  return answerCaller(gateway, clientRequest, (caller, catalog) => describeOneModel(catalog, scopeOf(caller), id));
}

/** The key's limits, remaining amounts and reset times. */
export function getKey(gateway: Gateway, clientRequest: ClientRequest): Promise<Reply> {
  return answerCaller(gateway, clientRequest, (caller, catalog) => describeKey(gateway, caller, catalog));
}

/** Cost and usage of one message of the caller's key; status 202 while it is in progress. Throws object_not_found. */
export function getUsage(gateway: Gateway, clientRequest: ClientRequest, requestId: string): Promise<Reply> {
  return answerCaller(gateway, clientRequest, (caller) => describeUsage(gateway, caller, requestId));
}

/** JSON with status 200, or with another status. */
type ReplyBody = string | Pick<Reply, 'status' | 'body'>;

/** Answers a request that is not a message: the JSON of `answer`, or its error, with the last known rate headers. */
async function answerCaller(
  gateway: Gateway,
  clientRequest: ClientRequest,
  answer: (caller: Caller, catalog: Catalog) => ReplyBody | Promise<ReplyBody>,
): Promise<Reply> {
  const catalog = gateway.catalog();
  const caller = await identify(gateway, clientRequest);
  clientRequest.caller = caller;
  try {
    const answered = await answer(caller, catalog);
    const { status, body } = typeof answered === 'string' ? { status: 200, body: answered } : answered;
    return { status, headers: headersLastKnown(gateway, catalog, caller, clientRequest), body };
  } catch (thrown) {
    throw withHeaders(asTurnpikeError(thrown), headersLastKnown(gateway, catalog, caller, clientRequest));
  }
}

function identify(gateway: Gateway, clientRequest: ClientRequest): Caller | Promise<Caller> {
  return authenticate(clientRequest.secret, clientRequest, gateway.clock.nowMs(), gateway.authenticator);
}

/** Required for messages only: lookups are free of charge. */
function requireBrowserHeader({ settings }: Catalog, clientRequest: ClientRequest): void {
  const { origin, browserDeclared, vendorPrefix } = clientRequest;
  if (!settings.requireBrowserHeader || origin === null || browserDeclared) return;
  throw new TurnpikeError(
    'browser_access_not_declared',
    `CORS requests must set '${vendorPrefix}-dangerous-direct-browser-access' header`,
  );
}

/**
 * An object stored at a provider may belong to another account. Unless the account has its own credential there, such
 * requests are refused; otherwise only its own routes are offered. Throws feature_unavailable. `path` names the
 * field; null: no such field.
 */
function requireOwn(catalog: Catalog, offer: Offer, caller: Caller, path: string | null): Offer {
  if (path === null) return offer;
  const own = withOwnCredentials(catalog, offer, caller.account.id);
  if (own !== null) return own;
  throw new TurnpikeError(
    'feature_unavailable',
    `${path}: objects stored at a provider cannot be used with this service`,
  );
}

function scopeOf(caller: Caller): CallerScope {
  return { account: caller.account.id, keyModels: caller.key.models, groups: groupsOf(caller) };
}

/** The offer, and the inputs of its plan other than the request. */
function resolveOffer(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  request: MessageRequest,
  betas: string | null,
): { offer: Offer; terms: PlanTerms } {
  const sold = resolveModel(catalog, scopeOf(caller), request.model);
  const features = readFeatures(request, betas);
  const offer = requireOwn(catalog, sold, caller, features.storedObject);
  checkFeatures(offer, features);
  const providerOf = (name: string) => {
    const kind = catalog.providers.get(name)?.kind ?? '';
    const provider = gateway.providers.get(kind);
    if (provider === undefined)
      throw new TurnpikeError('internal', 'A provider of this model has a kind that this version does not support.');
    return provider;
  };
  const { settings } = catalog;
  return { offer, terms: { features, settings, providerOf } };
}

/** Begins to open a target, and watches for the client's disconnect from now on. */
function openMessage(gateway: Gateway, message: OpenMessage): Promise<Opened> {
  const { signal } = message.clientRequest;
  if (signal.aborted) {
    message.hasDisconnected = true;
    throw new TurnpikeError('internal', 'The client disconnected before the message was sent to the provider.');
  }
  const opening = openRoute(gateway, message);
  opening.catch(() => {}); // the relay handles the error; this prevents an unhandled rejection before it does
  signal.addEventListener('abort', () => leaveMessage(message, opening));
  return opening;
}

/** The provider's JSON, sent after the message is billed. */
async function replyWithMessage(
  message: OpenMessage,
  opening: Promise<Opened>,
  headers: Record<string, string>,
): Promise<Reply> {
  const opened = await opening;
  if (opened.form === 'stream')
    throw new TurnpikeError('upstream_failed', 'The provider of this model returned a stream, but none was requested.');
  const settlement = await message.complete();
  if (!settlement.ok)
    throw new TurnpikeError('internal', 'Another node ended this message because it considered it abandoned.');
  return { status: 200, headers, body: opened.text };
}

/**
 * The stream. Its status 200 waits for the first upstream event, or for the longest time that a client may wait
 * without a byte.
 */
async function replyWithStream(
  { waits = bounds }: Gateway,
  message: OpenMessage,
  opening: Promise<Opened>,
  headers: Record<string, string>,
): Promise<Reply> {
  message.clientRequest.expect('stream');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waits.firstEventWaitMs);
  });
  try {
    await Promise.race([opening, waited]);
  } finally {
    clearTimeout(timer);
  }
  return { status: 200, headers, body: relay(message, opening, waits.pingIntervalMs), requestInUse: opening };
}

/** The rate headers of an answer that takes nothing from the meters. */
function headersLastKnown(
  gateway: Gateway,
  catalog: Catalog,
  caller: Caller,
  clientRequest: ClientRequest,
): Record<string, string> {
  return rateHeaders(gateway.levels.find(caller, catalog, gateway.clock.nowMs()), clientRequest.vendorPrefix);
}

/** The error with additional headers; the same object if it already has them all. */
function withHeaders(error: TurnpikeError, headers: Record<string, string>): TurnpikeError {
  if (error.details.headers === headers || Object.keys(headers).length === 0) return error;
  return new TurnpikeError(error.code, error.message, {
    ...error.details,
    headers: { ...headers, ...error.details.headers },
  });
}
