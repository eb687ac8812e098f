// Tries the routes of an offer until one begins to answer. The next route is tried only while the
// caller has seen nothing, and never after the content itself was refused.

import { assert } from '../base/assert.ts';
import { orderRoutes, type ProviderSettings, type Route } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type Attempt,
  type EventSource,
  type Provider,
  type ProviderEndpoint,
  ProviderFault,
} from '../providers/providers.ts';
import type { StreamEvent } from '../wire/wire.ts';
import type { Gateway } from './dependencies.ts';
import { faultError } from './fault-error.ts';
import type { OpenMessage } from './open-message.ts';
import { stopError } from './stop-error.ts';

/** A route that has begun to answer: the first events of a stream, or the whole message as text. */
export type Opened = { form: 'stream'; first: StreamEvent[]; events: EventSource } | { form: 'message'; text: string };

/** Resolves to the first route that answers. Throws TurnpikeError for the last failure; nothing was produced then. */
export async function openRoute(gateway: Gateway, message: OpenMessage): Promise<Opened> {
  const { providers } = gateway.catalogue();
  const routes =
    message.offer.routes.length === 1 ? message.offer.routes : orderRoutes(message.offer.routes, gateway.random);
  let failure: TurnpikeError | null = null;
  for (const route of routes.slice(0, bounds.attemptsMax)) {
    const settings = providers.get(route.provider);
    if (settings === undefined) continue; // removed since the offer was made
    const startedMs = performance.now();
    message.route = route;
    try {
      const opened = await tryRoute(gateway, message, route, settings);
      message.request = null; // no other route will be tried
      message.submission.times.answeredMs = performance.now();
      noteAttempt(message, route, 'answered', 200, startedMs);
      return opened;
    } catch (thrown) {
      const fault = asFault(message, thrown);
      noteAttempt(message, route, fault.kind, fault.status, startedMs);
      message.dropAttempt();
      failure = stopError(message) ?? faultError(fault);
      if (fault.kind === 'rejected' || isOver(message)) break;
      if (message.stopReason === 'timeout') message.stopReason = null; // it ended this attempt, not the message
    }
  }
  throw failure ?? new TurnpikeError('upstream_failed', 'No provider of this model is configured at the moment.');
}

/** The provider of a kind. Throws when the catalogue names a kind that this version does not have. */
export function providerOfKind(gateway: Gateway, settings: ProviderSettings): Provider {
  const provider = gateway.providers.get(settings.kind);
  if (provider === undefined)
    throw new TurnpikeError('internal', `The provider ${settings.name} is of a kind that this version does not know.`);
  return provider;
}

/** A provider with the one credential that it is shown. */
export function endpointOf({ name, kind, baseUrl, credentials }: ProviderSettings): ProviderEndpoint {
  return { name, kind, baseUrl, credential: credentials[0]?.secret ?? null };
}

/** What a provider is sent of a submission. */
export function makeAttempt(
  message: Pick<OpenMessage, 'request' | 'submission' | 'maxTokens'>,
  route: Route,
  settings: ProviderSettings,
  begun: Pick<Attempt, 'signal' | 'trace'>,
): Attempt {
  const { request, submission, maxTokens } = message;
  assert(request !== null, 'a request is kept until a route answers');
  return {
    provider: endpointOf(settings),
    request,
    upstreamModel: route.upstreamModel,
    maxTokens,
    version: submission.version,
    betas: submission.betas,
    requestId: submission.requestId,
    ...begun,
  };
}

async function tryRoute(
  gateway: Gateway,
  message: OpenMessage,
  route: Route,
  settings: ProviderSettings,
): Promise<Opened> {
  const provider = providerOfKind(gateway, settings);
  const attempt = makeAttempt(message, route, settings, message.beginAttempt(route, settings));
  message.watch.begin();
  try {
    const reply = await provider.submit(attempt);
    message.upstreamRequestId = reply.upstreamRequestId;
    if ((reply.form === 'stream') !== message.isStream)
      throw new ProviderFault('failed', 'the provider answered in a form that was not asked for');
    if (reply.form === 'message') return { form: 'message', text: message.takeMessage(reply.message, reply.text) };
    const first = await reply.events.next();
    if (first?.[0]?.name !== 'message_start')
      throw new ProviderFault('failed', 'the stream did not begin with message_start');
    const told = message.take(first);
    message.beginStream();
    message.firstTokenMs = Math.max(0, gateway.clock.nowMs() - message.submission.receivedAtMs);
    return { form: 'stream', first: told, events: reply.events };
  } finally {
    message.watch.end();
  }
}

/** A fault as it is; a time limit of ours as a timeout; anything else as a failed provider, with its cause. */
function asFault(message: OpenMessage, thrown: unknown): ProviderFault {
  if (message.stopReason === 'timeout') return new ProviderFault('timeout', 'no answer in time', { cause: thrown });
  if (thrown instanceof ProviderFault) return thrown;
  return new ProviderFault('failed', 'the provider failed in an unforeseen way', { cause: thrown });
}

function isOver(message: OpenMessage): boolean {
  return message.stopReason !== null && message.stopReason !== 'timeout';
}

function noteAttempt(
  message: OpenMessage,
  route: Route,
  result: string,
  status: number | null,
  startedMs: number,
): void {
  const lastedMs = performance.now() - startedMs;
  message.submission.times.upstreamMs += lastedMs;
  message.trace?.endAttempt(result, status);
  const ms = Math.round(lastedMs);
  message.attempts.push({ provider: route.provider, model: route.upstreamModel, result, status, ms });
}
