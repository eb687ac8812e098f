// Where in the caller's own request stands what was made of it, so that a refusal of the Messages request speaks of
// what the caller wrote.

import { TurnpikeError } from '../errors.ts';

/** Paths as they stand in the caller's request, by their place in what was made of it. */
export interface Origins {
  /** Of every message: of itself, and of each of its blocks. */
  messages: { path: string; blocks: string[] }[];
  /** Of each block of the system prompt. */
  system: string[];
  tools: string[];
  /** Names of top-level fields that are called otherwise here, and of members of them. */
  fields: ReadonlyMap<string, string>;
}

const PATH = /^([a-z_]+(?:\.[\w-]+)*): /;

/** The same error; where its message begins with a path of the Messages request, with the caller's path in its place. */
export function inOwnWords(error: TurnpikeError, origins: Origins): TurnpikeError {
  const message = ownMessage(error.message, origins);
  return message === error.message ? error : new TurnpikeError(error.code, message, error.details);
}

/** A message of an error, its path as `inOwnWords` has it. */
export function ownMessage(message: string, origins: Origins): string {
  const path = PATH.exec(message)?.[1];
  return path === undefined ? message : ownPath(path, origins) + message.slice(path.length);
}

function ownPath(path: string, origins: Origins): string {
  const [root = '', ...rest] = path.split('.');
  switch (root) {
    case 'messages':
      return rest.length === 0 ? path : ownMessagePath(path, rest, origins);
    case 'system':
      return origins.system[Number(rest[0] ?? 0)] ?? 'messages';
    case 'tools':
      return ownToolPath(path, rest, origins);
    default:
      return origins.fields.get(`${root}.${rest[0]}`) ?? origins.fields.get(root) ?? path;
  }
}

/** Behind a block the two protocols have no names in common: its own place is what can be said. */
function ownMessagePath(path: string, [index, member, place]: string[], { messages }: Origins): string {
  const origin = messages[Number(index)];
  if (origin === undefined) return path;
  if (member !== 'content') return origin.path;
  return origin.blocks[Number(place ?? 0)] ?? origin.path;
}

function ownToolPath(path: string, [index, ...rest]: string[], { tools }: Origins): string {
  const origin = tools[Number(index)];
  if (origin === undefined) return path;
  const schema = rest.indexOf('input_schema');
  if (schema >= 0) return [origin, 'parameters', ...rest.slice(schema + 1)].join('.');
  return rest.at(-1) === 'name' ? `${origin}.name` : origin;
}
