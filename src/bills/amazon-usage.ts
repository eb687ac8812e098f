// The usage types by which AWS bills Bedrock.

import { type BillFeature, STANDARD } from './bill-line.ts';
import { tierOnBill } from './tiers.ts';

const REGION = /^[A-Z]{2,4}\d?[A-Z]?\d?-/;
/** The order decides: the names of cached tokens have "input", too. */
const FEATURES: readonly (readonly [RegExp, BillFeature])[] = [
  [/[-_:]cache-?read-?input-?token-?(?:count|s)?/i, 'cache_read'],
  [/[-_:]cache-?write-?input-?token-?(?:count|s)?/i, 'cache_write'],
  [/[-_:](?:mantle-)?input-?token(?:s|-?count)/i, 'input'],
  [/[-_:](?:mantle-)?output-?token(?:s|-?count)/i, 'output'],
];

/**
 * Model, feature and tier of a usage type such as "USE1-Claude4.6Sonnet-cache-read-input-token-count-flex". `service` names
 * the model of types such as "USE1-MP:USE1_InputTokenCount-Units", which do not.
 * https://docs.aws.amazon.com/bedrock/latest/userguide/cost-mgmt-understanding-cur-data.html, 2026-11-29
 */
export function readAmazonUsage(
  usageType: string,
  service: string,
): { model: string; feature: BillFeature; tier: string } {
  const type = usageType.replace(REGION, '');
  const found = FEATURES.find(([pattern]) => pattern.test(type));
  const [pattern, feature] = found ?? [null, 'other' as const];
  const before = pattern === null ? type : type.slice(0, type.search(pattern));
  const after = pattern === null ? '' : type.slice(type.search(pattern));
  const isUnnamed = before === '' || before.startsWith('MP:');
  const model = isUnnamed ? service.replace(/ *\(Amazon Bedrock Edition\)$/i, '') : before;
  const tier =
    /-(batch|flex|priority|reserved)(?:-|$)/i.exec(after)?.[1] ?? (/^batch/i.test(type) ? 'batch' : STANDARD);
  return { model, feature: tier.toLowerCase() === 'batch' ? 'batch' : feature, tier: tierOnBill(tier) };
}

/** Tokens in the unit of a quantity; null for a unit that is not one of tokens. */
export function tokensInUnit(unit: string): number | null {
  const lower = unit.trim().toLowerCase();
  if (/^(?:1k|thousand|1000) ?tokens?$/.test(lower)) return 1_000;
  if (/^(?:1m|million|1000000) ?tokens?$/.test(lower)) return 1_000_000;
  return /^(?:token|tokens|tokencount|token count)$/.test(lower) ? 1 : null;
}
