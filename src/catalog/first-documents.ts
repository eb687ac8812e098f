// The catalog of a new installation, which answers a message without configuration (README.md).

import { assert } from '../base/assert.ts';
import { parseTimeMs } from '../base/checked-number.ts';
import { SANDBOX_KIND } from './document.ts';
import { formatFault } from './fault.ts';
import { planApply } from './plan-apply.ts';
import { includedPriceList, listedModels } from './price-list/price-list.ts';
import type { CatalogDocument } from './store.ts';

/** Families on the price list, and the names of their providers. */
export const firstFamilies = ['anthropic', 'openai', 'gemini'] as const;
export type FirstFamily = (typeof firstFamilies)[number];

/** The provider kind of each family: of two possible ones, the one that allows thinking with tools. */
export const firstKinds: Readonly<Record<FirstFamily, string>> = {
  anthropic: 'anthropic',
  openai: 'openai-responses',
  gemini: 'gemini',
};

const MESSAGES = { price: { input: '1', output: '5' } };
/** Models of the sandbox with other prices: for other uses than messages, and for sound in them. */
const OTHER_SANDBOX_MODELS: Readonly<Record<string, object>> = {
  'sandbox-embedding': { serves: 'embeddings', price: { input: '1' } },
  'sandbox-rerank': { serves: 'rerank', price: { units: { per_thousand_searches: '2' } } },
  'sandbox-moderation': { serves: 'moderation', price: { input: '1' } },
  'sandbox-image': { serves: 'images', price: { units: { per_image: '0.01' } } },
  'sandbox-speech': { serves: 'speech', price: { units: { per_million_characters: '15' } } },
  'sandbox-voice': { price: { ...MESSAGES.price, units: { audio_input: '10', audio_output: '20' } } },
  'sandbox-transcription': { serves: 'transcription', price: { units: { per_hour: '0.36' } } },
};

/**
 * The sandbox with its models and the groups `default` and `sandbox`; for each family with a credential, sealed with
 * the context "provider:<family>", also that provider and its models, with list prices as prices and costs, except for
 * models retired by `nowMs`, when the installation and its models are created.
 */
export function firstDocuments(
  sandboxModels: readonly string[],
  sealedKeys: Readonly<Partial<Record<FirstFamily, string>>>,
  nowMs: number = listMs(),
): CatalogDocument[] {
  const routes = [{ provider: SANDBOX_KIND }];
  const families = firstFamilies.filter((family) => sealedKeys[family] !== undefined);
  const file = {
    providers: {
      sandbox: { kind: SANDBOX_KIND },
      ...Object.fromEntries(families.map((family) => [family, { kind: firstKinds[family] }])),
    },
    models: {
      ...Object.fromEntries(
        sandboxModels.map((name) => [name, { ...(OTHER_SANDBOX_MODELS[name] ?? MESSAGES), routes }]),
      ),
      ...Object.assign({}, ...families.map((family) => modelsOf(family, nowMs))),
    },
    groups: { default: { models: ['*'] }, sandbox: { models: ['sandbox-*'] } },
  };
  const { faults, put } = planApply([], file, {
    prune: false,
    origin: 'start',
    kinds: [SANDBOX_KIND, ...Object.values(firstKinds)],
    nowMs,
    seal: (text) => text, // never called: the file has no credentials
    unseal: (sealed) => sealed,
  });
  assert(faults.length === 0, `the initial documents are invalid: ${faults.map(formatFault).join('; ')}`);
  return put.map(({ document, ...entry }) => {
    const sealed = entry.kind === 'provider' ? sealedKeys[entry.name as FirstFamily] : undefined;
    return { ...entry, document: sealed === undefined ? document : { ...document, api_key_sealed: sealed } };
  });
}

/** The date of the price list. */
function listMs(): number {
  return parseTimeMs(includedPriceList().asOf) ?? 0;
}

/** The family's models that are not retired, in the form of a file. */
function modelsOf(family: string, nowMs: number): Record<string, object> {
  const current = listedModels(family).filter(
    ({ retiresOn }) => retiresOn === null || nowMs < (parseTimeMs(retiresOn) ?? 0),
  );
  return Object.fromEntries(
    current.map(({ name, aliases }) => [
      name,
      { aliases, catalogue: true, routes: [{ provider: family, cost: 'catalogue' }] },
    ]),
  );
}
