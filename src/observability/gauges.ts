// Gauges: read at scrape time, never kept up to date in between.

import { NANO_PER_USD } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { type Gateway, listHealth } from '../gateway/gateway.ts';
import type { AccountReadings } from './account-metrics.ts';
import type { LogWriter } from './log-line.ts';
import type { Telemetry } from './otlp/otlp.ts';
import type { FamilyTerms, GaugeReading, MetricRegistry, Reading } from './registry.ts';

const PAYMENT_STATUSES = [
  'pending',
  'failed',
  'canceled',
  'paid',
  'partially_refunded',
  'refunded',
  'disputed',
] as const;
const ROUTE_STATES = ['ready', 'open', 'half_open', 'resting'] as const;

/** The parts of the service whose values are read. */
export interface Readings {
  version: string;
  startedAtMs: number;
  gateway: Gateway;
  /** Request bodies in memory or still to come. */
  bodies: { bytes: number; open: number };
  /** The expiry is that of the current certificate; null without TLS. */
  http: { requestsInFlight(): number; certificateExpiresAtMs(): number | null };
  /** `held` in nanodollars. */
  openHolds(): Promise<{ count: number; held: number; oldestAtMs: number | null }>;
  /** A page of the store cannot be read. */
  isDamaged(): boolean;
  countDeliveries(): Promise<{ waiting: number; dueSinceMs: number | null }>;
  /** When the newest recorded backup was taken; null: none was recorded. */
  lastBackupAtMs(): Promise<number | null>;
  /** null: no payments are taken. */
  payments: { countByStatus(): Promise<{ status: string; count: number }[]>; refusedEvents(): number } | null;
  accounts: AccountReadings;
  log: Pick<LogWriter, 'droppedCount'>;
  /** null without a collector. */
  telemetry: Telemetry | null;
}

/** Sources of the values of gauges. */
interface Sources extends Readings {
  health: UpstreamHealth;
  /** Read once per scrape, by the first of the metrics of holds. */
  holds: ReturnType<Readings['openHolds']> | null;
  /** The same of deliveries. */
  deliveries: ReturnType<Readings['countDeliveries']> | null;
}

/** By metric name. */
interface Gauge extends Omit<FamilyTerms, 'name'> {
  /** Counters here are kept elsewhere. */
  type?: 'counter';
  read(sources: Sources): Reading | Promise<Reading>;
}

const PROVIDER = { provider: null };

