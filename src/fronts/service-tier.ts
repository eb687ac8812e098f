// The service tier of OpenAI's clients.

import { TurnpikeError } from '../errors.ts';
import type { JsonObject } from '../wire/wire.ts';

const USUAL: readonly (string | null)[] = [null, 'auto', 'default'];

/** Throws feature_unavailable for a tier other than the default, because it changes the price. */
export function refuseTier(body: JsonObject): void {
  const tier = body['service_tier'] ?? null;
  if (USUAL.includes(tier as string | null)) return;
  throw new TurnpikeError('feature_unavailable', 'service_tier: only "auto" and "default" are offered');
}
