// Tries the ways to a model until one begins to answer. The next one is tried only while the caller
// has seen nothing, and never after the content itself was refused.

import { assert } from '../base/assert.ts';
import type { ProviderSettings } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type Attempt,
  type EventSource,
  type FaultKind,
  type Provider,
  ProviderFault,
} from '../providers/providers.ts';
import { isJsonObject, type StreamEvent } from '../wire/wire.ts';
import type { Gateway } from './dependencies.ts';
import { faultError } from './fault-error.ts';
import type { OpenMessage } from './open-message.ts';
import { type Candidate, findWays, Tour } from './routes/routes.ts';
import { stopError } from './stop-error.ts';

/** A route that has begun to answer: the first events of a stream, or the whole message as text. */
export type Opened = { form: 'stream'; first: StreamEvent[]; events: EventSource } | { form: 'message'; text: string };

/** So many may come before the first content; none comes near. */
const OPENING_EVENTS_MAX = 64;

/** Resolves to the first route that answers. Throws TurnpikeError for the last failure; nothing was produced then. */
export async function openRoute(gateway: Gateway, message: OpenMessage): Promise<Opened> {
  const { offer, caller, request } = message;
  assert(request !== null, 'a request is kept until a route answers');
  const catalogue = gateway.catalogue();
  const asked = { account: caller.account.id, key: caller.key.id, offer, request };
  const { candidates, conversation } = findWays(gateway, catalogue, asked);
  const tour = new Tour(candidates, catalogue.settings.attemptsSeconds);
  let failure: TurnpikeError | null = null;
  for (let candidate = tour.next(); candidate !== null; candidate = tour.next()) {
    const passage = gateway.health.enter(candidate);
    if (passage === null) continue;
    tour.begin(candidate);
    message.passage = passage;
    message.route = candidate.route;
    const startedMs = performance.now();
    try {
      const opened = await tryCandidate(gateway, message, candidate);
      message.request = null; // no other route will be tried
      message.submission.times.answeredMs = performance.now();
      passage.answered(opened.form === 'message');
      conversation?.keep(candidate);
      noteAttempt(message, candidate, startedMs, null);
      return opened;
    } catch (thrown) {
      const fault = asFault(message, thrown);
      message.dropAttempt();
      passage.failed(fault.kind, fault.retryAfterMs);
      message.watch.endAttempt();
      message.upstreamRequestId = fault.upstreamRequestId ?? message.upstreamRequestId;
      noteAttempt(message, candidate, startedMs, fault);
      failure = stopError(message) ?? faultError(fault);
      if (isOver(message)) break; // what has begun is billed as it was received
      message.rewind();
      if (fault.kind === 'rejected' || isForNobody(message)) break;
      if (!isOfCredential(fault.kind)) tour.giveUp(candidate);
      if (message.stopReason === 'timeout') message.stopReason = null; // it ended this attempt, not the message
    }
  }
  throw failure ?? untriedError(gateway, candidates);
}

/** Why no route was tried at all. */
function untriedError({ health }: Gateway, candidates: readonly Candidate[]): TurnpikeError {
  if (candidates.length === 0)
    return new TurnpikeError('upstream_failed', 'No provider of this model is configured at the moment.');
  const resting = candidates.filter((candidate) => health.standing(candidate) === 'resting');
  if (resting.length === 0)
    return new TurnpikeError('upstream_overloaded', 'The routes of this model carry as many messages as they may.');
  // Whoever asked was told so, and those who may not ask are told the same.
  const isOverload = resting.every((candidate) => health.lastFault(candidate) === 'overloaded');
  const retryAfterMs = Math.min(...resting.map((candidate) => health.waitMs(candidate)));
  return faultError(new ProviderFault(isOverload ? 'overloaded' : 'rate_limited', 'it rests', { retryAfterMs }));
}

/** Whether it is a fault of the credential: another one may be served by the same route. */
export function isOfCredential(kind: FaultKind): boolean {
  return kind === 'credentials' || kind === 'rate_limited';
}

