// Estimates the output of messages, so that a hold covers the cost closely and a cut message is billed for its
// output. An account is estimated by its own samples; samples of several other accounts together bound the bills and
// holds of an account without enough of its own. Never fails a message.

import { FairCache } from '../base/fair-cache.ts';
import { bounds } from '../config/config.ts';
import type { AccountDocument, Speeds } from './account-samples.ts';
import { AccountSamples, isAccountDocument, isEnoughText } from './account-samples.ts';
import type { MessageCounter } from './count-message.ts';
import { BASELINE_ESTIMATE, type OutputEstimate, type TextFit, VOTES_MAX } from './output-estimate.ts';

const STREAM_TOKENS_LEAST = 128;
const STREAM_MS_LEAST = 100; // shorter streams were buffered and say nothing about the model's speed
const TOKENS_PER_SECOND_MOST = 10_000;
const ACCOUNTS_LEAST = 3; // before other accounts' samples count: the median of three votes is not a single attacker's
const ACCOUNTS_PER_CHANGE = 8;
// Bounds on the thinking speed that other accounts' samples can set, in tokens per second.
const OTHERS_LOW_SPEED_MOST = 30;
const OTHERS_TOP_SPEED_LEAST = BASELINE_ESTIMATE.topTokensPerSecond / 2;
const OTHERS_TOP_SPEED_MOST = BASELINE_ESTIMATE.topTokensPerSecond * 2;

/** The samples of one model as JSON to store: the accounts sampled last, most recent at the end. */
export interface SampleDocument {
  version: 2;
  accounts: AccountDocument[];
}

interface ModelSamples {
  /** By account id; most recent at the end. */
  accounts: Map<number, AccountSamples>;
  /** For accounts without enough samples; null if outdated. */
  others: OutputEstimate | null;
  /** Changes of samples since `others` was made. */
  changes: number;
}

const NO_VOTES: readonly TextFit[] = Object.freeze([]);

export class Estimates {
  readonly #models = new Map<string, ModelSamples>();
  /** Samples of all models, by account. */
  readonly #recent = new FairCache<AccountSamples, ModelSamples>(bounds.sampledAccountsMax);
  /** The most recent of its model and its account. */
  #latest: AccountSamples | null = null;
  readonly #changed = new Set<string>();

  /** `stored` is the output of `takeChanged`. Invalid documents are ignored. */
  constructor(stored: Iterable<[model: string, document: unknown]> = []) {
    for (const [name, json] of stored)
      for (const document of readAccounts(json))
        this.#keep(this.#modelOf(name), new AccountSamples(document.account, document));
  }

  output(model: string, account: number): OutputEstimate {
    const known = this.#models.get(model);
    if (known === undefined) return BASELINE_ESTIMATE;
    const samples = known.accounts.get(account);
    const [own, speeds] = [samples?.text ?? null, samples?.speeds ?? null];
    if (own !== null && speeds !== null) return estimateOf(own, NO_VOTES, speeds.top, speeds.low);
    known.others ??= estimateByOthers(known);
    const { others } = known;
    if (own === null && speeds === null) return others;
    return estimateOf(
      own,
      others.votes,
      speeds?.top ?? others.topTokensPerSecond,
      speeds?.low ?? others.lowTokensPerSecond,
    );
  }

  /** Whether to sample a message of the account now: with many samples, a few per second are enough. */
  takeTurn(model: string, account: number, nowMs: number): boolean {
    return this.#models.get(model)?.accounts.get(account)?.takeTurn(nowMs) ?? true;
  }

  /** Adds a sample from a finished message with reported output; ignores others. */
  addSample(model: string, account: number, counter: MessageCounter): void {
    const sample = counter.sample();
    if (sample === null) return;
    const { visible, streamedMs, tokens } = sample;
    const isText = visible !== null && visible.tokens > 0 && isEnoughText(visible.classes);
    const isTimed = streamedMs !== null && streamedMs >= STREAM_MS_LEAST && tokens >= STREAM_TOKENS_LEAST;
    if (!isText && !isTimed) return;
    const samplesOfModel = this.#modelOf(model);
    const samples = samplesOfModel.accounts.get(account) ?? new AccountSamples(account);
    this.#keep(samplesOfModel, samples);
    const isChangedByText = isText && samples.addText(visible.classes, visible.tokens);
    const isChangedBySpeed =
      isTimed && samples.addSpeed(Math.min(TOKENS_PER_SECOND_MOST, (tokens * 1000) / streamedMs));
    if (isChangedByText || isChangedBySpeed) outdate(samplesOfModel);
    this.#changed.add(model);
  }

