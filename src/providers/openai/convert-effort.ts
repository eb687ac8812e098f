// How much a model is asked to think: the budget or effort of a Messages request as the parameter that
// its profile knows. A model that has none is left as it is, for thinking is a hint.

import type { JsonObject } from '../../wire/wire.ts';
import { type Effort, leastEffort, nearestEffort, readBudget, readEffort, readThinking } from '../effort.ts';
import type { Profile } from './profile.ts';

/** The members of the request that ask for thinking. */
export function convertEffort(body: JsonObject, profile: Profile, hasTools: boolean): JsonObject {
  const asked = { thinks: readThinking(body), effort: readEffort(body), budgetTokens: readBudget(body) };
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

function effortMember(asked: Asked, profile: Profile, hasTools: boolean): JsonObject {
  if (hasTools && profile.effortWithTools !== 'sent')
    return profile.effortWithTools === 'none' ? { reasoning_effort: 'none' } : {};
  const effort = asked.thinks === 'off' ? leastEffort(profile.efforts) : nearestEffort(asked.effort, profile.efforts);
  return effort === null ? {} : { reasoning_effort: effort };
}

/** In the Messages protocol who does not ask for thinking gets none; such a model would think by itself. */
function toggleMembers(asked: Asked, profile: Profile): JsonObject {
  if (asked.thinks === 'off' || (asked.thinks === null && asked.effort === null))
    return { thinking: { type: 'disabled' } };
  const effort = nearestEffort(asked.effort, profile.efforts);
  return {
    ...(asked.thinks === 'on' && { thinking: { type: 'enabled' } }),
    ...(effort !== null && { reasoning_effort: effort }),
  };
}

/** A budget may be given as it is, but not together with an effort. */
function reasoningMember(asked: Asked, profile: Profile): JsonObject {
  if (asked.thinks === 'off') return { reasoning: { effort: 'none' } };
  if (asked.budgetTokens !== null) return { reasoning: { max_tokens: asked.budgetTokens } };
  const effort = nearestEffort(asked.effort, profile.efforts);
  if (effort !== null) return { reasoning: { effort } };
  return asked.thinks === 'on' ? { reasoning: { enabled: true } } : {};
}
