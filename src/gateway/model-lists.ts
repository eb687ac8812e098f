// The models that providers list, for entries of the catalog with `*`. A list is read when it is first needed, again while its
// models are used, and when a name is requested that it does not have. The last list stays if a reading fails.

import {
  type CallerScope,
  type CatalogHolder,
  type ListSource,
  listSourceOf,
  type Model,
  type ModelList,
  modelOf,
  offerOf,
  type ProviderSettings,
  patternOf,
  sameSource,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type Provider, ProviderFault } from '../providers/providers.ts';
import type { Serves } from '../wire/wire.ts';

/** The last reading of a provider's list, for operators. */
export interface ListState {
  /** Number of usable names; null if it was never read. */
  models: number | null;
  readAtMs: number | null;
  /** Why the last reading failed; null if it did not. */
  failure: string | null;
}

interface ProviderList extends ListState {
  /** A list of another source is none. null: it cannot be read. */
  source: ListSource | null;
  startedMs: number;
  failuresInARow: number;
  reading: Promise<void> | null;
}

/** A dot segment could change the path of a request. */
const DOT_SEGMENT = /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/;

export class ModelLists {
  readonly #holder: Pick<CatalogHolder, 'current' | 'setList'>;
  readonly #kinds: ReadonlyMap<string, Provider>;
  readonly #nowMs: () => number;
  readonly #onState: (provider: string, failure: string | null) => void;
  readonly #lists = new Map<string, ProviderList>();
  readonly #providersOf = new WeakMap<ReadonlyMap<string, Model>, readonly string[]>();

  /** `onState` is called when a list cannot be read, once until it can be read again, and then with null. */
  constructor(
    holder: Pick<CatalogHolder, 'current' | 'setList'>,
    kinds: ReadonlyMap<string, Provider>,
    nowMs: () => number,
    onState: (provider: string, failure: string | null) => void,
  ) {
    this.#holder = holder;
    this.#kinds = kinds;
    this.#nowMs = nowMs;
    this.#onState = onState;
  }

  /** Begins to read the lists that are old or were never read. Resolves when the first reading of each has ended; null: they have. */
  refresh(): Promise<unknown> | null {
    const first: Promise<void>[] = [];
    for (const settings of this.#followed()) {
      const list = this.#listOf(settings);
      const gapMs = bounds.modelListGapMs * 2 ** Math.min(list.failuresInARow, 16);
      const ageMs = list.readAtMs === null ? Math.min(gapMs, bounds.modelListAgeMsMax) : bounds.modelListAgeMsMax;
      const reading = this.#begin(settings, ageMs);
      if (list.readAtMs === null && list.failure === null && reading !== null) first.push(reading);
    }
    return first.length === 0 ? null : Promise.all(first);
  }

  /**
   * Looks for a model that the catalog does not have yet; null if there is nothing to wait for. Throws or rejects with
   * upstream_failed if it is still missing, and one of its providers has never told its models.
   */
  find(caller: CallerScope, name: string, serves: Serves): Promise<void> | null {
    const catalog = this.#holder.current;
    if (catalog.patterns.size === 0) return null;
    void this.refresh();
    if (catalog.models.has(name)) return null;
    const pattern = patternOf(catalog, name);
    const offer = pattern?.serves === serves ? offerOf(catalog, caller, modelOf(pattern, name)) : null;
    if (offer === null) return null;
    const providers = [...new Set(offer.routes.map(({ provider }) => provider))].flatMap(
      (provider) => catalog.providers.get(provider) ?? [],
    );
    const readings = providers.flatMap((settings) => this.#begin(settings, bounds.modelListGapMs) ?? []);
    if (readings.length > 0) return Promise.all(readings).then(() => this.#requireTold(name, providers));
    this.#requireTold(name, providers);
    return null;
  }

  /** null for a provider whose list is not followed. */
  stateOf(settings: ProviderSettings): ListState | null {
    return this.#followed().includes(settings) ? this.#listOf(settings) : null;
  }

  #requireTold(name: string, providers: readonly ProviderSettings[]): void {
    if (this.#holder.current.models.has(name)) return;
    if (providers.every((settings) => this.#listOf(settings).readAtMs !== null)) return;
    throw new TurnpikeError(
      'upstream_failed',
      'The provider of this model does not tell at present which models it has.',
    );
  }

  /** Providers of entries with `*`. */
  #followed(): ProviderSettings[] {
    const { patterns, providers } = this.#holder.current;
    let names = this.#providersOf.get(patterns);
    if (names === undefined) {
      names = [...new Set([...patterns.values()].flatMap(({ routes }) => routes.map(({ provider }) => provider)))];
      this.#providersOf.set(patterns, names);
      for (const name of this.#lists.keys()) if (!names.includes(name)) this.#lists.delete(name);
    }
    return names.flatMap((name) => providers.get(name) ?? []);
  }

  #listOf(settings: ProviderSettings): ProviderList {
    const { name } = settings;
    const known = this.#lists.get(name);
    const source = listSourceOf(settings);
    if (known !== undefined && isSame(known.source, source)) return known;
    const state = { models: null, readAtMs: null, failure: null, failuresInARow: 0 };
    const list = { ...state, source, startedMs: Number.NEGATIVE_INFINITY, reading: null };
    this.#lists.set(name, list);
    return list;
  }

  /** The reading in progress, or one that begins now if the last one began so long ago; null: neither. */
  #begin(settings: ProviderSettings, ageMs: number): Promise<void> | null {
    const list = this.#listOf(settings);
    if (list.reading !== null) return list.reading;
    const nowMs = this.#nowMs();
    if (nowMs - list.startedMs < ageMs) return null;
    list.startedMs = nowMs;
    list.reading = this.#read(settings, list).finally(() => {
      list.reading = null;
    });
    return list.reading;
  }

  /** Never rejects. */
  async #read(settings: ProviderSettings, list: ProviderList): Promise<void> {
    const { name } = settings;
    const before = list.failure;
    const found = await this.#ask(settings, list).catch((thrown) =>
      thrown instanceof Error ? thrown.message : String(thrown),
    );
    if (this.#lists.get(name) !== list) return; // its source changed meanwhile
    if (typeof found === 'string') {
      list.failure = found;
      list.failuresInARow++;
    } else {
      this.#holder.setList(name, found);
      const models = found.names.length;
      Object.assign(list, { models, readAtMs: this.#nowMs(), failure: null, failuresInARow: 0 });
    }
    if ((list.failure === null) !== (before === null)) this.#onState(name, list.failure);
  }

  /** The usable names, sorted, because some providers order them by their last use. */
  async #ask(settings: ProviderSettings, { models }: ProviderList): Promise<ModelList> {
    const source = listSourceOf(settings);
    if (source === null) throw new ProviderFault('credentials', 'it has no credential that is for all accounts');
    const { credentials: _, residency: __, ...address } = settings;
    const endpoint = { ...address, credential: source.credential };
    const signal = AbortSignal.timeout(bounds.modelListMsMax);
    const given = (await this.#kinds.get(settings.kind)?.listModels?.(endpoint, signal)) ?? [];
    const usable = [...new Set(given.map(({ name }) => name))].filter((name) => name !== '' && !DOT_SEGMENT.test(name));
    // Some servers have an empty list while they start.
    if (usable.length === 0 && models !== null && models > 0) throw new ProviderFault('failed', 'its list is empty');
    return { ...source, names: usable.slice(0, bounds.modelListNamesMax).sort() };
  }
}

function isSame(one: ListSource | null, other: ListSource | null): boolean {
  return one === null || other === null ? one === other : sameSource(one, other);
}
