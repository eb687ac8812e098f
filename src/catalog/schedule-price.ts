// Plans a later version of a model's price, or cancels one, as a document of apply. Pure.

import { parseTimeMs } from '../base/checked-number.ts';
import type { JsonObject, Serves } from '../wire/wire.ts';
import { pricesFrom } from './build-catalog.ts';
import { describeDocuments } from './describe-documents.ts';
import { fillRates, type PriceChangeInput, priceInput, storedModel } from './document.ts';
import { type Fault, readPart } from './fault.ts';
import type { ModelPrice } from './model.ts';
import type { CatalogDocument } from './store.ts';

export interface PlannedPrices {
  document: { models: Record<string, object> };
  /** The scheduled or canceled version. */
  change: PriceChangeInput;
  /** The price came from the price list; it is stated from now on. */
  leavesList: boolean;
}

/** Why it cannot be planned: there is no such model, or no such version; the time is taken, or it has come. */
export type PriceRefusal = 'no model' | 'no version' | 'taken' | 'in force';

/** A price as in an applied file; null after adding its faults. */
export function readPrice(given: object, serves: Serves, faults: Fault[]): PriceChangeInput | null {
  const price = readPart(priceInput, fillRates(given as JsonObject, serves), ['price'], faults);
  return price && { from: '', ...price };
}

/** The rates of a version, without those of later ones. */
export function priceOfChange({ from: _, ...price }: PriceChangeInput): ModelPrice {
  return pricesFrom(price, []);
}

export function schedulePrice(
  documents: readonly CatalogDocument[],
  name: string,
  change: PriceChangeInput,
): PlannedPrices | PriceRefusal {
  return planPrices(documents, name, (changes) => {
    if (changes.some(({ from }) => from === change.from)) return 'taken';
    const inOrder = [...changes, change].sort((one, other) => (one.from < other.from ? -1 : 1));
    return { changes: inOrder, change };
  });
}

export function cancelPrice(
  documents: readonly CatalogDocument[],
  name: string,
  from: string,
  nowMs: number,
): PlannedPrices | PriceRefusal {
  return planPrices(documents, name, (changes) => {
    const change = changes.find((one) => one.from === from);
    if (change === undefined) return 'no version';
    if ((parseTimeMs(from) ?? 0) <= nowMs) return 'in force';
    return { changes: changes.filter((one) => one !== change), change };
  });
}

type Planned = { changes: PriceChangeInput[]; change: PriceChangeInput } | PriceRefusal;

function planPrices(
  documents: readonly CatalogDocument[],
  name: string,
  plan: (changes: PriceChangeInput[]) => Planned,
): PlannedPrices | PriceRefusal {
  const entry = documents.find((one) => one.kind === 'model' && one.name === name);
  const stored = entry === undefined ? undefined : storedModel.safeParse(entry.document).data;
  const written = entry === undefined ? undefined : describeDocuments([entry]).document.models[name];
  if (stored === undefined || written === undefined) return 'no model';
  const planned = plan(stored.price_changes);
  if (typeof planned === 'string') return planned;
  const { catalogue, ...members } = { catalogue: undefined, ...written };
  const model = { ...members, price: stored.price, price_changes: planned.changes };
  return {
    document: { models: { [name]: model } },
    change: planned.change,
    leavesList: stored.price_source !== undefined,
  };
}
