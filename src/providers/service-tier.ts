// The service tier that a provider says has served an answer. Tiers differ in price, and an account's settings may choose one.

import { type JsonObject, type JsonValue, textOf } from '../wire/wire.ts';

/** The tier with the listed rates, and capacity that the operator has reserved. Names of Groq, Bedrock and Google included. */
const USUAL: readonly string[] = [
  ...['', 'auto', 'default', 'standard', 'on_demand', 'unspecified'],
  ...['service_tier_unspecified', 'traffic_type_unspecified', 'scale', 'reserved', 'provisioned_throughput'],
];
/** OpenAI calls the same tier by both names, and answers with the first. */
const FAST: readonly string[] = ['priority', 'fast', 'on_demand_priority'];

const NO_MEMBERS: JsonObject = {};

/**
 * Members of a message's usage that tell of the tier: `speed` for one that has the rates of `fast`, else `service_tier`. The
 * tier is a name, or an object with it (Bedrock).
 */
export function tierMembers(...told: readonly (JsonValue | undefined)[]): JsonObject {
  let members = NO_MEMBERS;
  for (const tier of told) {
    const name = (textOf(tier) || textOf((tier as JsonObject | null | undefined)?.['type'])).toLowerCase();
    if (USUAL.includes(name)) continue;
    members = FAST.includes(name) ? { speed: 'fast' } : { service_tier: name };
  }
  return members;
}
