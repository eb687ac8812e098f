// The service tier of OpenAI's clients, and of Google's.

import { TurnpikeError } from '../errors.ts';
import { type JsonObject, type JsonValue, type ServiceTier, servedTier, tierOf } from '../wire/wire.ts';

/** The members of a message that request each tier. OpenAI renamed its priority tier to fast, and takes both names. */
const REQUESTED: Readonly<Record<string, JsonObject>> = {
  auto: {},
  default: {},
  standard: {},
  fast: { speed: 'fast' },
  priority: { speed: 'fast' },
  flex: { service_tier: 'flex' },
  ultrafast: { service_tier: 'ultrafast' },
};
const NAMES = 'Input should be "auto", "default", "priority", "fast", "flex" or "ultrafast"';

/** The members of the message. Throws feature_unavailable for tiers that exist for no model. */
export function tierMember(body: JsonObject): JsonObject {
  const tier = body['service_tier'] ?? 'auto';
  const members = typeof tier === 'string' && Object.hasOwn(REQUESTED, tier) ? REQUESTED[tier] : undefined;
  if (members !== undefined) return members;
  throw new TurnpikeError('feature_unavailable', `service_tier: ${NAMES}`);
}

/** Google's names of tiers, by https://ai.google.dev/api/generate-content (29 November 2026). */
const REQUESTED_OF_GOOGLE: Readonly<Record<string, JsonObject>> = {
  unspecified: {},
  standard: {},
  default: {},
  auto: {},
  0: {},
  priority: { speed: 'fast' },
  flex: { service_tier: 'flex' },
};

/** The same for `serviceTier` of Google's clients. */
export function googleTierMember(given: JsonValue | undefined): JsonObject {
  const name = String(given ?? 'unspecified')
    .toLowerCase()
    .replace(/^service_tier_/, '');
  if (Object.hasOwn(REQUESTED_OF_GOOGLE, name)) return REQUESTED_OF_GOOGLE[name] ?? {};
  const words = 'Input should be "standard", "priority" or "flex"';
  throw new TurnpikeError('feature_unavailable', `serviceTier: ${words}`);
}

/** The tier that the client asked for; null: it did not say. */
export function askedTier(body: JsonObject, message: JsonObject): ServiceTier | null {
  return (body['service_tier'] ?? null) === null ? null : tierOf(message);
}

/** Paths of the message in the client's words. */
export const TIER_FIELD: readonly [string, string] = ['speed', 'service_tier'];

const WORDS: Readonly<Record<ServiceTier, string>> = {
  standard: 'default',
  fast: 'priority',
  flex: 'flex',
  ultrafast: 'ultrafast',
};

const WORDS_OF_GOOGLE: Readonly<Partial<Record<ServiceTier, string>>> = { fast: 'priority', flex: 'flex' };

/** `serviceTier` of Google's usage, for a tier other than the standard one. */
export function googleTierOfAnswer(usage: JsonObject): JsonObject {
  const serviceTier = WORDS_OF_GOOGLE[servedTier(usage) ?? 'standard'];
  return serviceTier === undefined ? {} : { serviceTier };
}

/** The tier that served, or else was requested, as OpenAI's answers name it. */
export function tierWord(usage: JsonObject, asked: ServiceTier | null): string {
  return WORDS[servedTier(usage) ?? asked ?? 'standard'];
}

/** `service_tier` of an answer, if the client asked for a tier or got another one than the usual. */
export function tierOfAnswer(usage: JsonObject, asked: ServiceTier | null): { service_tier?: JsonValue } {
  const word = tierWord(usage, asked);
  return asked === null && word === WORDS.standard ? {} : { service_tier: word };
}
