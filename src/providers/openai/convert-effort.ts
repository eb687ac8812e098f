// How much a model is asked to think: the budget or effort of a Messages request as the parameter that
// its profile knows. A model that has none is left as it is, for thinking is a hint.

import { isJsonObject, type JsonObject } from '../../wire/wire.ts';
import { EFFORTS, type Effort, type Profile } from './profile.ts';

// A rule of thumb: what of a budget in tokens is which effort.
const LOW_TOKENS_BELOW = 2_048;
const MEDIUM_TOKENS_BELOW = 8_192;

/** The members of the request that ask for thinking. */
export function convertEffort(body: JsonObject, profile: Profile, hasTools: boolean): JsonObject {
  const asked = readAsked(body);
  switch (profile.thinking) {
    case null:
      return {};
    case 'reasoning_effort':
      return effortMember(asked, profile, hasTools);
    case 'thinking':
      return toggleMembers(asked, profile);
    case 'reasoning':
      return reasoningMember(asked, profile);
  }
}

interface Asked {
  thinks: 'on' | 'off' | null;
  effort: Effort | null;
  budgetTokens: number | null;
}

function readAsked(body: JsonObject): Asked {
  const thinking = isJsonObject(body['thinking']) ? body['thinking'] : {};
  const config = isJsonObject(body['output_config']) ? body['output_config'] : {};
  const { type, budget_tokens: budget } = thinking;
  const budgetTokens = type === 'enabled' && typeof budget === 'number' ? budget : null;
  const named = EFFORTS.find((effort) => effort === config['effort'] && effort !== 'none') ?? null;
  const thinks = type === 'disabled' ? 'off' : typeof type === 'string' ? 'on' : null;
  return { thinks, effort: named ?? effortOfBudget(budgetTokens), budgetTokens };
}

function effortOfBudget(budgetTokens: number | null): Effort | null {
  if (budgetTokens === null) return null;
  if (budgetTokens < LOW_TOKENS_BELOW) return 'low';
  return budgetTokens < MEDIUM_TOKENS_BELOW ? 'medium' : 'high';
}

function effortMember(asked: Asked, profile: Profile, hasTools: boolean): JsonObject {
  if (hasTools && profile.effortWithTools !== 'sent')
    return profile.effortWithTools === 'none' ? { reasoning_effort: 'none' } : {};
  const effort = asked.thinks === 'off' ? leastEffort(profile) : nearestEffort(asked.effort, profile);
  return effort === null ? {} : { reasoning_effort: effort };
}

/** In the Messages protocol who does not ask for thinking gets none; such a model would think by itself. */
function toggleMembers(asked: Asked, profile: Profile): JsonObject {
  if (asked.thinks === 'off' || (asked.thinks === null && asked.effort === null))
    return { thinking: { type: 'disabled' } };
  const effort = nearestEffort(asked.effort, profile);
  return {
    ...(asked.thinks === 'on' && { thinking: { type: 'enabled' } }),
    ...(effort !== null && { reasoning_effort: effort }),
  };
}

/** A budget may be given as it is, but not together with an effort. */
function reasoningMember(asked: Asked, profile: Profile): JsonObject {
  if (asked.thinks === 'off') return { reasoning: { effort: 'none' } };
  if (asked.budgetTokens !== null) return { reasoning: { max_tokens: asked.budgetTokens } };
  const effort = nearestEffort(asked.effort, profile);
  if (effort !== null) return { reasoning: { effort } };
  return asked.thinks === 'on' ? { reasoning: { enabled: true } } : {};
}

/** The effort itself, else the next one below that the model knows, else the least. */
function nearestEffort(asked: Effort | null, { efforts }: Profile): Effort | null {
  if (asked === null) return null;
  const known = efforts.filter((effort) => effort !== 'none');
  return known.findLast((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(asked)) ?? known[0] ?? null;
}

/** What turns thinking off, or nearly; null for a model that always thinks. */
function leastEffort({ efforts }: Profile): Effort | null {
  return efforts.find((effort) => effort === 'none' || effort === 'minimal') ?? null;
}
