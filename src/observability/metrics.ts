// What is measured of a service, and how the facts that it reports become metrics. Labels are names
// of the catalogue and words of this file, never an account, a key, an address or a request id.

import { NANO_PER_USD } from '../base/money.ts';
import { bounds } from '../config.ts';
import { errorTable } from '../errors.ts';
import type { Count, Distribution, Family } from './family.ts';
import { addGauges, type Readings } from './gauges.ts';
import type { MeasuredAnswer, MeasuredMessage, MeasuredTimes } from './measured-message.ts';
import { MetricRegistry } from './registry.ts';
import { ATTEMPT_RESULTS, type Health, UpstreamHealth } from './upstream-health.ts';

/** The series that messages of one model, provider, group and form count in, found once. */
interface MessageSeries {
  provider: string;
  group: string;
  stream: boolean;
  outcomes: Map<string, Count>;
  tokens: Record<'input' | 'output' | 'cacheRead' | 'cacheWrite5m' | 'cacheWrite1h', Count>;
  cost: Count;
  providerCost: Count;
  duration: Distribution;
  firstToken: Distribution;
  added: Distribution;
}

/** Those that attempts of one provider count in. */
interface AttemptSeries {
  results: Map<string, Count>;
  duration: Distribution;
}

const STREAM = ['true', 'false'] as const;
const OUTCOMES = ['completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'] as const;
const TOKEN_KINDS = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const;
const SOURCES = ['reported', 'estimated', 'none'] as const;
const CODES = Object.keys(errorTable);

const OWN_SECONDS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
const UPSTREAM_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const MESSAGE_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const BUNDLES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

