// What this process tells of itself: log lines, metrics, traces. Whatever the parts of the service
// report goes to all of them from here.

import type { Clock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import { type Gateway, listHealth, type MessageReport } from '../gateway/gateway.ts';
import type { BodiesInFlight } from '../http/http.ts';
import {
  type LogWriter,
  messageLine,
  openTelemetry,
  type Readings,
  requestLine,
  ServiceMetrics,
  type Telemetry,
} from '../observability/observability.ts';
import type { Answered } from '../public-api/public-api.ts';
import type { Listening } from './listen.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

export interface Observers {
  log: LogWriter;
  metrics: ServiceMetrics;
  /** Null where no collector is named. */
  telemetry: Telemetry | null;
  clock: Clock;
}

export async function openObservers(
  config: Config,
  version: string,
  log: LogWriter,
  clock: Clock,
  closing: Closing,
): Promise<Observers> {
  const observers: Observers = { log, metrics: new ServiceMetrics(), telemetry: null, clock };
  if (config.telemetry === null) return observers;
  const telemetry = await openTelemetry(config.telemetry, version, (signal, failure) => {
    const event = failure === null ? 'telemetry_resumed' : 'telemetry_failed';
    log.write({ at: new Date().toISOString(), event, signal, cause: failure });
  });
  closing.push(() => telemetry.close());
  return { ...observers, telemetry };
}

/** An admitted message has ended. */
export function tellMessage({ log, metrics, telemetry, clock }: Observers, message: MessageReport): void {
  const nowMs = clock.nowMs();
  metrics.countMessage(message, nowMs);
  telemetry?.countMessage(message);
  if (log.isOn) log.write(messageLine(message, nowMs));
}

/** Anything else was answered. */
export function tellAnswer({ log, metrics, telemetry, clock }: Observers, answered: Answered): void {
  metrics.countAnswer(answered);
  telemetry?.traceAnswer(answered);
  if (log.isOn) log.write(requestLine(answered, clock.nowMs()));
}

/** What is asked when somebody reads the metrics. */
export interface AskedParts {
  gateway: Gateway;
  store: OpenStore;
  bodies: BodiesInFlight;
  http: Pick<Listening, 'requestsInFlight' | 'certificateExpiresAtMs'>;
  version: string;
}

export function makeReadings({ log, telemetry, clock }: Observers, parts: AskedParts): Readings {
  const { gateway, store, bodies, http, version } = parts;
  const { stores, ledger } = store;
  const none = { spansDropped: 0, exportsSent: 0, exportsFailed: 0 };
  return {
    version,
    startedAtMs: clock.nowMs(),
    providers: () => [...gateway.catalogue().providers.keys()],
    routeStates: () => listHealth(gateway.health, gateway.catalogue()),
    openMessages() {
      const streams = gateway.running.countStreams();
      return { streams, wholes: gateway.running.count - streams };
    },
    requestsInFlight: () => http.requestsInFlight(),
    bodiesInFlightBytes: () => bodies.bytes,
    ledgerQueued: () => ledger.queued,
    unfinishedEndings: () => ledger.unfinished,
    isStoreAvailable: () => ledger.isAvailable,
    openHolds: () => stores.ledger.openHolds(),
    cachedKeys: () => gateway.gatehouse.keys.size,
    logLinesDropped: () => log.droppedCount,
    telemetry: () => telemetry?.readings() ?? none,
    certificateExpiresAtMs: () => http.certificateExpiresAtMs(),
    nowMs: () => clock.nowMs(),
  };
}
