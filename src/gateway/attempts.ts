// Tries the targets of a model until one begins to answer. A further target is tried only while the client has
// received nothing, and never after a provider rejected the content.

import { assert } from '../base/assert.ts';
import type { TraceContext } from '../base/trace-context.ts';
import type { ProviderSettings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type Attempt,
  type EventSource,
  type FaultKind,
  type Provider,
  ProviderFault,
  type ProviderReply,
  type WholeReply,
} from '../providers/providers.ts';
import { isJsonObject, type StreamEvent } from '../wire/wire.ts';
import type { WholeAnswer } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import { sortExtraFields } from './extra-fields.ts';
import { faultError, stopError } from './message-errors.ts';
import { OpenAttempt } from './open-attempt.ts';
import type { OpenMessage } from './open-message.ts';
import type { Target } from './route-health.ts';
import { AttemptIterator, findTargets } from './targets.ts';

/** The answer of the target that succeeded: the first events of a stream, or the whole message as text. */
export type Opened =
  | { form: 'stream'; first: StreamEvent[]; events: EventSource }
  | { form: 'message'; answer: WholeAnswer };

/** Maximum number of events before the first content; real streams send far fewer. */
const OPENING_EVENTS_MAX = 64;

/**
 * Resolves to the first target that answers. Throws TurnpikeError for the last failure; no output was produced in
 * that case.
 */
export async function openRoute(gateway: Gateway, message: OpenMessage): Promise<Opened> {
  const { catalog, offer, caller, request } = message;
  assert(request !== null, 'the request is kept until a route answers');
  const admissionRequest = { account: caller.account.id, key: caller.key.id, offer, request };
  const { targets, conversation } = findTargets(gateway, catalog, admissionRequest);
  const attemptIterator = new AttemptIterator(targets, catalog.settings.attemptsSeconds);
  const isTimed = conversation !== null && offer.model.prefersLatency && message.isStream;
  let failure: TurnpikeError | null = null;
  for (let target = attemptIterator.next(); target !== null; target = attemptIterator.next()) {
    const permit = gateway.health.enter(target, isTimed);
    if (permit === null) continue;
    attemptIterator.begin(target);
    const attempt = new OpenAttempt(target, permit);
    message.attempt = attempt;
    try {
      const reply = await send(gateway, message, attempt);
      attempt.upstreamRequestId = reply.upstreamRequestId;
      if ((reply.form === 'stream') !== message.isStream)
        throw new ProviderFault('failed', 'the provider answered in a form that was not requested');
      const opened: Opened =
        reply.form === 'message' ? await takeWhole(message, reply) : await takeOpening(gateway, message, reply.events);
      message.onAnswered();
      message.clientRequest.times.answeredMs = performance.now();
      permit.answered(opened.form === 'message');
      conversation?.keep(target);
      noteAttempt(message, attempt, null);
      return opened;
    } catch (thrown) {
      const fault = asFault(message, attempt, thrown);
      attempt.abort();
      permit.failed(fault.kind, fault.retryAfterMs);
      message.watch.endAttempt();
      attempt.upstreamRequestId = fault.upstreamRequestId ?? attempt.upstreamRequestId;
      noteAttempt(message, attempt, fault);
      // An earlier failure stays the answer if a later provider only does not support the request.
      if (!fault.isUnsupported || failure === null) failure = stopError(message) ?? faultError(fault);
      if (fault.kind === 'unusable') message.takeUnusable(fault);
      if (isOver(message) || message.isUnusable) break; // partial output is billed as received
      message.rewind();
      if ((fault.kind === 'rejected' && !fault.isUnsupported) || isAbandoned(message)) break;
      if (!isOfCredential(fault.kind)) attemptIterator.giveUp(target);
      if (message.stopReason === 'timeout') message.stopReason = null; // the timeout ended this attempt, not the message
    }
  }
  throw failure ?? unavailableError(gateway, targets);
}

/** The error if no target was tried at all. */
function unavailableError({ health }: Gateway, targets: readonly Target[]): TurnpikeError {
  if (targets.length === 0) return new TurnpikeError('upstream_failed', 'No provider is configured for this model.');
  const resting = targets.filter((target) => health.breakerState(target) === 'resting');
  if (resting.length === 0)
    return new TurnpikeError('upstream_overloaded', 'All routes of this model are at their concurrency limits.');
  // Targets in cooldown may not be asked: clients get the error of the last failure.
  const isOverload = resting.every((target) => health.lastFault(target) === 'overloaded');
  const retryAfterMs = Math.min(...resting.map((target) => health.waitMs(target)));
  return faultError(
    new ProviderFault(isOverload ? 'overloaded' : 'rate_limited', 'the route is in a cooldown', { retryAfterMs }),
  );
}

const OF_CREDENTIAL: readonly FaultKind[] = ['credentials', 'not_found', 'rate_limited'];

/** Whether another credential of the same route may work: providers show a model only to some of their customers. */
export function isOfCredential(kind: FaultKind): boolean {
  return OF_CREDENTIAL.includes(kind);
}

/** The provider for a kind. Throws if the catalog names a kind that this version does not have. */
export function providerOfKind(gateway: Gateway, settings: ProviderSettings): Provider {
  const provider = gateway.providers.get(settings.kind);
  if (provider === undefined)
    throw new TurnpikeError('internal', `The provider ${settings.name} has a kind that this version does not support.`);
  return provider;
}

