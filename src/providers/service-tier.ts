// Service tiers at providers: the words that request one, and the tier that a provider says has served an answer. Tiers differ
// in price, and an account's settings may choose one.

import {
  dearerTier,
  type JsonObject,
  type JsonValue,
  type ServiceTier,
  servedTier,
  textOf,
  tierOf,
} from '../wire/wire.ts';

/** The words by which a provider is asked for its tiers, which are those that it has. */
export type TierWords = Readonly<Partial<Record<ServiceTier, string>>>;

/**
 * OpenAI renamed its priority tier to fast, and takes both words (https://developers.openai.com/api/docs/guides/fast-mode and
 * https://developers.openai.com/api/docs/guides/ultrafast-mode, November 2026). Without a tier, a project uses its own default,
 * which may cost more, so the standard one is requested as well.
 */
export const OPENAI_TIERS: TierWords = {
  standard: 'default',
  fast: 'priority',
  flex: 'flex',
  ultrafast: 'ultrafast',
};
/** https://learn.microsoft.com/azure/foundry/openai/concepts/priority-processing (29 November 2026). */
export const AZURE_TIERS: TierWords = { fast: 'priority', flex: 'flex' };
/** https://console.groq.com/docs/service-tiers (29 November 2026). */
export const GROQ_TIERS: TierWords = { flex: 'flex' };
/**
 * https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html; the Gemini API and Vertex AI use the same
 * words (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo; 29 November 2026).
 */
export const CLOUD_TIERS: TierWords = { fast: 'priority', flex: 'flex' };

export function isCloudTier(tier: ServiceTier): boolean {
  return tier in CLOUD_TIERS;
}

/** The word for the tier that a message requests; null: nothing is sent. */
export function tierWord(words: TierWords, body: JsonObject): string | null {
  return words[tierOf(body)] ?? null;
}

/** `service_tier` of a request with OpenAI's names. */
export function requestedTier(words: TierWords, body: JsonObject): JsonObject {
  const service_tier = tierWord(words, body);
  return service_tier === null ? {} : { service_tier };
}

/** Nothing is said about the tier that served. */
const UNTOLD: readonly string[] = ['', 'auto', 'unspecified', 'service_tier_unspecified', 'traffic_type_unspecified'];
/** The tier with the listed rates, and capacity that the operator has reserved. Names of Groq, Bedrock and Google included. */
const STANDARD: readonly string[] = [
  ...['default', 'standard', 'on_demand', 'scale', 'reserved', 'provisioned_throughput'],
];
/** OpenAI calls the same tier by both of the first names, and answers with either, by the model. */
const FAST: readonly string[] = ['priority', 'fast', 'on_demand_priority'];
const FLEX: readonly string[] = ['flex', 'on_demand_flex'];

const NO_MEMBERS: JsonObject = {};

/**
 * Members of a message's usage that tell of the tier: `speed` for the standard and the fast one, else `service_tier`. The
 * tier is a name, or an object with it (Bedrock).
 */
export function tierMembers(...told: readonly (JsonValue | undefined)[]): JsonObject {
  let members = NO_MEMBERS;
  for (const tier of told) {
    const name = (textOf(tier) || textOf((tier as JsonObject | null | undefined)?.['type'])).toLowerCase();
    if (UNTOLD.includes(name)) continue;
    const named = membersOf(name);
    if (members === NO_MEMBERS || isDearer(named, members)) members = named;
  }
  return members;
}

function membersOf(name: string): JsonObject {
  if (STANDARD.includes(name)) return { speed: 'standard' };
  return FAST.includes(name) ? { speed: 'fast' } : { service_tier: FLEX.includes(name) ? 'flex' : name };
}

/** The operator learns of a tier without a name of ours, beside whatever other tier. */
function isDearer(one: JsonObject, other: JsonObject): boolean {
  const [tier, otherTier] = [servedTier(one), servedTier(other)];
  if (tier === null || otherTier === null) return tier === null;
  return tier !== otherTier && dearerTier(tier, otherTier) === tier;
}