/** The provider of a kind. Throws when the catalogue names a kind that this version does not have. */
export function providerOfKind(gateway: Gateway, settings: ProviderSettings): Provider {
  const provider = gateway.providers.get(settings.kind);
  if (provider === undefined)
    throw new TurnpikeError('internal', `The provider ${settings.name} is of a kind that this version does not know.`);
  return provider;
}

/** What a provider is sent of a submission. */
export function makeAttempt(
  message: Pick<OpenMessage, 'request' | 'submission' | 'maxTokens'>,
  { route, settings, credential }: Pick<Candidate, 'route' | 'settings' | 'credential'>,
  begun: Pick<Attempt, 'signal' | 'trace'>,
): Attempt {
  const { request, submission, maxTokens } = message;
  assert(request !== null, 'a request is kept until a route answers');
  return {
    provider: {
      name: settings.name,
      kind: settings.kind,
      baseUrl: settings.baseUrl,
      credential: credential?.secret ?? null,
    },
    request,
    upstreamModel: route.upstreamModel,
    maxTokens,
    version: submission.version,
    betas: submission.betas,
    requestId: submission.requestId,
    ...begun,
  };
}

async function tryCandidate(gateway: Gateway, message: OpenMessage, candidate: Candidate): Promise<Opened> {
  const { settings } = candidate;
  const provider = providerOfKind(gateway, settings);
  const attempt = makeAttempt(message, candidate, message.beginAttempt(candidate));
  message.watch.beginAttempt();
  const reply = await provider.submit(attempt);
  message.upstreamRequestId = reply.upstreamRequestId;
  if ((reply.form === 'stream') !== message.isStream)
    throw new ProviderFault('failed', 'the provider answered in a form that was not asked for');
  if (reply.form === 'message') {
    message.watch.end();
    return { form: 'message', text: message.takeMessage(reply.message, reply.text) };
  }
  const first = await readOpening(message, reply.events);
  message.answer?.keepEvents(first);
  message.firstTokenMs = Math.max(0, gateway.clock.nowMs() - message.submission.receivedAtMs);
  return { form: 'stream', first, events: reply.events };
}

/**
 * The events of a stream up to its first content, as the caller gets them: until then another route may still answer
 * instead. They are counted as they come, since a model may think for minutes before it says a word.
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
    opening.push(...message.see(arrived));
    if (isBegin) message.beginStream();
    if (arrived.some(isContent) || opening.length >= OPENING_EVENTS_MAX) return opening;
    message.watch.begin();
  }
}

/** Whether a caller who has it has a part of the answer; a block of text or thinking begins empty. */
function isContent({ name, value }: StreamEvent): boolean {
  if (name !== 'content_block_start') return name !== 'message_start';
  const block = value['content_block'];
  const type = isJsonObject(block) ? block['type'] : null;
  return type !== 'text' && type !== 'thinking';
}

/** A fault as it is; a time limit of ours as a timeout; anything else as a failed provider, with its cause. */
function asFault(message: OpenMessage, thrown: unknown): ProviderFault {
  if (message.stopReason === 'timeout') return new ProviderFault('timeout', message.lateWords, { cause: thrown });
  if (thrown instanceof ProviderFault) return thrown;
  return new ProviderFault('failed', 'the provider failed in an unforeseen way', { cause: thrown });
}

/** Nothing is begun anew for a caller who left, unless he may ask for it once more. */
function isForNobody({ callerHasLeft, answer }: OpenMessage): boolean {
  return callerHasLeft && answer === null;
}

function isOver(message: OpenMessage): boolean {
  return message.stopReason !== null && message.stopReason !== 'timeout';
}

function noteAttempt(
  message: OpenMessage,
  { route, credential }: Candidate,
  startedMs: number,
  fault: ProviderFault | null,
): void {
  const lastedMs = performance.now() - startedMs;
  const result = fault?.kind ?? 'answered';
  const status = fault === null ? 200 : fault.status;
  message.submission.times.upstreamMs += lastedMs;
  message.endTraceOfAttempt(result, status);
  const { startedMs: receivedMs } = message.submission.times;
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
