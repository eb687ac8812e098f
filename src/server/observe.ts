// Log lines, metrics and traces of this process. All reports of the service go to them from here.

import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';
import type { CredentialState } from '../credentials/credentials.ts';
import type { MessageReport } from '../gateway/gateway.ts';
import { isStoreBusy } from '../ledger/ledger.ts';
import {
  describeFailure,
  type FailurePlace,
  LeftOutNotices,
  type LogWriter,
  messageLine,
  openTelemetry,
  requestLine,
  ServiceMetrics,
  type Telemetry,
} from '../observability/observability.ts';
import type { Answered } from '../public-api/public-api.ts';
import { RefusalCounts, RouteCounter } from '../traffic/traffic.ts';
import type { Closing } from './server.ts';
import { StoreDamage } from './store-damage.ts';
import { NodeIncidents } from './watch-incidents.ts';

export interface Observers {
  log: LogWriter;
  metrics: ServiceMetrics;
  /** null without a collector. */
  telemetry: Telemetry | null;
  refusals: RefusalCounts;
  routes: RouteCounter;
  damage: StoreDamage;
  leftOut: LeftOutNotices;
  own: NodeIncidents;
  clock: Clock;
}

export async function openObservers(
  config: Config,
  version: string,
  log: LogWriter,
  clock: Clock,
  closing: Closing,
): Promise<Observers> {
  const source = randomUUID();
  const observers: Observers = {
    log,
    metrics: new ServiceMetrics(),
    telemetry: null,
    refusals: new RefusalCounts(),
    routes: new RouteCounter(source),
    damage: new StoreDamage(log),
    leftOut: new LeftOutNotices(),
    own: new NodeIncidents(source),
    clock,
  };
  if (config.telemetry === null) return observers;
  const telemetry = await openTelemetry(config.telemetry, version, (signal, failure) => {
    const event = failure === null ? 'telemetry_resumed' : 'telemetry_failed';
    log.writeEvent(event, { signal, cause: failure });
    observers.own.note(signal, failure, clock.nowMs());
  });
  closing.push(() => telemetry.close());
  return { ...observers, telemetry };
}

/** An admitted message has ended. */
export function reportMessage(
  { log, metrics, telemetry, routes, damage, leftOut, clock }: Observers,
  message: MessageReport,
): void {
  damage.note(message.cause);
  const nowMs = clock.nowMs();
  metrics.countMessage(message, nowMs);
  routes.count(message.record, nowMs);
  telemetry?.countMessage(message);
  if (!log.isOn) return;
  log.write(messageLine(message, nowMs));
  const { record, leftOut: fields } = message;
  const { provider, model } = record;
  if (fields.length > 0 && provider !== null && leftOut.take(provider, fields, nowMs))
    log.writeEvent('fields_left_out', { provider, model, fields });
}

/** Any other request was answered. */
export function reportAnswer(
  { log, metrics, telemetry, refusals, damage, clock }: Observers,
  answered: Answered,
): void {
  metrics.countAnswer(answered);
  const { clientRequest, failure, receivedAtMs, durationMs } = answered;
  damage.note(failure?.details.cause);
  if (failure !== null && clientRequest !== null)
    refusals.count(failure, clientRequest.caller, receivedAtMs + durationMs);
  telemetry?.traceAnswer(answered);
  if (log.isOn) log.write(requestLine(answered, clock.nowMs()));
}

/** The list of a provider's models cannot be read, or can be read again. */
export function reportModelList({ log }: Observers, provider: string, failure: string | null): void {
  if (failure === null) log.writeEvent('model_list_resumed', { provider });
  else log.writeEvent('model_list_failed', { provider, cause: failure });
}

/** Background work failed and is retried or passed over. An unavailable or busy store is no fault of it: the ledger reports that. */
export function reportInternalFailure(
  { log, metrics }: Pick<Observers, 'log' | 'metrics'>,
  place: FailurePlace,
  failure: unknown,
): void {
  if (isStoreBusy(failure)) return;
  metrics.countInternalFailure(place);
  log.writeEvent('internal_failure', { place, cause: describeFailure(failure) });
}

/** The credential of a provider, or a setting, cannot be read, or can be read again. */
export function reportCredential(
  { log }: Observers,
  holder: { provider: string; credential: string } | { setting: string },
  { failure, type }: Pick<CredentialState, 'failure' | 'type'>,
): void {
  const event = failure === null ? 'credential_resumed' : 'credential_failed';
  log.writeEvent(event, { ...holder, auth: type, ...(failure !== null && { cause: failure }) });
}
