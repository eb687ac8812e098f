// Labels of the sign-in on the telemetry of coding agents: attributes of each resource, which replace those that the client sent under
// the same names. https://opentelemetry.io/docs/specs/otlp/ (2026-08): the messages of the three signals are alike down to the resource.

import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, scanJson } from '../wire/wire.ts';
import type { TelemetrySignal } from './relay-telemetry.ts';

/** Values by name. */
export type TelemetryLabels = Readonly<Record<string, string>>;

/** Names with this prefix are only given by this service. */
const OWN_PREFIX = 'turnpike.';
/** Other names that only this service gives. Claude Code fills them with the claims of its token. */
const IDENTITY: readonly string[] = ['user.id', 'user.email', 'user.groups', 'identity.source'];

/** The message with the labels on each resource. Throws invalid_request for what is no message of OTLP, or has too many resources. */
export function labelTelemetry(
  signal: TelemetrySignal,
  isJson: boolean,
  body: Uint8Array,
  labels: TelemetryLabels,
): Uint8Array {
  return isJson ? labelJson(signal, body, labels) : labelProtobuf(body, labels);
}

function isReserved(name: string): boolean {
  return name.startsWith(OWN_PREFIX) || IDENTITY.includes(name);
}

const LISTS: Readonly<Record<TelemetrySignal, string>> = {
  metrics: 'resourceMetrics',
  logs: 'resourceLogs',
  traces: 'resourceSpans',
};

/** Other members of the message, such as the same list under its second name in JSON of protobuf, are left out. */
function labelJson(signal: TelemetrySignal, body: Uint8Array, labels: TelemetryLabels): Uint8Array {
  if (body.length > bounds.telemetryJsonBytesMax)
    throw new TurnpikeError('body_too_large', `Telemetry in JSON may have ${bounds.telemetryJsonBytesMax} bytes.`);
  const list = LISTS[signal];
  const entries = objectsIn(parseJson(body), list);
  requireFewResources(entries.length);
  const own = Object.entries(labels).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const labelled = entries.map((entry) => {
    const { resource = {} } = entry;
    if (!isJsonObject(resource)) throw malformed();
    const kept = objectsIn(resource, 'attributes').filter(({ key }) => typeof key === 'string' && !isReserved(key));
    return { ...entry, resource: { ...resource, attributes: [...kept, ...own] } };
  });
  return utf8(JSON.stringify({ [list]: labelled }));
}

function parseJson(body: Uint8Array): JsonValue {
  const text = new TextDecoder().decode(body);
  scanJson(text); // bounds what JSON.parse takes
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw malformed();
  }
}

/** The objects of a list; none without the member. */
function objectsIn(value: JsonValue, member: string): JsonObject[] {
  const found = isJsonObject(value) ? (value[member] ?? []) : null;
  if (!Array.isArray(found) || !found.every(isJsonObject)) throw malformed();
  return found as JsonObject[];
}

// Numbers of fields: the list of resources in the message of each signal, the resource in its entry, the attributes in a resource, the
// key in an attribute; and its value, whose text is its first field.
const [ENTRY, RESOURCE, ATTRIBUTE, KEY, VALUE, TEXT] = [1, 1, 1, 1, 2, 1];

/** Unknown fields stay as they are. A resource in several parts, which a decoder merges, becomes one. */
function labelProtobuf(body: Uint8Array, labels: TelemetryLabels): Uint8Array {
  const own = Object.entries(labels).map(([key, value]) =>
    field(ATTRIBUTE, [field(KEY, [utf8(key)]), field(VALUE, [field(TEXT, [utf8(value)])])]),
  );
  const read = { fields: 0 };
  let resources = 0;
  const parts = fieldsOf(body, read).map(({ number, bytes, whole }) => {
    if (number !== ENTRY || bytes === null) return whole;
    requireFewResources(++resources);
    return field(ENTRY, labelEntry(bytes, own, read));
  });
  return Buffer.concat(parts);
}

function labelEntry(entry: Uint8Array, own: readonly Uint8Array[], read: Read): Uint8Array[] {
  const fields = fieldsOf(entry, read);
  const isResource = ({ number, bytes }: Field) => number === RESOURCE && bytes !== null;
  const kept = fields
    .filter(isResource)
    .flatMap(({ bytes }) => fieldsOf(bytes ?? NO_BYTES, read))
    .filter(({ number, bytes }) => number !== ATTRIBUTE || bytes === null || !namesReserved(bytes, read));
  const rest = fields.filter((one) => !isResource(one));
  return [field(RESOURCE, [...kept.map(({ whole }) => whole), ...own]), ...rest.map(({ whole }) => whole)];
}

/** Whether any key is reserved: of several, decoders take the last. */
function namesReserved(attribute: Uint8Array, read: Read): boolean {
  return fieldsOf(attribute, read).some(
    ({ number, bytes }) => number === KEY && bytes !== null && isReserved(new TextDecoder().decode(bytes)),
  );
}

/** A field of a message in the wire format, https://protobuf.dev/programming-guides/encoding/ */
interface Field {
  number: number;
  /** Content of a field that has a length; null for others. */
  bytes: Uint8Array | null;
  /** With tag and length. */
  whole: Uint8Array;
}

const NO_BYTES = new Uint8Array();

/** Counts the fields read of a body, which are bounded: a field may have two bytes. */
interface Read {
  fields: number;
}

/** Throws invalid_request. */
function fieldsOf(message: Uint8Array, read: Read): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < message.length; ) {
    if (++read.fields > bounds.telemetryFieldsMax) throw malformed();
    const tag = readVarint(message, at);
    const number = Math.floor(tag.value / 8);
    const kind = tag.value % 8;
    if (number === 0) throw malformed();
    let end = tag.end;
    let bytes: Uint8Array | null = null;
    if (kind === 0) end = readVarint(message, end).end;
    else if (kind === 1 || kind === 5) end += kind === 1 ? 8 : 4;
    else if (kind === 2) {
      const length = readVarint(message, end);
      end = length.end + length.value;
      bytes = message.subarray(length.end, end);
    } else throw malformed(); // groups, which OTLP does not have
    if (end > message.length) throw malformed();
    fields.push({ number, bytes, whole: message.subarray(at, end) });
    at = end;
  }
  return fields;
}

/** A number of at most ten bytes. Throws invalid_request. */
function readVarint(message: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  for (let at = start; at < message.length && at < start + 10; at++) {
    const byte = message[at] ?? 0;
    value += (byte & 127) * 2 ** (7 * (at - start));
    if (byte < 128) return { value, end: at + 1 };
  }
  throw malformed();
}

function field(number: number, parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([varint(number * 8 + 2), varint(length), ...parts]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left & 127) | 128);
  return Uint8Array.from([...bytes, left]);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function requireFewResources(count: number): void {
  if (count > bounds.telemetryResourcesMax)
    throw new TurnpikeError('invalid_request', `Telemetry may have ${bounds.telemetryResourcesMax} resources at once.`);
}

function malformed(): TurnpikeError {
  return new TurnpikeError('invalid_request', 'The body is no telemetry in the format of its content-type.');
}
