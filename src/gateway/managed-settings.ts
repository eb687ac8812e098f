// Managed settings of Claude Code, GET /managed/settings: those of the person's policy, the models that they may use, and the prices
// of this service, by which `/cost` shows what the person is billed.

import { createHash } from 'node:crypto';
import type { AgentCaller, Caller } from '../accounts/accounts.ts';
import { parseFraction } from '../base/checked-number.ts';
import { formatDecimal } from '../base/money.ts';
import { type AppliedPolicy, type Catalog, matchesAnyPattern, type Offer, policyFor } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../wire/wire.ts';

/** The policy of a person with a coding agent. */
export function policyOf(catalog: Catalog, { account, above }: Caller, agent: AgentCaller): AppliedPolicy {
  return policyFor(catalog, [account.id, ...above.map(({ id }) => id)], agent.groups);
}

/** Throws invalid_request, in the words of Anthropic's gateway. */
export function requireAllowed(policy: AppliedPolicy | null, asked: string, { model }: Offer): void {
  if (policy === null || isAllowed(policy, model.name)) return;
  throw new TurnpikeError('invalid_request', `model ${asked} is not in your role's availableModels allowlist`);
}

export function isAllowed({ models }: AppliedPolicy, name: string): boolean {
  return models === null || matchesAnyPattern(models, name);
}

export interface ManagedSettings {
  /** "sha256:" and 64 hexadecimal digits. */
  checksum: string;
  body: string;
}

/** `offers`: what the person may buy. `telemetryUrl`: where clients send theirs; null: nowhere. */
export function managedSettings(
  policy: AppliedPolicy,
  offers: readonly Offer[],
  telemetryUrl: string | null,
): ManagedSettings {
  const allowed = offers.filter(({ model }) => isAllowed(policy, model.name));
  const { settings: given } = policy;
  const env = {
    ...(telemetryUrl !== null && telemetryVariables(telemetryUrl)),
    ...(given['env'] as JsonObject | undefined),
  };
  const settings: JsonObject = {
    ...given,
    ...(Object.keys(env).length > 0 && { env }),
    ...(policy.models !== null && {
      availableModels: allowed.map(({ model }) => model.name),
      enforceAvailableModels: true,
    }),
    modelPricing: { multiplier: 1, overrides: Object.fromEntries(allowed.flatMap(pricesOf)) },
  };
  const canonical = canonicalJson(settings);
  const checksum = `sha256:${createHash('sha256').update(canonical).digest('hex')}`;
  return { checksum, body: `{"uuid":"${checksum}","checksum":"${checksum}","settings":${canonical}}` };
}

/** USD per million tokens with the multiplier of the group, under each name of the model. Writes to the cache are of five minutes. */
function pricesOf({ model, group }: Offer): [string, JsonObject][] {
  const { input, output, cacheRead, cacheWrite5m: cacheWrite } = model.price.standard;
  const usd = (rate: bigint) => parseFraction(formatDecimal(rate * group.multiplierMillionths, RATE_DIGITS)) ?? 0;
  const prices = { input: usd(input), output: usd(output), cacheRead: usd(cacheRead), cacheWrite: usd(cacheWrite) };
  return [model.name, ...model.aliases].map((name) => [name, prices]);
}

const RATE_DIGITS = 18; // of rates in 10^-12 USD, times a multiplier in millionths

function telemetryVariables(url: string): JsonObject {
  return {
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp',
    OTEL_TRACES_EXPORTER: 'otlp',
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  };
}

/** Members sorted at all levels, without spaces: clients compute the checksum of it. */
function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as JsonValue)}`);
  return `{${members.join(',')}}`;
}