/** The request for a provider. */
export function makeAttempt(
  message: Pick<OpenMessage, 'request' | 'clientRequest' | 'maxTokens'>,
  { route, endpoint, credential }: Pick<Target, 'route' | 'endpoint' | 'credential'>,
  signal: AbortSignal,
  trace: TraceContext | null,
): Attempt {
  const { request, clientRequest, maxTokens } = message;
  assert(request !== null, 'the request is kept until a route answers');
  return {
    provider: endpoint,
    request,
    upstreamModel: route.upstreamModel,
    protocol: route.protocol,
    maxTokens,
    version: clientRequest.version,
    betas: clientRequest.betas,
    selectors: clientRequest.selectors,
    isOwnAccount: credential !== null && credential.account !== null,
    requestId: clientRequest.requestId,
    signal,
    trace,
  };
}

function send(gateway: Gateway, message: OpenMessage, { target, signal }: OpenAttempt): Promise<ProviderReply> {
  const provider = providerOfKind(gateway, target.settings);
  const trace = message.trace?.beginAttempt(target) ?? message.clientRequest.trace;
  const attempt = makeAttempt(message, target, signal, trace);
  const { passed, leftOut } = sortExtraFields(attempt, target.settings, provider);
  message.leftOut = leftOut;
  attempt.extra = passed;
  message.watch.beginAttempt();
  if (attempt.request.protocol !== 'embeddings') return provider.submit(attempt);
  if (provider.embed !== undefined) return provider.embed(attempt);
  throw new ProviderFault('rejected', 'model: the provider of this model has no embeddings', { status: 400 });
}

async function takeWhole(message: OpenMessage, reply: WholeReply): Promise<Opened> {
  message.watch.end();
  return { form: 'message', answer: await message.takeMessage(reply) };
}

async function takeOpening(gateway: Gateway, message: OpenMessage, events: EventSource): Promise<Opened> {
  const first = await readOpening(message, events);
  message.answer?.addEvents(first);
  message.firstTokenMs = Math.max(0, gateway.clock.nowMs() - message.clientRequest.receivedAtMs);
  return { form: 'stream', first, events };
}

/**
 * The events of a stream up to its first content: until then another target may still answer instead. Events are
 * counted as they arrive, because a model may think for minutes before its first output.
 */
async function readOpening(message: OpenMessage, events: EventSource): Promise<StreamEvent[]> {
  const opening: StreamEvent[] = [];
  for (;;) {
    const arrived = await events.next();
    message.watch.end();
    if (arrived === null) throw new ProviderFault('failed', 'the stream ended before its first content');
    if (opening.length === 0 && arrived[0]?.name !== 'message_start')
      throw new ProviderFault('failed', 'the stream did not begin with message_start');
    const isBegin = opening.length === 0;
    opening.push(...message.see(arrived).filter(({ name }) => name !== 'ping')); // of which there may be any number
    if (isBegin) message.beginStream();
    if (arrived.some(isContent) || opening.length >= OPENING_EVENTS_MAX) return opening;
    message.watch.begin();
  }
}

/** Whether a client that received the event has part of the answer. Text and thinking blocks start empty. */
function isContent({ name, value }: StreamEvent): boolean {
  if (name !== 'content_block_start') return name !== 'message_start' && name !== 'ping';
  const block = value['content_block'];
  const type = isJsonObject(block) ? block['type'] : null;
  return type !== 'text' && type !== 'thinking';
}

/**
 * A provider fault as it is, an expired time limit as a timeout, anything else as a failed provider with its cause.
 */
function asFault(message: OpenMessage, { lateWords }: OpenAttempt, thrown: unknown): ProviderFault {
  if (message.stopReason === 'timeout') return new ProviderFault('timeout', lateWords, { cause: thrown });
  if (thrown instanceof ProviderFault) return thrown;
  return new ProviderFault('failed', 'the provider failed unexpectedly', { cause: thrown });
}

/** No new attempt for a client that disconnected, unless it may retry with its idempotency key. */
function isAbandoned({ hasDisconnected, answer }: OpenMessage): boolean {
  return hasDisconnected && answer === null;
}

function isOver(message: OpenMessage): boolean {
  return message.stopReason !== null && message.stopReason !== 'timeout';
}

function noteAttempt(message: OpenMessage, { target, startedMs }: OpenAttempt, fault: ProviderFault | null): void {
  const { route, credential } = target;
  const lastedMs = performance.now() - startedMs;
  const result = fault?.kind ?? 'answered';
  const status = fault === null ? 200 : fault.status;
  message.clientRequest.times.upstreamMs += lastedMs;
  message.trace?.endAttempt(result, status);
  const { startedMs: receivedMs } = message.clientRequest.times;
  message.attempts.push({
    provider: route.provider,
    model: route.upstreamModel,
    credential: credential?.name ?? null,
    result,
    status,
    reason: fault?.message.slice(0, bounds.attemptReasonCharactersMax) ?? null,
    startedMs: Math.round(startedMs - receivedMs),
    ms: Math.round(lastedMs),
  });
}
