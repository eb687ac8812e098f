// Tries the targets of a model until one begins to answer. A further target is tried only while the client has
// received nothing, and never after a provider rejected the content.

import { hiddenFromAccounts, NOTHING_HIDDEN } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import { type EventSource, type FaultKind, ProviderFault, type WholeReply } from '../providers/providers.ts';
import { isJsonObject, type MessageRequest, type StreamEvent } from '../wire/wire.ts';
import type { DoneWork, WholeAnswer } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import { faultError } from './message-errors.ts';
import { type AnyReply, OpenAttempt } from './open-attempt.ts';
import type { OpenMessage } from './open-message.ts';
import { ByteRelay } from './relay-bytes.ts';
import type { Permit, Target } from './route-health.ts';
import { AttemptIterator, findTargets, listTargets, presentTarget } from './targets.ts';

/** The answer of the target that succeeded: the first events of a stream, or the whole message as text. */
export type Opened =
  | { form: 'stream'; first: StreamEvent[]; events: EventSource }
  | { form: 'message'; answer: WholeAnswer }
  | { form: 'bytes'; relay: ByteRelay };

/** Maximum number of events before the first content; real streams send far fewer. */
const OPENING_EVENTS_MAX = 64;

/**
 * Resolves to the first target that answers. Throws TurnpikeError for the last failure; no output was produced in
 * that case.
 */
export async function openRoute(gateway: Gateway, message: OpenMessage, request: MessageRequest): Promise<Opened> {
  const { catalog, offer, caller, isStream, clientRequest } = message.admitted;
  const done = clientRequest.item?.done ?? null;
  if (done !== null) return openDone(gateway, message, request, done);
  const query = { account: caller.account.id, key: caller.key.id, offer, request };
  const { targets, conversation } = findTargets(gateway, catalog, query);
  const attemptIterator = new AttemptIterator(targets, catalog.settings.attemptsSeconds);
  const isTimed = conversation !== null && offer.model.prefersLatency && isStream;
  let failure: TurnpikeError | null = null;
  const present: Target[] = [];
  for (let listed = attemptIterator.next(); listed !== null; listed = attemptIterator.next()) {
    const target = presentTarget(gateway.catalog(), message.admitted, listed);
    if (target === null) continue;
    present.push(target);
    const permit = gateway.health.enter(target, isTimed);
    if (permit === null) continue;
    attemptIterator.begin(target);
    const attempt = new OpenAttempt(gateway, message.admitted, target, permit, message.watch);
    try {
      const reply = await message.begin(attempt, request);
      const opened = await takeReply(message, attempt, request, reply);
      attempt.answered(request);
      conversation?.keep(target);
      message.noteAttempt(null);
      return opened;
    } catch (thrown) {
      const fault = attempt.faultOf(thrown, message.stopReason === 'timeout');
      attempt.failed(fault);
      message.noteAttempt(fault);
      // An earlier failure stays the answer if a later provider only does not support the request.
      if (!fault.isUnsupported || failure === null)
        failure = message.stopError ?? faultError(fault, hiddenFromAccounts(catalog));
      if (fault.kind === 'unusable') message.takeUnusable(fault);
      if (message.isOver) break; // partial output is billed as received
      message.rewind();
      if ((fault.kind === 'rejected' && !fault.isUnsupported) || message.isAbandoned) break;
      if (!isOfCredential(fault.kind)) attemptIterator.giveUp(target);
    }
  }
  throw failure ?? unavailableError(gateway, present);
}

/** The answer of a batch that a provider ran. Throws TurnpikeError for its failure, or if its route exists no more. */
async function openDone(
  gateway: Gateway,
  message: OpenMessage,
  request: MessageRequest,
  done: DoneWork,
): Promise<Opened> {
  const { catalog, offer, caller } = message.admitted;
  const target = findDone(listTargets(catalog, offer, caller.account.id), done);
  if (target === null) throw new TurnpikeError('upstream_failed', 'The route of this request has been removed.');
  const attempt = new OpenAttempt(gateway, message.admitted, target, NO_PERMIT, message.watch);
  try {
    const opened = await takeReply(message, attempt, request, await message.begin(attempt, request));
    attempt.answered(request);
    message.noteAttempt(null);
    return opened;
  } catch (thrown) {
    const fault = attempt.faultOf(thrown, message.stopReason === 'timeout');
    attempt.failed(fault);
    message.noteAttempt(fault);
    if (fault.kind === 'unusable') message.takeUnusable(fault);
    throw message.stopError ?? faultError(fault, hiddenFromAccounts(catalog));
  }
}

/** It takes no place at its target. */
const NO_PERMIT: Pick<Permit, 'answered' | 'failed' | 'finish'> = { answered() {}, failed() {}, finish() {} };

/** A credential that was replaced meanwhile makes no difference. */
function findDone(targets: readonly Target[], { provider, upstreamModel, credential }: DoneWork): Target | null {
  const there = targets.filter(({ route }) => route.provider === provider && route.upstreamModel === upstreamModel);
  return there.find((target) => target.credential?.name === credential) ?? there[0] ?? null;
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
    NOTHING_HIDDEN,
  );
}

const OF_CREDENTIAL: readonly FaultKind[] = ['credentials', 'not_found', 'rate_limited'];

/** Whether another credential of the same route may work: providers show a model only to some of their customers. */
export function isOfCredential(kind: FaultKind): boolean {
  return OF_CREDENTIAL.includes(kind);
}

function takeReply(
  message: OpenMessage,
  attempt: OpenAttempt,
  request: MessageRequest,
  reply: AnyReply,
): Promise<Opened> | Opened {
  switch (reply.form) {
    case 'message':
      return takeWhole(message, attempt, request, reply);
    case 'stream':
      return takeOpening(message, attempt, reply.events);
    case 'bytes':
      message.watch.end();
      attempt.beginBytes(request, reply);
      return { form: 'bytes', relay: new ByteRelay(message, attempt, reply) };
  }
}

async function takeWhole(
  message: OpenMessage,
  attempt: OpenAttempt,
  request: MessageRequest,
  reply: WholeReply,
): Promise<Opened> {
  message.watch.end();
  const answer = await attempt.takeMessage(request, reply);
  message.answer?.addMessage(answer.text);
  return { form: 'message', answer };
}

async function takeOpening(message: OpenMessage, attempt: OpenAttempt, events: EventSource): Promise<Opened> {
  const first = await readOpening(message, attempt, events);
  message.answer?.addEvents(first);
  attempt.noteFirstToken();
  return { form: 'stream', first, events };
}

/**
 * The events of a stream up to its first content: until then another target may still answer instead. Events are
 * counted as they arrive, because a model may think for minutes before its first output.
 */
async function readOpening(message: OpenMessage, attempt: OpenAttempt, events: EventSource): Promise<StreamEvent[]> {
  const opening: StreamEvent[] = [];
  for (;;) {
    const arrived = await events.next();
    message.watch.end();
    if (arrived === null) throw new ProviderFault('failed', 'the stream ended before its first content');
    if (opening.length === 0 && arrived[0]?.name !== 'message_start')
      throw new ProviderFault('failed', 'the stream did not begin with message_start');
    const isBegin = opening.length === 0;
    opening.push(...attempt.see(arrived).filter(({ name }) => name !== 'ping')); // a provider may send any number of pings
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