const GAUGES: Readonly<Record<string, Gauge>> = {
  turnpike_open_messages: {
    help: 'Admitted messages that have not ended',
    labels: { stream: ['true', 'false'] },
    read({ gateway: { running } }) {
      const streams = running.countStreams();
      return [
        [['true'], streams],
        [['false'], running.count - streams],
      ];
    },
  },
  turnpike_unattended_messages: {
    help: 'Admitted messages that run on without their clients',
    read: ({ gateway }) => gateway.running.countUnattended,
  },
  turnpike_requests_in_flight: {
    help: 'Requests of any kind whose response is not complete',
    read: ({ http }) => http.requestsInFlight(),
  },
  turnpike_bodies_in_flight_bytes: {
    help: 'Size of request bodies in memory',
    read: ({ bodies }) => bodies.bytes,
  },
  turnpike_bodies_in_flight: {
    help: 'Requests whose body is in memory or being received',
    read: ({ bodies }) => bodies.open,
  },
  turnpike_slots_in_flight: {
    help: 'In-flight slots in use, of shed_open_messages',
    read: ({ gateway }) => gateway.slots.taken,
  },
  turnpike_answers_in_memory_bytes: {
    help: 'Size of responses being collected for an idempotency key or replayed to a client',
    read: ({ gateway }) => gateway.answers.bytesInMemory,
  },
  turnpike_prompt_counts_in_flight: {
    help: 'Prompts whose tokens a provider is counting before admission',
    read: ({ gateway }) => gateway.counting.taken,
  },
  turnpike_cached_keys: {
    help: 'API keys in the cache',
    read: ({ gateway }) => gateway.authenticator.keys.size,
  },
  turnpike_ledger_queued_admissions: {
    help: 'Admissions that wait for the ledger',
    read: ({ gateway }) => gateway.ledger.queued,
  },
  turnpike_ledger_unfinished_endings: {
    help: 'Ended messages that are not stored yet',
    read: ({ gateway }) => gateway.ledger.unfinished,
  },
  turnpike_store_available: {
    help: '0 after a failed ledger write until the next successful one, and once a damaged page was met; otherwise 1',
    read: ({ gateway, isDamaged }) => (gateway.ledger.isAvailable && !isDamaged() ? 1 : 0),
  },
  turnpike_open_holds: {
    help: 'Holds in the store that have not ended',
    async read(sources) {
      sources.holds = sources.openHolds();
      return (await sources.holds).count;
    },
  },
  turnpike_held_usd: {
    help: 'Total amount of the holds in the store that have not ended',
    read: async ({ holds }) => ((await holds)?.held ?? 0) / NANO_PER_USD,
  },
  turnpike_oldest_hold_seconds: {
    help: 'Age of the oldest hold in the store that has not ended; 0 if there is none',
    async read({ holds, gateway }) {
      const nowMs = gateway.clock.nowMs();
      return Math.max(0, nowMs - ((await holds)?.oldestAtMs ?? nowMs)) / 1000;
    },
  },
  turnpike_stuck_holds: {
    help: 'Holds of ended nodes that this node cannot read or end',
    read: ({ gateway }) => gateway.ledger.stuckHolds,
  },
  turnpike_deliveries_waiting: {
    help: 'Deliveries of events that are neither accepted nor given up',
    async read(sources) {
      sources.deliveries = sources.countDeliveries();
      return (await sources.deliveries).waiting;
    },
  },
  turnpike_deliveries_overdue_seconds: {
    help: 'How long the delivery that became due first has been waiting to be sent; 0 if none is due',
    async read({ deliveries, gateway }) {
      const nowMs = gateway.clock.nowMs();
      return Math.max(0, nowMs - ((await deliveries)?.dueSinceMs ?? nowMs)) / 1000;
    },
  },
  turnpike_last_backup_timestamp_seconds: {
    help: 'Time of the newest backup that is recorded in the store; 0 if none is',
    read: async ({ lastBackupAtMs }) => ((await lastBackupAtMs()) ?? 0) / 1000,
  },
  turnpike_payments: {
    help: 'Payments in the store, by status',
    labels: { status: PAYMENT_STATUSES },
    async read({ payments }) {
      const counts = (await payments?.countByStatus()) ?? [];
      const countOf = (status: string) => counts.find((one) => one.status === status)?.count ?? 0;
      return PAYMENT_STATUSES.map((status): GaugeReading => [[status], countOf(status)]);
    },
  },
  turnpike_payment_events_refused_total: {
    help: 'Webhook requests that were not verified as those of the payment provider',
    type: 'counter',
    read: ({ payments }) => payments?.refusedEvents() ?? 0,
  },
  turnpike_upstream_up: {
    help: '0 if the last attempts at a provider all failed, otherwise 1',
    labels: PROVIDER,
    read: (sources) => each(sources, ({ isUp }) => (isUp ? 1 : 0)),
  },
  turnpike_upstream_last_success_timestamp_seconds: {
    help: 'Time when the last message with a successful attempt at a provider ended; 0 if none has',
    labels: PROVIDER,
    read: (sources) => each(sources, ({ lastSuccessMs }) => (lastSuccessMs ?? 0) / 1000),
  },
  turnpike_upstream_last_failure_timestamp_seconds: {
    help: 'Time when the last message with a failed attempt at a provider ended; 0 if none has',
    labels: PROVIDER,
    read: (sources) => each(sources, ({ lastFailureMs }) => (lastFailureMs ?? 0) / 1000),
  },
  turnpike_upstream_routes: {
    help: 'Targets of a provider (a model with a credential) used since the service started, by circuit breaker state',
    labels: { provider: null, state: ROUTE_STATES },
    read({ gateway }) {
      const states = listHealth(gateway.health, gateway.catalog());
      return providersOf(gateway).flatMap((provider) =>
        ROUTE_STATES.map((state): GaugeReading => {
          const count = states.filter((route) => route.provider === provider && route.state === state).length;
          return [[provider, state], count];
        }),
      );
    },
  },
  turnpike_upstream_in_flight: {
    help: 'Messages in progress at a provider',
    labels: PROVIDER,
    read({ gateway }) {
      const states = listHealth(gateway.health, gateway.catalog());
      return providersOf(gateway).map((provider): GaugeReading => {
        const ofProvider = states.filter((route) => route.provider === provider);
        return [[provider], ofProvider.reduce((sum, { inFlight }) => sum + inFlight, 0)];
      });
    },
  },
  turnpike_process_cpu_seconds_total: {
    help: 'CPU time of all threads of the process',
    type: 'counter',
    read() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  },
  turnpike_process_resident_memory_bytes: {
    help: 'Memory of the process',
    read: () => process.memoryUsage.rss(),
  },
  turnpike_process_start_timestamp_seconds: {
    help: 'Start time of the service',
    read: ({ startedAtMs }) => startedAtMs / 1000,
  },
  turnpike_log_lines_dropped_total: {
    help: 'Log lines dropped because the reader of the log was too slow or absent',
    type: 'counter',
    read: ({ log }) => log.droppedCount,
  },
  turnpike_telemetry_spans_dropped_total: {
    help: 'Spans that no collector accepted',
    type: 'counter',
    read: ({ telemetry }) => telemetry?.readings().spansDropped ?? 0,
  },
  turnpike_telemetry_exports_total: {
    help: 'Export requests to an OpenTelemetry collector',
    type: 'counter',
    labels: { result: ['sent', 'failed'] },
    read({ telemetry }) {
      const readings = telemetry?.readings();
      return [
        [['sent'], readings?.exportsSent ?? 0],
        [['failed'], readings?.exportsFailed ?? 0],
      ];
    },
  },
  turnpike_certificate_expiry_timestamp_seconds: {
    help: 'Expiry time of the current certificate; 0 without TLS',
    read: ({ http }) => (http.certificateExpiresAtMs() ?? 0) / 1000,
  },
  turnpike_build_info: {
    help: 'Always 1; the labels give the versions',
    labels: { version: null, runtime: null },
    read: ({ version }) => [[[version, `bun ${Bun.version}`], 1]],
  },
};

