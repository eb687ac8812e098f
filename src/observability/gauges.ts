// What is so at the moment when somebody looks: read then, and never kept up to date in between.

import { NANO_PER_USD } from '../base/money.ts';
import type { MetricRegistry, Reading } from './registry.ts';
import type { UpstreamHealth } from './upstream-health.ts';

const ROUTE_STATES = ['ready', 'open', 'half_open', 'resting'] as const;

/** What the parts of a service say of themselves when they are asked. Amounts in nanodollars. */
export interface Readings {
  version: string;
  startedAtMs: number;
  /** The names of the catalogue in force. */
  providers(): readonly string[];
  /** Of the models of providers, asked for with each credential, that were used since the start. */
  routeStates(): readonly { provider: string; state: (typeof ROUTE_STATES)[number]; inFlight: number }[];
  openMessages(): { streams: number; wholes: number };
  requestsInFlight(): number;
  bodiesInFlightBytes(): number;
  /** Admissions that wait for the ledger, and endings that it does not have yet. */
  ledgerQueued(): number;
  unfinishedEndings(): number;
  isStoreAvailable(): boolean;
  openHolds(): Promise<{ count: number; held: number; oldestAtMs: number | null }>;
  cachedKeys(): number;
  logLinesDropped(): number;
  telemetry(): TelemetryReadings;
  /** When the certificate in use ends; null without TLS. */
  certificateExpiresAtMs(): number | null;
  nowMs(): number;
}

/** What became of traces and metrics that were to be sent to a collector; all zero while none is. */
export interface TelemetryReadings {
  spansDropped: number;
  exportsSent: number;
  exportsFailed: number;
}

export function addGauges(registry: MetricRegistry, readings: Readings, health: UpstreamHealth): void {
  addTraffic(registry, readings);
  addLedger(registry, readings);
  addUpstreams(registry, readings, health);
  addRoutes(registry, readings);
  addProcess(registry, readings);
}

function addTraffic(registry: MetricRegistry, readings: Readings): void {
  registry.gauge(
    {
      name: 'turnpike_open_messages',
      help: 'Messages that were admitted and have not ended',
      labels: { stream: ['true', 'false'] },
    },
    () => {
      const { streams, wholes } = readings.openMessages();
      return [
        [['true'], streams],
        [['false'], wholes],
      ];
    },
  );
  registry.gauge(
    { name: 'turnpike_requests_in_flight', help: 'Requests that are not answered to their end, of every kind' },
    () => one(readings.requestsInFlight()),
  );
  registry.gauge({ name: 'turnpike_bodies_in_flight_bytes', help: 'Request bodies that are held in memory' }, () =>
    one(readings.bodiesInFlightBytes()),
  );
  registry.gauge({ name: 'turnpike_cached_keys', help: 'API keys that are remembered without asking the store' }, () =>
    one(readings.cachedKeys()),
  );
}

function addLedger(registry: MetricRegistry, readings: Readings): void {
  registry.gauge({ name: 'turnpike_ledger_queued_admissions', help: 'Admissions that wait for the ledger' }, () =>
    one(readings.ledgerQueued()),
  );
  registry.gauge(
    { name: 'turnpike_ledger_unfinished_endings', help: 'Ended messages that the store does not have yet' },
    () => one(readings.unfinishedEndings()),
  );
  registry.gauge(
    {
      name: 'turnpike_store_available',
      help: '0 from a write of the ledger that failed until one has gone through, else 1',
    },
    () => one(readings.isStoreAvailable() ? 1 : 0),
  );
  let holds: ReturnType<Readings['openHolds']>; // asked for once a scrape, by the first of these three
  registry.gauge({ name: 'turnpike_open_holds', help: 'Holds in the store that have not ended' }, async () => {
    holds = readings.openHolds();
    return one((await holds).count);
  });
  registry.gauge({ name: 'turnpike_held_usd', help: 'What these holds hold' }, async () =>
    one((await holds).held / NANO_PER_USD),
  );
  registry.gauge(
    { name: 'turnpike_oldest_hold_seconds', help: 'Since when the oldest of them is open; 0 without any' },
    async () => {
      const { oldestAtMs } = await holds;
      return one(oldestAtMs === null ? 0 : Math.max(0, readings.nowMs() - oldestAtMs) / 1000);
    },
  );
}

