// Catalogs for the tests of this folder, created from a file as in an installation.

import {
  buildCatalog,
  type Catalog,
  type CatalogDocument,
  type ModelPrice,
  planApply,
} from '../../../src/catalog/catalog.ts';
import type { PlanOptions } from '../../../src/catalog/plan-apply.ts';

export const KINDS = ['anthropic', 'foundry', 'openai', 'sandbox'];
export const NOW_MS = Date.UTC(2026, 10, 20);

/** A transparent seal, so that a test sees which text was sealed for which use. */
export const seal = (text: string, context: string) => `sealed(${context})${Buffer.from(text).toString('base64')}`;
export function unseal(sealed: string, context: string): string {
  const head = `sealed(${context})`;
  if (!sealed.startsWith(head)) throw new Error('sealed for another use');
  return Buffer.from(sealed.slice(head.length), 'base64').toString();
}

export function planOptions(changes: Partial<PlanOptions> = {}): PlanOptions {
  return { prune: false, origin: 'file', kinds: KINDS, nowMs: NOW_MS, seal, unseal, ...changes };
}

/** The documents after applying a file that has no faults. */
export function apply(
  current: readonly CatalogDocument[],
  file: unknown,
  changes: Partial<PlanOptions> = {},
): CatalogDocument[] {
  const plan = planApply(current, file, planOptions(changes));
  if (plan.faults.length > 0) throw new Error(JSON.stringify(plan.faults));
  const gone = new Set([...plan.put, ...plan.remove].map(({ kind, name }) => `${kind} ${name}`));
  return [...current.filter(({ kind, name }) => !gone.has(`${kind} ${name}`)), ...plan.put];
}

export function catalogOf(file: unknown, changes: Partial<PlanOptions> = {}): Catalog {
  return buildCatalog(apply([], file, changes), unseal);
}

/** The price that a file defines for a model. */
export function priceOf(price: object): ModelPrice {
  const file = {
    providers: { sandbox: { kind: 'sandbox' } },
    models: { priced: { price, routes: [{ provider: 'sandbox' }] } },
  };
  const model = catalogOf(file).models.get('priced');
  if (model === undefined) throw new Error('the model is missing');
  return model.price;
}