export function addGauges(registry: MetricRegistry, readings: Readings, health: UpstreamHealth): void {
  const sources: Sources = { ...readings, health, holds: null, deliveries: null };
  for (const [name, { read, type = 'gauge', ...terms }] of Object.entries(GAUGES))
    registry.reading({ name, ...terms }, type, () => read(sources));
}

/** A value for each provider of the catalog. */
function each({ gateway, health }: Sources, read: (health: Health) => number): GaugeReading[] {
  return providersOf(gateway).map((provider) => [[provider], read(health.of(provider))]);
}

function providersOf(gateway: Gateway): string[] {
  return [...gateway.catalog().providers.keys()];
}

/** Observes the delay in seconds until the returned function is called. */
export function watchEventLoop(observe: (seconds: number) => void): () => void {
  let dueMs = performance.now() + bounds.eventLoopSampleMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    observe(Math.max(0, nowMs - dueMs) / 1000);
    dueMs = nowMs + bounds.eventLoopSampleMs;
  }, bounds.eventLoopSampleMs);
  timer.unref();
  return () => clearInterval(timer);
}

/** In milliseconds since 1970; null: never. */
export interface Health {
  isUp: boolean;
  lastSuccessMs: number | null;
  lastFailureMs: number | null;
}

interface Noted extends Omit<Health, 'isUp'> {
  /** Whether the provider answered the last attempts, newest last. */
  answered: boolean[];
}

/** Results of attempts, as the gateway names them. */
export const ATTEMPT_RESULTS = [
  'answered',
  'rejected',
  'unusable',
  'credentials',
  'not_found',
  'rate_limited',
  'overloaded',
  'failed',
  'timeout',
  'aborted',
] as const;

const UNSEEN: Noted = { answered: [], lastSuccessMs: null, lastFailureMs: null };

export class UpstreamHealth {
  readonly #notedOf = new Map<string, Noted>();

  /** Rejected content and unusable answers count as answers; attempts that this service aborted are ignored. */
  note(provider: string, result: string, nowMs: number): void {
    if (result === 'aborted') return;
    const noted = this.#find(provider);
    const isAnswered = result === 'answered' || result === 'rejected' || result === 'unusable';
    if (isAnswered) noted.lastSuccessMs = nowMs;
    else noted.lastFailureMs = nowMs;
    noted.answered.push(isAnswered);
    if (noted.answered.length > bounds.upstreamHealthAttempts) noted.answered.shift();
  }

  /** Down: none of the last attempts was answered, and there were enough of them. */
  of(provider: string): Health {
    const { answered, lastSuccessMs, lastFailureMs } = this.#notedOf.get(provider) ?? UNSEEN;
    const isUp = answered.length < bounds.upstreamHealthAttempts || answered.includes(true);
    return { isUp, lastSuccessMs, lastFailureMs };
  }

  #find(provider: string): Noted {
    let noted = this.#notedOf.get(provider);
    if (noted === undefined) {
      if (this.#notedOf.size >= bounds.metricSeriesMax) this.#notedOf.clear(); // the catalog changed very often
      noted = { ...UNSEEN, answered: [] };
      this.#notedOf.set(provider, noted);
    }
    return noted;
  }
}
