// The service's metrics. Labels are catalog names and words of this file, never keys, addresses or request ids; few accounts have
// metrics of their own.

import { NANO_PER_USD } from '../base/money.ts';
import { OTHER_VALUE } from '../base/tag-set-numbers.ts';
import { bounds } from '../config/config.ts';
import { errorTable } from '../errors.ts';
import type { Gateway, MessageReport, MessageTimes } from '../gateway/gateway.ts';
import type { Answered } from '../public-api/public-api.ts';
import { type EndedCount, TOKEN_COUNT_RESULTS } from '../tokenizer/tokenizer.ts';
import { AccountMetrics } from './account-metrics.ts';
import { ATTEMPT_RESULTS, addGauges, type Health, type Readings, UpstreamHealth } from './gauges.ts';
import { type Count, type Distribution, type FamilyTerms, MetricRegistry } from './registry.ts';

/** The series of messages of one model, provider, group and form, looked up once. */
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

/** The series of one provider's attempts. */
interface AttemptSeries {
  results: Map<string, Count>;
  duration: Distribution;
}

const STREAM = ['true', 'false'] as const;
const OUTCOMES = ['completed', 'client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'] as const;
const TOKEN_KINDS = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const;
const SOURCES = ['reported', 'estimated', 'none'] as const;
const WRITE_OFF_REASONS = ['prompt', 'output'] as const;
const DESTINATION_KINDS = ['webhook', 'mail', 'slack'] as const;
/** Where failures are retried or passed over that no other metric or event counts. */
const FAILURE_PLACES = ['changes', 'provider_watch', 'samples', 'stream_hold', 'upkeep_event'] as const;
export type FailurePlace = (typeof FAILURE_PLACES)[number];
const CODES = Object.keys(errorTable);

const OWN_SECONDS = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
const UPSTREAM_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const MESSAGE_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600];
const COUNT_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2.5, 10, 30];
const BUNDLES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

const NO_VALUE = 'none';