function addUpstreams(registry: MetricRegistry, readings: Readings, health: UpstreamHealth): void {
  const labels = { provider: null };
  const each = (read: (provider: string) => number): Reading[] =>
    readings.providers().map((provider) => [[provider], read(provider)]);
  registry.gauge(
    { name: 'turnpike_upstream_up', help: '0 when none of the last attempts of a provider was answered', labels },
    () => each((provider) => (health.of(provider).isUp ? 1 : 0)),
  );
  registry.gauge(
    {
      name: 'turnpike_upstream_last_success_timestamp_seconds',
      help: 'When a message whose attempt a provider answered last ended; 0 for never',
      labels,
    },
    () => each((provider) => (health.of(provider).lastSuccessMs ?? 0) / 1000),
  );
  registry.gauge(
    {
      name: 'turnpike_upstream_last_failure_timestamp_seconds',
      help: 'When a message with a failed attempt of a provider last ended; 0 for never',
      labels,
    },
    () => each((provider) => (health.of(provider).lastFailureMs ?? 0) / 1000),
  );
}

function addRoutes(registry: MetricRegistry, readings: Readings): void {
  registry.gauge(
    {
      name: 'turnpike_upstream_routes',
      help: 'Models of a provider, each with each credential, that were used since the start, by how they do',
      labels: { provider: null, state: ROUTE_STATES },
    },
    () => {
      const states = readings.routeStates();
      return readings.providers().flatMap((provider) =>
        ROUTE_STATES.map((state): Reading => {
          const count = states.filter((route) => route.provider === provider && route.state === state).length;
          return [[provider, state], count];
        }),
      );
    },
  );
  registry.gauge(
    {
      name: 'turnpike_upstream_in_flight',
      help: 'Messages that a provider is working on',
      labels: { provider: null },
    },
    () => {
      const states = readings.routeStates();
      return readings.providers().map((provider): Reading => {
        const ofProvider = states.filter((route) => route.provider === provider);
        return [[provider], ofProvider.reduce((sum, { inFlight }) => sum + inFlight, 0)];
      });
    },
  );
}

function addProcess(registry: MetricRegistry, readings: Readings): void {
  registry.counterOf(
    { name: 'turnpike_process_cpu_seconds_total', help: 'Processor time of the process, all threads' },
    () => {
      const { user, system } = process.cpuUsage();
      return one((user + system) / 1e6);
    },
  );
  registry.gauge({ name: 'turnpike_process_resident_memory_bytes', help: 'Memory of the process' }, () =>
    one(process.memoryUsage.rss()),
  );
  registry.gauge({ name: 'turnpike_process_start_timestamp_seconds', help: 'When the service started' }, () =>
    one(readings.startedAtMs / 1000),
  );
  registry.counterOf(
    { name: 'turnpike_log_lines_dropped_total', help: 'Lines of the log that nobody took, or not in time' },
    () => one(readings.logLinesDropped()),
  );
  registry.counterOf({ name: 'turnpike_telemetry_spans_dropped_total', help: 'Spans that no collector took' }, () =>
    one(readings.telemetry().spansDropped),
  );
  registry.counterOf(
    {
      name: 'turnpike_telemetry_exports_total',
      help: 'Requests to a collector of traces and metrics',
      labels: { result: ['sent', 'failed'] },
    },
    () => {
      const { exportsSent, exportsFailed } = readings.telemetry();
      return [
        [['sent'], exportsSent],
        [['failed'], exportsFailed],
      ];
    },
  );
  registry.gauge(
    {
      name: 'turnpike_certificate_expiry_timestamp_seconds',
      help: 'When the certificate in use ends; 0 without TLS',
    },
    () => one((readings.certificateExpiresAtMs() ?? 0) / 1000),
  );
  registry.gauge(
    {
      name: 'turnpike_build_info',
      help: 'Always 1; its labels say what runs',
      labels: { version: null, runtime: null },
    },
    () => [[[readings.version, `bun ${Bun.version}`], 1]],
  );
}

function one(value: number): Reading[] {
  return [[[], value]];
}
