// The policy of a person with a coding agent: the first one of their account or directory groups, over the base for everybody.

import { isJsonObject, type JsonObject, type JsonValue } from '../wire/wire.ts';
import type { AgentPolicy, Catalog } from './model.ts';

export type AppliedPolicy = Pick<AgentPolicy, 'models' | 'contact' | 'settings'>;

const NOTHING: AppliedPolicy = Object.freeze({
  models: null,
  contact: null,
  settings: Object.freeze({}) as JsonObject,
});

/** `accounts`: the person's account and those above it. */
export function policyFor(
  { agentPolicies }: Pick<Catalog, 'agentPolicies'>,
  accounts: readonly number[],
  groups: readonly string[],
): AppliedPolicy {
  const base = agentPolicies.filter(isForAll).reduce<AppliedPolicy>((over, policy) => combine(policy, over), NOTHING);
  const first = agentPolicies.find(
    (policy) =>
      policy.accounts.some((account) => accounts.includes(account)) ||
      policy.groups.some((group) => groups.includes(group)),
  );
  return first === undefined ? base : combine(base, first);
}

/** Names of all groups that policies have. */
export function groupsInPolicies({ agentPolicies }: Pick<Catalog, 'agentPolicies'>): Set<string> {
  return new Set(agentPolicies.flatMap(({ groups }) => groups));
}

function isForAll({ accounts, groups }: AgentPolicy): boolean {
  return accounts.length === 0 && groups.length === 0;
}

/** Denied permissions and hooks add up, environments are merged, everything else is replaced. */
function combine(base: AppliedPolicy, over: AppliedPolicy): AppliedPolicy {
  return {
    models: over.models ?? base.models,
    contact: over.contact ?? base.contact,
    settings: combineSettings(base.settings, over.settings),
  };
}

function combineSettings(base: JsonObject, over: JsonObject): JsonObject {
  const combined: JsonObject = { ...base, ...over };
  const [env, permissions, hooks] = ['env', 'permissions', 'hooks'].map((name) => [base[name], over[name]] as const);
  if (areObjects(env)) combined['env'] = { ...env[0], ...env[1] };
  if (areObjects(permissions)) {
    const deny = [...listOf(permissions[0]['deny']), ...listOf(permissions[1]['deny'])];
    combined['permissions'] = {
      ...permissions[0],
      ...permissions[1],
      ...(deny.length > 0 && { deny: [...new Set(deny)] }),
    };
  }
  if (areObjects(hooks)) {
    const events = [...new Set([...Object.keys(hooks[0]), ...Object.keys(hooks[1])])];
    const of = (event: string) => [...listOf(hooks[0][event]), ...listOf(hooks[1][event])];
    combined['hooks'] = Object.fromEntries(events.map((event) => [event, of(event)]));
  }
  return combined;
}

type Pair = readonly [JsonValue | undefined, JsonValue | undefined] | undefined;

function areObjects(pair: Pair): pair is readonly [JsonObject, JsonObject] {
  return pair?.every(isJsonObject) === true;
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