export class ServiceMetrics {
  readonly #registry = new MetricRegistry();
  readonly #health = new UpstreamHealth();
  /** By model, a few each: comparing catalog names is faster than joining them. */
  readonly #seriesOf = new Map<string, MessageSeries[]>();
  #seriesCount = 0;
  readonly #attemptsOf = new Map<string, AttemptSeries>();
  readonly #messages = this.#registry.counter({
    name: 'turnpike_messages_total',
    help: 'Admitted messages that have ended, by outcome',
    labels: { outcome: OUTCOMES, model: null, provider: null, stream: STREAM },
  });
  readonly #errors = this.#countsBy('code', CODES, {
    name: 'turnpike_message_errors_total',
    help: 'Admitted messages whose client received an error, in place of a response or within a stream',
  });
  readonly #refusals = this.#countsBy('code', CODES, {
    name: 'turnpike_refusals_total',
    help: 'Requests refused with an error before admission',
  });
  readonly #replays = this.#count({
    name: 'turnpike_replays_total',
    help: 'Retries that got the stored response of their idempotency key',
  });
  readonly #usageSources = this.#countsBy('source', SOURCES, {
    name: 'turnpike_usage_source_total',
    help: 'Ended messages by source of their token counts',
  });
  readonly #tokens = this.#registry.counter({
    name: 'turnpike_tokens_total',
    help: 'Tokens of ended messages',
    labels: { kind: TOKEN_KINDS, model: null },
  });
  readonly #cost = this.#registry.counter({
    name: 'turnpike_cost_usd_total',
    help: 'Cost of ended messages at their prices, including write-offs',
    labels: { model: null, group: null },
  });
  readonly #taggedMessages = this.#registry.counter({
    name: 'turnpike_tagged_messages_total',
    help: 'Admitted messages that have ended, by the tags of the setting tags_in_metrics',
    labels: { tag: null, value: null },
  });
  readonly #taggedCost = this.#registry.counter({
    name: 'turnpike_tagged_cost_usd_total',
    help: 'Cost of ended messages at their prices, by the tags of the setting tags_in_metrics',
    labels: { tag: null, value: null },
  });
  /** The values that have a series, by tag. */
  readonly #valuesOfTag = new Map<string, Set<string>>();
  readonly #accounts = new AccountMetrics(this.#registry);
  readonly #providerCost = this.#registry.counter({
    name: 'turnpike_provider_cost_usd_total',
    help: 'Provider cost of ended messages whose route has a cost',
    labels: { model: null, provider: null },
  });
  readonly #writtenOff = this.#registry.counter({
    name: 'turnpike_written_off_usd_total',
    help: 'Cost that no balance covered, for the prompt or only for output',
    labels: { model: null, reason: WRITE_OFF_REASONS },
  });
  readonly #usageUnknown = this.#count({
    name: 'turnpike_usage_unknown_total',
    help: "Counts in a provider's usage that are unknown to this version, and service tiers that were not requested",
  });
  readonly #usageContradicted = this.#count({
    name: 'turnpike_usage_contradicted_total',
    help: "Counts in a provider's usage that fell in the course of a stream; the larger count is billed",
  });
  readonly #usageDisbelieved = this.#count({
    name: 'turnpike_usage_disbelieved_total',
    help: "Counts in a provider's usage that are impossible",
  });
  readonly #duration = this.#histogram('turnpike_message_seconds', MESSAGE_SECONDS, {
    help: 'Time from the arrival of a message until it is billed',
    labels: { model: null, stream: STREAM },
  });
  readonly #firstToken = this.#histogram('turnpike_first_token_seconds', UPSTREAM_SECONDS, {
    help: 'Time from the arrival of a streamed message until the first events from the provider',
    labels: { model: null },
  });
  readonly #added = this.#histogram('turnpike_added_latency_seconds', OWN_SECONDS, {
    help: "Time until the response begins, excluding attempts and the wait for the client's body",
    labels: { stream: STREAM },
  });
  readonly #admission = this.#histogram('turnpike_admission_seconds', OWN_SECONDS, {
    help: 'Time that the ledger takes to admit or refuse a message',
  }).of();
  readonly #settlement = this.#histogram('turnpike_settlement_seconds', OWN_SECONDS, {
    help: 'Time from the end of a message until the ledger has made it durable',
  }).of();
  readonly #batchBundles = this.#histogram('turnpike_ledger_batch_bundles', BUNDLES, {
    help: 'Bundles of operations in a ledger batch',
  }).of();
  readonly #commit = this.#histogram('turnpike_ledger_commit_seconds', OWN_SECONDS, {
    help: 'Time from the decision on a ledger batch until it is durable',
  }).of();
  readonly #attempts = this.#registry.counter({
    name: 'turnpike_upstream_attempts_total',
    help: 'Attempts of ended messages, by result',
    labels: { provider: null, result: ATTEMPT_RESULTS },
  });
  readonly #attemptDuration = this.#histogram('turnpike_upstream_attempt_seconds', UPSTREAM_SECONDS, {
    help: 'Time from the start of an attempt until it fails, or its first events or whole message arrive',
    labels: { provider: null },
  });
  readonly #deliveryAttempts = this.#registry.counter({
    name: 'turnpike_delivery_attempts_total',
    help: 'Attempts to deliver an event to a destination, on this node',
    labels: { kind: DESTINATION_KINDS, result: ['accepted', 'failed'] },
  });
  readonly #internalFailures = this.#countsBy('place', FAILURE_PLACES, {
    name: 'turnpike_internal_failures_total',
    help: 'Failures of background work that were retried or passed over',
  });
  readonly #tokenCounts = this.#countsBy('result', TOKEN_COUNT_RESULTS, {
    name: 'turnpike_token_counts_total',
    help: 'Token counts by the tokenizer, by result',
  });
  readonly #tokenCount = this.#histogram('turnpike_token_count_seconds', COUNT_SECONDS, {
    help: 'Time of a token count by the tokenizer, including its wait',
  }).of();
  readonly #eventLoopDelay = this.#histogram('turnpike_event_loop_delay_seconds', OWN_SECONDS, {
    help: 'Delay of timers on the event loop',
  }).of();

  #catalog: Gateway['catalog'] | null = null;

  /** Adds gauges, and finds the accounts that have metrics; called once, when all readings are available. */
  addReadings(readings: Readings): Promise<void> {
    this.#catalog = readings.gateway.catalog;
    this.#accounts.begin(readings.accounts);
    addGauges(this.#registry, readings, this.#health);
    return this.#accounts.refresh();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics in Prometheus text format. */
  async scrape(): Promise<string> {
    await this.#accounts.refresh();
    const { providers, models } = this.#catalog?.() ?? { providers: new Map(), models: new Map() };
    // At zero, so that the first failure or write-off is an increase. A model of a list begins with its first message: all of them
    // could fill the bound on series.
    for (const provider of providers.keys()) if (!this.#attemptsOf.has(provider)) this.#findAttempts(provider);
    for (const { name, entry } of models.values()) if (entry === null) this.#beginWriteOffs(name);
    return this.#registry.scrape();
  }

  /** An event was sent to a destination. */
  countDelivery(kind: string, isAccepted: boolean): void {
    this.#deliveryAttempts.of(kind, isAccepted ? 'accepted' : 'failed').value++;
  }

  /** Health of a provider in the last attempts of ended messages. */
  health(provider: string): Health {
    return this.#health.of(provider);
  }

  /** An admitted message has ended. */
  countMessage(message: MessageReport, nowMs: number): void {
    const { record, clientRequest, code, disbelieved, contradicted, unknown, writeOffReason } = message;
    const series = this.#find(record.model, record.provider ?? 'none', record.group, record.stream);
    add(series.outcomes, record.outcome);
    series.tokens.input.value += record.inputTokens;
    series.tokens.output.value += record.outputTokens;
    series.tokens.cacheRead.value += record.cacheReadTokens;
    series.tokens.cacheWrite5m.value += record.cacheWrite5mTokens;
    series.tokens.cacheWrite1h.value += record.cacheWrite1hTokens;
    series.cost.value += record.cost / NANO_PER_USD;
    if (record.providerCost !== null) series.providerCost.value += record.providerCost / NANO_PER_USD;
    if (writeOffReason !== null)
      this.#writtenOff.of(record.model, writeOffReason).value += record.writtenOff / NANO_PER_USD;
    add(this.#usageSources, record.usageSource);
    this.#usageUnknown.value += unknown.length;
    this.#usageDisbelieved.value += disbelieved.length;
    this.#usageContradicted.value += contradicted.length;
    if (code !== null) add(this.#errors, code);
    for (const attempt of record.attempts) this.#countAttempt(attempt, nowMs);
    this.#observeTimes(series, record.stream, clientRequest.times);
    for (const name of message.tagsInMetrics) this.#countTag(name, record);
    this.#accounts.countMessage(message);
  }

  /** Clients choose values: beyond a number of them, and without the tag, `other` and `none` count. */
  #countTag(name: string, { tags, cost }: MessageReport['record']): void {
    const value = Object.hasOwn(tags, name) ? (tags[name] ?? NO_VALUE) : NO_VALUE;
    const values = this.#valuesOfTag.get(name) ?? new Set();
    this.#valuesOfTag.set(name, values);
    if (!values.has(value) && values.size < bounds.tagMetricValuesMax) values.add(value);
    const shown = values.has(value) ? value : OTHER_VALUE;
    this.#taggedMessages.of(name, shown).value++;
    this.#taggedCost.of(name, shown).value += cost / NANO_PER_USD;
  }

  /** Any other request was answered. */
  countAnswer({ failure, clientRequest }: Answered): void {
    if (failure !== null) add(this.#refusals, failure.code);
    if (clientRequest === null) return;
    if (failure !== null && clientRequest.caller !== null)
      this.#accounts.countRefusal(clientRequest.caller, failure.code);
    if (clientRequest.replayOf !== null) this.#replays.value++;
    this.#observeAdmission(clientRequest.times);
  }

  /** The ledger committed a batch. */
  countBatch({ bundles, ms }: { bundles: number; ms: number }): void {
    this.#batchBundles.observe(bundles);
    this.#commit.observe(ms / 1000);
  }

  /** The tokenizer counted a text, or could not. */
  countTokenCount({ result, seconds }: EndedCount): void {
    add(this.#tokenCounts, result);
    this.#tokenCount.observe(seconds);
  }

  /** Background work failed and is retried or passed over. */
  countInternalFailure(place: FailurePlace): void {
    add(this.#internalFailures, place);
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

  #observeTimes(series: MessageSeries, isStream: boolean, times: MessageTimes): void {
    const { startedMs, bodyMs, upstreamMs, answeredMs, endedMs, settledMs } = times;
    this.#observeAdmission(times);
    if (settledMs !== null && endedMs !== null) {
      this.#settlement.observe((settledMs - endedMs) / 1000);
      series.duration.observe((settledMs - startedMs) / 1000);
    }
    if (answeredMs === null) return;
    if (isStream) series.firstToken.observe((answeredMs - startedMs) / 1000);
    // A whole message is sent after its settlement; of a stream only the end waits for it.
    const begunMs = isStream ? answeredMs : settledMs;
    if (begunMs !== null) series.added.observe(Math.max(0, begunMs - startedMs - bodyMs - upstreamMs) / 1000);
  }

  #observeAdmission({ askedMs, admittedMs }: MessageTimes): void {
    if (askedMs !== null && admittedMs !== null) this.#admission.observe((admittedMs - askedMs) / 1000);
  }

  #find(model: string, provider: string, group: string, stream: boolean): MessageSeries {
    const ofModel = this.#seriesOf.get(model);
    if (ofModel !== undefined)
      for (const series of ofModel)
        if (series.provider === provider && series.group === group && series.stream === stream) return series;
    return this.#makeSeries(model, provider, group, stream);
  }

  #beginWriteOffs(model: string): void {
    for (const reason of WRITE_OFF_REASONS) this.#writtenOff.of(model, reason);
  }

  #makeSeries(model: string, provider: string, group: string, stream: boolean): MessageSeries {
    if (this.#seriesCount++ >= bounds.metricSeriesMax) {
      this.#seriesOf.clear(); // looked up again when needed
      this.#seriesCount = 1;
    }
    this.#beginWriteOffs(model);
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

  #count(terms: FamilyTerms): Count {
    return this.#registry.counter(terms).of();
  }

  /** The series of a metric with one label, by value. */
  #countsBy(label: string, values: readonly string[], terms: FamilyTerms): Map<string, Count> {
    const family = this.#registry.counter({ ...terms, labels: { [label]: values } });
    return new Map(values.map((value) => [value, family.of(value)]));
  }

  #histogram(name: string, upperBounds: readonly number[], terms: Omit<FamilyTerms, 'name'>) {
    return this.#registry.histogram({ name, ...terms }, upperBounds);
  }
}

function add(counts: ReadonlyMap<string, Count>, value: string): void {
  const count = counts.get(value);
  if (count !== undefined) count.value++;
}
