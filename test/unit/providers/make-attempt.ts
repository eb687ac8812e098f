// One attempt at a request, as the gateway would make it. It has no tests of its own.

import { type Attempt, type EventSource, ProviderFault } from '../../../src/providers/providers.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { parseMessageRequest, type StreamEvent } from '../../../src/wire/wire.ts';

/** An attempt with this body (an object, or its exact text) at the provider of this origin. */
export function makeAttempt(baseUrl: string, body: object | string, changes: Partial<Attempt> = {}): Attempt {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const request = changes.request ?? parseMessageRequest(new TextEncoder().encode(text));
  return {
    provider: { name: 'p', kind: 'anthropic', baseUrl, credential: new Secret('sk-ant-ours') },
    request,
    upstreamModel: request.model,
    maxTokens: request.maxTokens ?? 4096,
    version: null,
    betas: null,
    requestId: 'req_ours',
    signal: new AbortController().signal,
    ...changes,
  };
}

/** Reads all batches up to the end. */
export async function readAll(source: EventSource): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for (let batch = await source.next(); batch !== null; batch = await source.next()) events.push(...batch);
  return events;
}

/** The fault that a promise is rejected with. */
export async function faultOf(promise: Promise<unknown>): Promise<ProviderFault> {
  const outcome = await promise.then(
    () => 'nothing was thrown',
    (thrown: unknown) => thrown,
  );
  if (outcome instanceof ProviderFault) return outcome;
  throw new Error(`not a ProviderFault: ${String(outcome)}`);
}

/** Reads the events before a fault, and the fault. */
export async function readToFault(source: EventSource): Promise<{ events: StreamEvent[]; fault: ProviderFault }> {
  const events: StreamEvent[] = [];
  const read = async () => {
    for (let batch = await source.next(); batch !== null; batch = await source.next()) events.push(...batch);
  };
  const fault = await faultOf(read());
  return { events, fault };
}
