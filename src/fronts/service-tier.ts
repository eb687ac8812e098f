// The service tier of OpenAI's clients.

import type { JsonObject } from '../wire/wire.ts';

const USUAL: readonly (string | null)[] = [null, 'auto', 'default'];

/** A tier other than the default, which the gateway refuses, because it changes the price. */
export function tierMember(body: JsonObject): JsonObject {
  const tier = body['service_tier'] ?? null;
  return USUAL.includes(tier as string | null) ? {} : { service_tier: tier };
}
