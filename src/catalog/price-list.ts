// The models and list prices that this version brings along, for a first start with a provider's
// key. An operator's own file takes their place; nothing here changes prices that stand.

import { assert } from '../base/assert.ts';
import { storedModel } from './document.ts';
import { type Fault, formatFault, readPart } from './fault.ts';
import priceList from './price-list.json' with { type: 'json' };
import type { CatalogDocument } from './store.ts';

/** When what comes with the service was made: the day of its prices. */
export const PRICE_LIST_MS = Date.parse(priceList.as_of);

/** The known models of a kind of provider, each with one route to the provider of the same name. None for other kinds. */
export function catalogueFor(kind: string): { models: CatalogDocument[] } {
  const kinds: Record<string, Record<string, object>> = priceList.kinds;
  const models = Object.hasOwn(kinds, kind) ? Object.entries(kinds[kind] ?? {}) : [];
  return { models: models.map(([name, members]) => listedModel(name, members, kind)) };
}

function listedModel(name: string, members: object, provider: string): CatalogDocument {
  const faults: Fault[] = [];
  const created_at = new Date(PRICE_LIST_MS).toISOString();
  const document = readPart(storedModel, { ...members, routes: [{ provider }], created_at }, [name], faults);
  assert(document !== null, `the price list is wrong: ${faults.map(formatFault).join('; ')}`);
  return { kind: 'model', name, origin: 'start', document };
}
