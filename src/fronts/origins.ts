// Paths of errors: from the translated message to the client's own request.

import { parseWholeNumber } from '../base/checked-number.ts';
import { TurnpikeError } from '../errors.ts';

/** Paths in the client's request, by position in the translated request. */
export interface Origins {
  messages: { path: string; blocks: string[] }[];
  system: string[];
  tools: string[];
  /** Renamed top-level fields and their members, also within sentences, and other names in those. */
  fields: ReadonlyMap<string, string>;
}

const LEADING_PATH = /^([a-z_]+(?:\.[\w-]+)*): /;

/** A name of Messages within a sentence, such as "max_tokens" or "`tool_use`". */
const NAME = /`[a-z]+`|(?<![a-z._])[a-z]+(?:[._][a-z]+)+/g;

/** The error with a leading Messages path, and names of Messages, replaced by the client's. */
export function withClientPaths(error: TurnpikeError, origins: Origins): TurnpikeError {
  const message = withClientPath(error.message, origins);
  return message === error.message ? error : new TurnpikeError(error.code, message, error.details);
}

/** The same for a message. */
export function withClientPath(message: string, origins: Origins): string {
  const path = LEADING_PATH.exec(message)?.[1] ?? '';
  const sentence = message.slice(path.length).replaceAll(NAME, (name) => clientName(name, origins));
  return path === '' ? sentence : clientPath(path, origins) + sentence;
}

function clientName(name: string, { fields }: Origins): string {
  const isQuoted = name.startsWith('`');
  const own = fields.get(isQuoted ? name.slice(1, -1) : name);
  return own === undefined ? name : isQuoted ? `\`${own}\`` : own;
}

function clientPath(path: string, origins: Origins): string {
  const [root = '', ...rest] = path.split('.');
  switch (root) {
    case 'messages':
      return rest.length === 0 ? (origins.fields.get(root) ?? path) : clientMessagePath(path, rest, origins);
    case 'system':
      return origins.system[placeOf(rest[0])] ?? origins.fields.get(root) ?? path;
    case 'tools':
      return clientToolPath(path, rest, origins);
    default:
      return origins.fields.get(`${root}.${rest[0]}`) ?? origins.fields.get(root) ?? path;
  }
}

/** Below a block the protocols share no names: the path of the block is given. */
function clientMessagePath(path: string, [index, member, place]: string[], { messages }: Origins): string {
  const origin = messages[placeOf(index)];
  if (origin === undefined) return path;
  if (member !== 'content') return origin.path;
  return origin.blocks[placeOf(place)] ?? origin.path;
}

function clientToolPath(path: string, [index, ...rest]: string[], { tools }: Origins): string {
  const origin = tools[placeOf(index)];
  if (origin === undefined) return path;
  const schema = rest.indexOf('input_schema');
  if (schema >= 0) return [origin, 'parameters', ...rest.slice(schema + 1)].join('.');
  return rest.at(-1) === 'name' ? `${origin}.name` : origin;
}

/** The index in a path; -1, which matches nothing, for anything else. */
function placeOf(part = '0'): number {
  return parseWholeNumber(part) ?? -1;
}