export class ServiceMetrics {
  readonly #registry = new MetricRegistry();
  readonly #health = new UpstreamHealth();
  /** By model, and few of each: names of the catalogue are compared faster than joined. */
  readonly #seriesOf = new Map<string, MessageSeries[]>();
  #seriesCount = 0;
  readonly #attemptsOf = new Map<string, AttemptSeries>();
  readonly #messages = this.#registry.counter({
    name: 'turnpike_messages_total',
    help: 'Messages that were admitted and have ended, by how they ended',
    labels: { outcome: OUTCOMES, model: null, provider: null, stream: STREAM },
  });
  readonly #errors = countsOf(
    this.#registry.counter({
      name: 'turnpike_message_errors_total',
      help: 'Admitted messages whose caller got an error, before or within the answer',
      labels: { code: CODES },
    }),
    CODES,
  );
  readonly #refusals = countsOf(
    this.#registry.counter({
      name: 'turnpike_refusals_total',
      help: 'Requests that were answered with an error before anything was admitted',
      labels: { code: CODES },
    }),
    CODES,
  );
  readonly #replays = this.#registry
    .counter({
      name: 'turnpike_replays_total',
      help: 'Messages that were repeated under their idempotency key, and got the answer of the first',
    })
    .of();
  readonly #usageSources = countsOf(
    this.#registry.counter({
      name: 'turnpike_usage_source_total',
      help: 'Ended messages by where their token counts come from',
      labels: { source: SOURCES },
    }),
    SOURCES,
  );
  readonly #tokens = this.#registry.counter({
    name: 'turnpike_tokens_total',
    help: 'Tokens of ended messages',
    labels: { kind: TOKEN_KINDS, model: null },
  });
  readonly #cost = this.#registry.counter({
    name: 'turnpike_cost_usd_total',
    help: 'What ended messages cost by their prices, write-offs included',
    labels: { model: null, group: null },
  });
  readonly #providerCost = this.#registry.counter({
    name: 'turnpike_provider_cost_usd_total',
    help: 'What providers charge for ended messages, where the route has a cost',
    labels: { model: null, provider: null },
  });
  readonly #writtenOff = this.#registry
    .counter({ name: 'turnpike_written_off_usd_total', help: 'The part of the cost that no balance could pay' })
    .of();
  readonly #usageUnknown = this.#registry
    .counter({
      name: 'turnpike_usage_unknown_total',
      help: "Counts in a provider's usage that this version does not know",
    })
    .of();
  readonly #usageDisbelieved = this.#registry
    .counter({ name: 'turnpike_usage_disbelieved_total', help: "Counts in a provider's usage that cannot be true" })
    .of();
  readonly #duration = this.#histogram('turnpike_message_seconds', MESSAGE_SECONDS, {
    help: 'From the arrival of a message until it was billed',
    labels: { model: null, stream: STREAM },
  });
  readonly #firstToken = this.#histogram('turnpike_first_token_seconds', UPSTREAM_SECONDS, {
    help: 'From the arrival of a streamed message until the first events of its provider had come',
    labels: { model: null },
  });
  readonly #added = this.#histogram('turnpike_added_latency_seconds', OWN_SECONDS, {
    help: "Time until an answer began that was neither spent in attempts nor waiting for the caller's body",
    labels: { stream: STREAM },
  });
  readonly #admission = this.#histogram('turnpike_admission_seconds', OWN_SECONDS, {
    help: 'From asking the ledger to admit a message until its answer',
  }).of();
  readonly #settlement = this.#histogram('turnpike_settlement_seconds', OWN_SECONDS, {
    help: 'From asking the ledger to end a message until that was durable',
  }).of();
  readonly #batchBundles = this.#histogram('turnpike_ledger_batch_bundles', BUNDLES, {
    help: 'Bundles of operations in one batch of the ledger',
  }).of();
  readonly #commit = this.#histogram('turnpike_ledger_commit_seconds', OWN_SECONDS, {
    help: 'From the decision on a batch of the ledger until it was on the disk',
  }).of();
  readonly #attempts = this.#registry.counter({
    name: 'turnpike_upstream_attempts_total',
    help: 'Attempts of ended messages by how they ended',
    labels: { provider: null, result: ATTEMPT_RESULTS },
  });
  readonly #attemptDuration = this.#histogram('turnpike_upstream_attempt_seconds', UPSTREAM_SECONDS, {
    help: 'From the beginning of an attempt until it failed, or its first events or whole message had come',
    labels: { provider: null },
  });
  readonly #eventLoopDelay = this.#histogram('turnpike_event_loop_delay_seconds', OWN_SECONDS, {
    help: 'How much later than asked for the event loop called a timer',
  }).of();

  #providers: () => readonly string[] = () => [];

  /** Adds what is read when somebody looks; once, when all that is to be read is there. */
  addReadings(readings: Readings): void {
    this.#providers = readings.providers;
    addGauges(this.#registry, readings, this.#health);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics as Prometheus reads them. */
  scrape(): Promise<string> {
    this.#expectProviders(this.#providers());
    return this.#registry.scrape();
  }

  /** How a provider did in the last attempts of ended messages. */
  health(provider: string): Health {
    return this.#health.of(provider);
  }

  /** A message that was admitted has ended. */
  countMessage({ record, times, code, disbelieved, unknown }: MeasuredMessage, nowMs: number): void {
    const series = this.#find(record.model, record.provider ?? 'none', record.group, record.stream);
    add(series.outcomes, record.outcome);
    series.tokens.input.value += record.inputTokens;
    series.tokens.output.value += record.outputTokens;
    series.tokens.cacheRead.value += record.cacheReadTokens;
    series.tokens.cacheWrite5m.value += record.cacheWrite5mTokens;
    series.tokens.cacheWrite1h.value += record.cacheWrite1hTokens;
    series.cost.value += record.cost / NANO_PER_USD;
    if (record.providerCost !== null) series.providerCost.value += record.providerCost / NANO_PER_USD;
    this.#writtenOff.value += record.writtenOff / NANO_PER_USD;
    add(this.#usageSources, record.usageSource);
    this.#usageUnknown.value += unknown.length;
    this.#usageDisbelieved.value += disbelieved.length;
    if (code !== null) add(this.#errors, code);
    for (const attempt of record.attempts) this.#countAttempt(attempt, nowMs);
    this.#observeTimes(series, record.stream, times);
  }

  /** Anything else was answered. */
  countAnswer({ failure, submission }: MeasuredAnswer): void {
    if (failure !== null) add(this.#refusals, failure.code);
    if (submission === null) return;
    if (submission.replayOf !== null) this.#replays.value++;
    this.#observeAdmission(submission.times);
  }

  /** The ledger's thread has committed a batch. */
  countBatch({ bundles, ms }: { bundles: number; ms: number }): void {
    this.#batchBundles.observe(bundles);
    this.#commit.observe(ms / 1000);
  }

  observeEventLoopDelay(seconds: number): void {
    this.#eventLoopDelay.observe(seconds);
  }

  #countAttempt({ provider, result, ms }: { provider: string; result: string; ms: number }, nowMs: number): void {
    const series = this.#attemptsOf.get(provider) ?? this.#findAttempts(provider);
    add(series.results, result);
    series.duration.observe(ms / 1000);
    this.#health.note(provider, result, nowMs);
  }

  #observeTimes(series: MessageSeries, isStream: boolean, times: MeasuredTimes): void {
    const { startedMs, bodyMs, upstreamMs, answeredMs, endedMs, settledMs } = times;
    this.#observeAdmission(times);
    if (settledMs !== null && endedMs !== null) {
      this.#settlement.observe((settledMs - endedMs) / 1000);
      series.duration.observe((settledMs - startedMs) / 1000);
    }
    if (answeredMs === null) return;
    if (isStream) series.firstToken.observe((answeredMs - startedMs) / 1000);
    // A whole message is given to its caller once it is billed; of a stream, only the end waits for that.
    const begunMs = isStream ? answeredMs : settledMs;
    if (begunMs !== null) series.added.observe(Math.max(0, begunMs - startedMs - bodyMs - upstreamMs) / 1000);
  }

  #observeAdmission({ askedMs, admittedMs }: MeasuredTimes): void {
    if (askedMs !== null && admittedMs !== null) this.#admission.observe((admittedMs - askedMs) / 1000);
  }

  #find(model: string, provider: string, group: string, stream: boolean): MessageSeries {
    const ofModel = this.#seriesOf.get(model);
    if (ofModel !== undefined)
      for (const series of ofModel)
        if (series.provider === provider && series.group === group && series.stream === stream) return series;
    return this.#makeSeries(model, provider, group, stream);
  }

  #makeSeries(model: string, provider: string, group: string, stream: boolean): MessageSeries {
    if (this.#seriesCount++ >= bounds.metricSeriesMax) {
      this.#seriesOf.clear(); // found anew, at the cost of a look-up
      this.#seriesCount = 1;
    }
    const form = stream ? 'true' : 'false';
    const series: MessageSeries = {
      provider,
      group,
      stream,
      outcomes: new Map(OUTCOMES.map((outcome) => [outcome, this.#messages.of(outcome, model, provider, form)])),
      tokens: {
        input: this.#tokens.of('input', model),
        output: this.#tokens.of('output', model),
        cacheRead: this.#tokens.of('cache_read', model),
        cacheWrite5m: this.#tokens.of('cache_write_5m', model),
        cacheWrite1h: this.#tokens.of('cache_write_1h', model),
      },
      cost: this.#cost.of(model, group),
      providerCost: this.#providerCost.of(model, provider),
      duration: this.#duration.of(model, form),
      firstToken: this.#firstToken.of(model),
      added: this.#added.of(form),
    };
    const ofModel = this.#seriesOf.get(model);
    if (ofModel === undefined) this.#seriesOf.set(model, [series]);
    else ofModel.push(series);
    return series;
  }

  #findAttempts(provider: string): AttemptSeries {
    if (this.#attemptsOf.size >= bounds.metricSeriesMax) this.#attemptsOf.clear();
    const results = new Map(ATTEMPT_RESULTS.map((result) => [result, this.#attempts.of(provider, result)]));
    const series = { results, duration: this.#attemptDuration.of(provider) };
    this.#attemptsOf.set(provider, series);
    return series;
  }

  /** Providers are few and known: their series are there before their first failure. */
  #expectProviders(providers: readonly string[]): void {
    for (const provider of providers) if (!this.#attemptsOf.has(provider)) this.#findAttempts(provider);
  }

  #histogram(name: string, upperBounds: readonly number[], terms: Omit<Family<Distribution>['terms'], 'name'>) {
    return this.#registry.histogram({ name, ...terms }, upperBounds);
  }
}

/** The series of a metric with one label, by its values. */
function countsOf(family: Family<Count>, values: readonly string[]): Map<string, Count> {
  return new Map(values.map((value) => [value, family.of(value)]));
}

function add(counts: ReadonlyMap<string, Count>, value: string): void {
  const count = counts.get(value);
  if (count !== undefined) count.value++;
}