  /** Models changed since the last call, at most `max`; the rest follow in the next call. */
  takeChanged(max: number): [model: string, document: SampleDocument][] {
    const taken: [string, SampleDocument][] = [];
    for (const name of this.#changed) {
      if (taken.length >= max) break;
      this.#changed.delete(name);
      const model = this.#models.get(name);
      if (model === undefined) continue;
      const accounts = lastSampled(model).map((samples) => samples.document());
      model.others = null;
      taken.push([name, { version: 2, accounts }]);
    }
    return taken;
  }

  #modelOf(name: string): ModelSamples {
    const known = this.#models.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#models;
    if (this.#models.size >= bounds.sampledModelsMax && oldest !== undefined) {
      const [oldestName, { accounts }] = oldest;
      for (const samples of accounts.values()) this.#recent.delete(samples.account, samples);
      this.#models.delete(oldestName);
    }
    const model: ModelSamples = { accounts: new Map(), others: null, changes: 0 };
    this.#models.set(name, model);
    return model;
  }

  /** Makes the samples the most recent; an account with more than its share of all loses its least recent ones. */
  #keep(model: ModelSamples, samples: AccountSamples): void {
    if (samples === this.#latest) return;
    this.#latest = samples;
    model.accounts.delete(samples.account);
    model.accounts.set(samples.account, samples);
    const evicted = this.#recent.set(samples.account, samples, model);
    if (evicted === null) return;
    const [dropped, of] = evicted;
    of.accounts.delete(dropped.account);
    outdate(of);
  }
}

/** An estimate by many accounts costs more than a sample, and one of them changes it little: it is made again after several. */
function outdate(model: ModelSamples): void {
  if (++model.changes < model.accounts.size / ACCOUNTS_PER_CHANGE) return;
  model.changes = 0;
  model.others = null;
}

function estimateOf(own: TextFit | null, votes: readonly TextFit[], top: number, low: number): OutputEstimate {
  return { own, votes, topTokensPerSecond: top, lowTokensPerSecond: low };
}

/** One vote per account, of those sampled last. */
function estimateByOthers(model: ModelSamples): OutputEstimate {
  const votes: TextFit[] = [];
  const speeds: Speeds[] = [];
  for (const samples of lastSampled(model)) {
    if (samples.text !== null) votes.push(samples.text);
    if (samples.speeds !== null) speeds.push(samples.speeds);
  }
  const isTimed = speeds.length >= ACCOUNTS_LEAST;
  const { topTokensPerSecond, lowTokensPerSecond } = BASELINE_ESTIMATE;
  const top = isTimed ? median(speeds.map((speed) => speed.top)) : topTokensPerSecond;
  const low = isTimed ? median(speeds.map((speed) => speed.low)) : lowTokensPerSecond;
  return {
    own: null,
    votes: votes.length >= ACCOUNTS_LEAST ? votes.slice(-VOTES_MAX) : [],
    topTokensPerSecond: Math.min(OTHERS_TOP_SPEED_MOST, Math.max(OTHERS_TOP_SPEED_LEAST, top)),
    lowTokensPerSecond: Math.min(OTHERS_LOW_SPEED_MOST, low),
  };
}

/** As many as are stored, so that a restart changes nothing. */
function lastSampled({ accounts }: ModelSamples): AccountSamples[] {
  return [...accounts.values()].slice(-bounds.sampledAccountsStoredMax);
}

function median(values: number[]): number {
  return values.sort((left, right) => left - right)[(values.length - 1) >> 1] as number;
}

function readAccounts(json: unknown): AccountDocument[] {
  const { version, accounts } = (typeof json === 'object' && json !== null ? json : {}) as Partial<SampleDocument>;
  if (version !== 2 || !Array.isArray(accounts) || accounts.length > bounds.sampledAccountsStoredMax) return [];
  return accounts.every(isAccountDocument) ? accounts : [];
}

export interface SampleStore {
  /** As saved by this version or another. */
  loadSamples(): Promise<[model: string, document: unknown][]>;
  saveSamples(documents: readonly [model: string, document: SampleDocument][]): Promise<void>;
}
