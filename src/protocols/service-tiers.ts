// Service tiers in the words of each protocol: as clients request them, as providers are asked for them, and as both say which one
// served an answer. Tiers differ in price, and an account's settings may choose one.

import { TurnpikeError } from '../errors.ts';
import {
  dearerTier,
  type JsonObject,
  type JsonValue,
  type ServiceTier,
  servedTier,
  textOf,
  tierOf,
} from '../wire/wire.ts';

/** The words of a provider for its tiers, which are those that it has. */
export type TierWords = Readonly<Partial<Record<ServiceTier, string>>>;

/**
 * OpenAI renamed its priority tier to fast, and takes both words (https://developers.openai.com/api/docs/guides/fast-mode and
 * https://developers.openai.com/api/docs/guides/ultrafast-mode, November 2026). Without a tier, a project uses its own default,
 * which may cost more, so the standard one is requested as well.
 */
export const OPENAI_TIERS = {
  standard: 'default',
  fast: 'priority',
  flex: 'flex',
  ultrafast: 'ultrafast',
} as const satisfies TierWords;
/** https://learn.microsoft.com/azure/foundry/openai/concepts/priority-processing (29 November 2026). */
export const AZURE_TIERS: TierWords = { fast: 'priority', flex: 'flex' };
/** https://console.groq.com/docs/service-tiers (29 November 2026). */
export const GROQ_TIERS: TierWords = { flex: 'flex' };
/**
 * https://docs.aws.amazon.com/bedrock/latest/userguide/service-tiers-inference.html; the Gemini API and Vertex AI use the same
 * words (https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo and
 * https://ai.google.dev/api/generate-content; 29 November 2026).
 */
export const CLOUD_TIERS: TierWords = { fast: 'priority', flex: 'flex' };

export function isCloudTier(tier: ServiceTier): boolean {
  return tier in CLOUD_TIERS;
}

/** Nothing is said about the tier. */
const UNTOLD: readonly string[] = ['', 'auto', 'unspecified', 'service_tier_unspecified', 'traffic_type_unspecified'];
/** The tier with the listed rates, and capacity that the operator has reserved. Names of Groq, Bedrock and Google included. */
const STANDARD: readonly string[] = [
  ...['default', 'standard', 'on_demand', 'scale', 'reserved', 'provisioned_throughput'],
];
/** OpenAI calls the same tier by both of the first names, and answers with either, by the model. */
const FAST: readonly string[] = ['priority', 'fast', 'on_demand_priority'];
const FLEX: readonly string[] = ['flex', 'on_demand_flex'];

/** Members of a message, and of its usage, that tell of a tier: `speed` for the standard and the fast one, else `service_tier`. */
function membersOf(name: string): JsonObject {
  if (STANDARD.includes(name)) return { speed: 'standard' };
  return FAST.includes(name) ? { speed: 'fast' } : { service_tier: FLEX.includes(name) ? 'flex' : name };
}

// Requests

/** Names that a client may ask for. Google's names have no second one for the fast tier. */
const ASKED_OF_OPENAI: readonly string[] = ['auto', 'standard', 'fast', ...Object.values(OPENAI_TIERS)];
const ASKED_OF_GOOGLE: readonly string[] = [
  ...['unspecified', 'auto', 'default', 'standard', ...Object.values(CLOUD_TIERS)],
];

/** The members of a message for `service_tier` of OpenAI's clients. Throws feature_unavailable for tiers that exist for no model. */
export function tierMember(body: JsonObject): JsonObject {
  const names = 'Input should be "auto", "default", "priority", "fast", "flex" or "ultrafast"';
  return askFor(body['service_tier'] ?? 'auto', ASKED_OF_OPENAI, `service_tier: ${names}`);
}

/** The same for `serviceTier` of Google's clients. 0 is the number of the first name. */
export function googleTierMember(given: JsonValue | undefined): JsonObject {
  const name = String(given ?? 'unspecified')
    .toLowerCase()
    .replace(/^service_tier_/, '')
    .replace(/^0$/, 'unspecified');
  return askFor(name, ASKED_OF_GOOGLE, 'serviceTier: Input should be "standard", "priority" or "flex"');
}

function askFor(name: JsonValue, names: readonly string[], refusal: string): JsonObject {
  if (typeof name !== 'string' || !names.includes(name)) throw new TurnpikeError('feature_unavailable', refusal);
  const members = tierMembers(name);
  return members['speed'] === 'standard' ? {} : members;
}

/** The tier that the client asked for; null: it did not say. */
export function askedTier(body: JsonObject, message: JsonObject): ServiceTier | null {
  return (body['service_tier'] ?? null) === null ? null : tierOf(message);
}

/** Paths of the message in the words of OpenAI's clients. */
export const TIER_FIELD: readonly [string, string] = ['speed', 'service_tier'];

/** The word by which a provider is asked for the tier of a message; null: nothing is sent. */
export function requestedWord(words: TierWords, body: JsonObject): string | null {
  return words[tierOf(body)] ?? null;
}

/** `service_tier` of a request with OpenAI's names. */
export function requestedTier(words: TierWords, body: JsonObject): JsonObject {
  const service_tier = requestedWord(words, body);
  return service_tier === null ? {} : { service_tier };
}

// Answers

const NO_MEMBERS: JsonObject = {};

/** Members of a message's usage for what a provider told. The tier is a name, or an object with it (Bedrock). */
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

/** The operator learns of a tier without a name of ours, beside whatever other tier. */
function isDearer(one: JsonObject, other: JsonObject): boolean {
  const [tier, otherTier] = [servedTier(one), servedTier(other)];
  if (tier === null || otherTier === null) return tier === null;
  return tier !== otherTier && dearerTier(tier, otherTier) === tier;
}

/** `serviceTier` of Google's usage, for a tier other than the standard one. */
export function googleTierOfAnswer(usage: JsonObject): JsonObject {
  const serviceTier = CLOUD_TIERS[servedTier(usage) ?? 'standard'];
  return serviceTier === undefined ? {} : { serviceTier };
}

/** The tier that served, or else was requested, as OpenAI's answers name it. */
export function tierWord(usage: JsonObject, asked: ServiceTier | null): string {
  return OPENAI_TIERS[servedTier(usage) ?? asked ?? 'standard'];
}

/** `service_tier` of an answer, if the client asked for a tier or got another one than the usual. */
export function tierOfAnswer(usage: JsonObject, asked: ServiceTier | null): { service_tier?: JsonValue } {
  const word = tierWord(usage, asked);
  return asked === null && word === OPENAI_TIERS.standard ? {} : { service_tier: word };
}
