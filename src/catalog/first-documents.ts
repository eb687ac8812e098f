// What stands in the catalogue of a new installation (contract.md, "First start"), so that it
// answers a message before anybody has configured anything.

import { assert } from '../base/assert.ts';
import { SANDBOX_KIND } from './document.ts';
import { formatFault } from './fault.ts';
import { planApply } from './plan-apply.ts';
import { catalogueFor, PRICE_LIST_MS } from './price-list.ts';
import type { CatalogDocument } from './store.ts';

const ANTHROPIC = 'anthropic'; // the kind, and the name of the provider that is made of it

/**
 * The sandbox with its models and the groups `default` and `sandbox`; with a credential, sealed with
 * the context "provider:anthropic", also that provider and its models at their list prices.
 */
export function firstDocuments(sandboxModels: readonly string[], anthropicKeySealed: string | null): CatalogDocument[] {
  const sandboxModel = { price: { input: '1', output: '5' }, routes: [{ provider: 'sandbox' }] };
  const anthropicProvider = anthropicKeySealed === null ? {} : { [ANTHROPIC]: { kind: ANTHROPIC } };
  const file = {
    providers: { sandbox: { kind: SANDBOX_KIND }, ...anthropicProvider },
    models: Object.fromEntries(sandboxModels.map((name) => [name, sandboxModel])),
    groups: { default: { models: ['*'] }, sandbox: { models: ['sandbox-*'] } },
  };
  const { faults, put } = planApply([], file, {
    prune: false,
    origin: 'start',
    kinds: [SANDBOX_KIND, ANTHROPIC],
    nowMs: PRICE_LIST_MS,
    seal: (text) => text, // never asked: the file has no credential
    unseal: (sealed) => sealed,
  });
  assert(faults.length === 0, `the first documents are wrong: ${faults.map(formatFault).join('; ')}`);
  const withKey = ({ document, ...entry }: CatalogDocument): CatalogDocument =>
    entry.kind === 'provider' && entry.name === ANTHROPIC
      ? { ...entry, document: { ...document, api_key_sealed: anthropicKeySealed } }
      : { ...entry, document };
  const models = anthropicKeySealed === null ? [] : catalogueFor(ANTHROPIC).models;
  return [...put.map(withKey), ...models];
}
