// The standard OpenTelemetry variables, as config.ts reads them from the environment.

import { parseFraction } from '../base/checked-number.ts';

/** One signal's collector. Its headers may contain a secret. */
export interface CollectorSettings {
  url: string;
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  compression: 'none' | 'gzip';
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
const TEMPORALITIES = ['cumulative', 'delta', 'lowmemory'] as const;

/** Settings of the OpenTelemetry variables. */
export interface TelemetrySettings {
  serviceName: string;
  resourceAttributes: Readonly<Record<string, string>>;
  traces: (CollectorSettings & { sampler: (typeof SAMPLERS)[number]; ratio: number; delayMs: number }) | null;
  metrics: (CollectorSettings & { intervalMs: number; temporality: (typeof TEMPORALITIES)[number] }) | null;
}

type Read = (name: string) => string | null;

/** Null unless an endpoint is set: without one, the variables are meant for other programs and are not checked. */
export function readTelemetry(read: Read, faults: Set<string>): TelemetrySettings | null {
  if (read('OTEL_SDK_DISABLED')?.trim().toLowerCase() === 'true') return null;
  const traces = readCollector('TRACES', read, faults);
  const metrics = readCollector('METRICS', read, faults);
  if (traces === null && metrics === null) return null;
  const { 'service.name': named, ...resourceAttributes } = readPairs('OTEL_RESOURCE_ATTRIBUTES', read, faults);
  const sampler = readChoice('OTEL_TRACES_SAMPLER', SAMPLERS, 'parentbased_always_on', read, faults);
  const temporality = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE';
  return {
    serviceName: read('OTEL_SERVICE_NAME') ?? named ?? 'turnpike',
    resourceAttributes,
    traces: traces && {
      ...traces,
      sampler,
      ratio: readNumber('OTEL_TRACES_SAMPLER_ARG', 0, 1, 1, read, faults),
      delayMs: readNumber('OTEL_BSP_SCHEDULE_DELAY', 1, 60_000, 1_000, read, faults),
    },
    metrics: metrics && {
      ...metrics,
      intervalMs: readNumber('OTEL_METRIC_EXPORT_INTERVAL', 100, 3_600_000, 60_000, read, faults),
      temporality: readChoice(temporality, TEMPORALITIES, 'cumulative', read, faults),
    },
  };
}

/** The collector to which the telemetry of coding agents is passed on; null without one. */
export function readAgentTelemetry(read: Read, faults: Set<string>) {
  const name = 'TURNPIKE_AGENT_OTLP_ENDPOINT';
  const endpoint = read(name)?.trim() ?? null;
  if (endpoint === null) return null;
  if (!/^https?:\/\/[^\s/]/.test(endpoint) || !URL.canParse(endpoint))
    faults.add(`${name}: must be the URL of a collector, such as http://127.0.0.1:4318`);
  return { url: endpoint.replace(/\/+$/, ''), headers: readHeaders('TURNPIKE_AGENT_OTLP_HEADERS', read, faults) };
}

/** The collector of one signal, from its own variables or else from those of all signals. */
function readCollector(signal: 'TRACES' | 'METRICS', read: Read, faults: Set<string>): CollectorSettings | null {
  const nameOf = (setting: string) => {
    const own = `OTEL_EXPORTER_OTLP_${signal}_${setting}`;
    return read(own) === null ? `OTEL_EXPORTER_OTLP_${setting}` : own;
  };
  const endpointName = nameOf('ENDPOINT');
  const endpoint = read(endpointName)?.trim() ?? null;
  if (endpoint === null) return null;
  if (readChoice(`OTEL_${signal}_EXPORTER`, ['otlp', 'none'], 'otlp', read, faults) === 'none') return null;
  readChoice(nameOf('PROTOCOL'), ['http/protobuf'], 'http/protobuf', read, faults);
  if (!/^https?:\/\/[^\s/]/.test(endpoint) || !URL.canParse(endpoint))
    faults.add(`${endpointName}: must be the URL of a collector, such as http://127.0.0.1:4318`);
  const isWhole = endpointName.includes(signal);
  return {
    url: isWhole ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/${signal.toLowerCase()}`,
    headers: {
      ...readHeaders('OTEL_EXPORTER_OTLP_HEADERS', read, faults),
      ...readHeaders(`OTEL_EXPORTER_OTLP_${signal}_HEADERS`, read, faults),
    },
    timeoutMs: readNumber(nameOf('TIMEOUT'), 100, 60_000, 10_000, read, faults),
    compression: readChoice(nameOf('COMPRESSION'), ['none', 'gzip'], 'none', read, faults),
  };
}

function readHeaders(name: string, read: Read, faults: Set<string>): Record<string, string> {
  const headers = readPairs(name, read, faults);
  const isSendable = ([header, value]: [string, string]) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(header) && /^[\t\x20-\x7e]*$/.test(value);
  if (!Object.entries(headers).every(isSendable))
    faults.add(`${name}: has a name or a value that a header cannot contain`);
  return headers;
}

/** "name=value,name=value", values percent-encoded. The fault does not repeat the value, which may contain a secret. */
function readPairs(name: string, read: Read, faults: Set<string>): Record<string, string> {
  const pairs: Record<string, string> = {};
  for (const part of (read(name) ?? '').split(',').map((text) => text.trim())) {
    if (part === '') continue;
    const at = part.indexOf('=');
    try {
      if (at < 1) throw new Error('no pair');
      pairs[part.slice(0, at).trim()] = decodeURIComponent(part.slice(at + 1).trim());
    } catch {
      faults.add(`${name}: must be a list such as name=value,name=value, with values percent-encoded`);
    }
  }
  return pairs;
}

function readChoice<Choice extends string>(
  name: string,
  choices: readonly Choice[],
  usual: Choice,
  read: Read,
  faults: Set<string>,
): Choice {
  const given = read(name)?.trim().toLowerCase() ?? usual;
  const choice = choices.find((known) => known === given);
  if (choice === undefined) faults.add(`${name}: "${given}" is not supported; it must be ${choices.join(' or ')}`);
  return choice ?? usual;
}

function readNumber(name: string, least: number, most: number, usual: number, read: Read, faults: Set<string>): number {
  const given = read(name);
  const value = given === null ? usual : parseFraction(given.trim());
  if (value !== null && value >= least && value <= most) return value;
  faults.add(`${name}: must be a number from ${least} to ${most}, not "${given}"`);
  return usual;
}
