// What stands in the catalogue of a new installation (contract.md, "First start"), so that it
// answers a message before anybody has configured anything.

import { assert } from '../base/assert.ts';
import { SANDBOX_KIND } from './document.ts';
import { formatFault } from './fault.ts';
import { planApply } from './plan-apply.ts';
import { listedModels, PRICE_LIST_MS } from './price-list/price-list.ts';
import type { CatalogDocument } from './store.ts';

/** Each is a family on the price list, and the name of the provider that is made of it. */
export const firstFamilies = ['anthropic', 'openai', 'gemini'] as const;
export type FirstFamily = (typeof firstFamilies)[number];

/** The kind of each family's provider: of the two that its models speak, the one that lets them think beside tools. */
export const firstKinds: Readonly<Record<FirstFamily, string>> = {
  anthropic: 'anthropic',
  openai: 'openai-responses',
  gemini: 'gemini',
};

/**
 * The sandbox with its models and the groups `default` and `sandbox`; for each family with a credential, sealed with
 * the context "provider:<family>", also that provider and its models, at their list prices and at that cost, but for
 * those that have been retired by `nowMs`.
 */
export function firstDocuments(
  sandboxModels: readonly string[],
  sealedKeys: Readonly<Partial<Record<FirstFamily, string>>>,
  nowMs: number = PRICE_LIST_MS,
): CatalogDocument[] {
  const sandboxModel = { price: { input: '1', output: '5' }, routes: [{ provider: SANDBOX_KIND }] };
  const families = firstFamilies.filter((family) => sealedKeys[family] !== undefined);
  const file = {
    providers: {
      sandbox: { kind: SANDBOX_KIND },
      ...Object.fromEntries(families.map((family) => [family, { kind: firstKinds[family] }])),
    },
    models: {
      ...Object.fromEntries(sandboxModels.map((name) => [name, sandboxModel])),
      ...Object.assign({}, ...families.map((family) => modelsOf(family, nowMs))),
    },
    groups: { default: { models: ['*'] }, sandbox: { models: ['sandbox-*'] } },
  };
  const { faults, put } = planApply([], file, {
    prune: false,
    origin: 'start',
    kinds: [SANDBOX_KIND, ...Object.values(firstKinds)],
    nowMs: PRICE_LIST_MS,
    seal: (text) => text, // never asked: the file has no credential
    unseal: (sealed) => sealed,
  });
  assert(faults.length === 0, `the first documents are wrong: ${faults.map(formatFault).join('; ')}`);
  return put.map(({ document, ...entry }) => {
    const sealed = entry.kind === 'provider' ? sealedKeys[entry.name as FirstFamily] : undefined;
    return { ...entry, document: sealed === undefined ? document : { ...document, api_key_sealed: sealed } };
  });
}

/** The family's models that are still to be had, as a file would have them. */
function modelsOf(family: string, nowMs: number): Record<string, object> {
  const current = listedModels(family).filter(({ retiresOn }) => retiresOn === null || nowMs < Date.parse(retiresOn));
  return Object.fromEntries(
    current.map(({ name, aliases }) => [
      name,
      { aliases, catalogue: true, routes: [{ provider: family, cost: 'catalogue' }] },
    ]),
  );
}
