// Translates tools. Tools in namespaces get flat names; custom tools and client-side tool search become functions. The
// answer's calls are named by what they were.

import { createHash } from 'node:crypto';
import { describeCustom } from '../../protocols/custom-tool.ts';
import { type Placed, requireObject } from '../../protocols/placed.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  requireText,
  requireToolName,
  wrongField,
} from '../../wire/wire.ts';
import { shownType } from '../convert-parts.ts';
import { type Choice, chooseTools, demand, describeFunction, findMode, readAllowed, USUAL } from '../openai-tools.ts';

/** How a call of a tool is named in the answer. */
export interface CalledTool {
  kind: 'function' | 'custom' | 'tool_search';
  name: string;
  namespace: string | null;
}

const NAME_CHARACTERS_MAX = 64;
const NAMESPACE_CHARACTERS_MAX = 256; // it is read again for each of its tools
const DIGEST_CHARACTERS = 10;
const TOOL_SEARCH = 'tool_search';
const ALLOWED = 'tool_choice';

/** The names of the tools of one conversation. */
export class ToolNames {
  /** By the name in the message; plain functions have their own. */
  readonly called = new Map<string, CalledTool>();
  readonly #flat = new Map<string, string>();
  readonly #used = new Set<string>();

  /** The name in the message of a tool, whether the client gave it in this request or only called it before. */
  flatName(name: string, namespace: string | null): string {
    return this.#flat.get(identityOf(name, namespace)) ?? (namespace === null ? name : flatten(name, namespace));
  }

  /** The name for a tool; null if the client gave it before. */
  add(tool: CalledTool): string | null {
    const { kind, name, namespace } = tool;
    const identity = identityOf(name, namespace);
    if (this.#flat.has(identity)) return null;
    const own = namespace === null ? name : flatten(name, namespace);
    const flat = this.#used.has(own) ? flatten(own, identity) : own;
    this.#used.add(flat);
    this.#flat.set(identity, flat);
    if (kind !== 'function' || flat !== name || namespace !== null) this.called.set(flat, tool);
    return flat;
  }
}

function identityOf(name: string, namespace: string | null): string {
  return JSON.stringify([namespace, name]);
}

/** `<namespace>__<name>`; deterministic, because prompt caches depend on it. */
function flatten(name: string, namespace: string): string {
  const joined = `${namespace}__${name}`;
  const plain = joined.replaceAll(/[^\w-]/g, '_');
  if (plain === joined && plain.length <= NAME_CHARACTERS_MAX) return plain;
  const digest = createHash('sha256').update(joined).digest('hex').slice(0, DIGEST_CHARACTERS);
  return `${plain.slice(0, NAME_CHARACTERS_MAX - DIGEST_CHARACTERS - 1)}_${digest}`;
}

/** A list of tools in the client's request. */
export interface ToolList {
  tools: readonly JsonValue[];
  path: string;
}

interface ConvertedTools {
  /** `tools` and `tool_choice` of the Messages request, if any. */
  members: JsonObject;
  origins: string[];
  names: ToolNames;
}

/** Throws invalid_request. */
export function convertTools(body: JsonObject, lists: readonly ToolList[]): ConvertedTools {
  const names = new ToolNames();
  const tools = lists.flatMap(({ tools, path }) =>
    tools.flatMap((tool, index) =>
      convertTool(requireObject(tool, `${path}.${index}`), `${path}.${index}`, null, names),
    ),
  );
  const choice = readChoice(body['tool_choice'] ?? null, names);
  return { ...chooseTools(tools, choice, body['parallel_tool_calls'] === false, ALLOWED), names };
}

/** Empty for a tool that is left out, or was given before. */
function convertTool(tool: JsonObject, path: string, namespace: string | null, names: ToolNames): Placed[] {
  const type = requireText(tool['type'], `${path}.type`);
  switch (type) {
    case 'function':
    case 'custom': {
      const name = requireToolName(tool['name'], `${path}.name`);
      const described = type === 'custom' ? describeCustom(tool, name, path) : describeFunction(tool, path);
      return named(described, names.add({ kind: type, name, namespace }));
    }
    case 'namespace': {
      if (namespace !== null) throw wrongField(`${path}.type`, 'a namespace cannot contain another one');
      const inner = requireText(tool['name'], `${path}.name`);
      if (inner.length > NAMESPACE_CHARACTERS_MAX)
        throw wrongField(`${path}.name`, `String should have at most ${NAMESPACE_CHARACTERS_MAX} characters`);
      return jsonObjects(tool['tools']).flatMap((one, index) =>
        convertTool(one, `${path}.tools.${index}`, inner, names),
      );
    }
    case TOOL_SEARCH:
      if (tool['execution'] !== 'client') return []; // all tools are sent
      return named(
        describeFunction({ ...tool, name: TOOL_SEARCH }, path),
        names.add({ kind: TOOL_SEARCH, name: TOOL_SEARCH, namespace }),
      );
    default:
      if (isWebSearch(type)) return [];
      throw wrongField(
        `${path}.type`,
        `Input should be 'function', 'custom', 'namespace', 'tool_search' or 'web_search', not ${shownType(type)}`,
      );
  }
}

/** Its dated and preview names, too. */
export function isWebSearch(type: string): boolean {
  return /^web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?$/.test(type);
}

function named({ block, path }: Placed, name: string | null): Placed[] {
  return name === null ? [] : [{ block: { ...block, name }, path }];
}

function readChoice(choice: JsonValue, names: ToolNames): Choice {
  if (choice === null) return USUAL;
  const known = findMode(choice);
  if (known !== null) return known;
  if (!isJsonObject(choice)) throw wrongField('tool_choice', "Input should be 'none', 'auto', 'required' or an object");
  const flatNameIn = (tool: JsonObject, path: string) => {
    const { type, name, namespace } = tool;
    if (type === TOOL_SEARCH) return TOOL_SEARCH;
    return names.flatName(requireText(name, `${path}.name`), typeof namespace === 'string' ? namespace : null);
  };
  switch (choice['type']) {
    case 'allowed_tools':
      return readAllowed(choice, ALLOWED, flatNameIn);
    case 'function':
    case 'custom':
      return demand(flatNameIn(choice, 'tool_choice'));
    default:
      throw wrongField('tool_choice.type', "Input should be 'function', 'custom' or 'allowed_tools'");
  }
}
