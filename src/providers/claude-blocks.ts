// Content blocks for Claude at clouds: a conversation that began elsewhere may have blocks that a platform does not know.
// Blocks of server tools that it does not have become text, so that nothing readable is lost.

import type { PlatformFacts } from '../model-facts/model-facts.ts';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '../wire/wire.ts';
import { refuseField } from './lost-fields.ts';

type BlockRules = Pick<PlatformFacts, 'serverTools' | 'hasAddresses' | 'toolChanges' | 'hasFiles'>;

/** Blocks with blocks in them. */
const HOLDERS: readonly string[] = ['tool_result', 'search_result'];
/** Others would be read with the rights of the operator's credential. */
const SOURCES: readonly string[] = ['base64', 'text', 'content', 'url', 'file'];
const TOOL_CHANGES: readonly string[] = ['tool_addition', 'tool_removal'];

/** Cleans one value. Use another one for another value. */
export class BlockCleaner {
  readonly #rules: BlockRules;
  readonly #isLong: boolean;
  isChanged = false;

  /** `isLong`: the model's cache may keep a prefix for an hour. */
  constructor(rules: BlockRules, isLong: boolean) {
    this.#rules = rules;
    this.#isLong = isLong;
  }

  /** The member `system`, `messages` or `cache_control`. Throws ProviderFault (rejected) with the path of a block. */
  clean(value: JsonValue | undefined, member: string): { value: JsonValue | undefined; isChanged: boolean } {
    const cleaned =
      member === 'cache_control' && isJsonObject(value)
        ? this.cleanCache({ cache_control: value })['cache_control']
        : member === 'messages' && Array.isArray(value)
          ? value.flatMap((message, place) => this.#message(message, `${member}.${place}`))
          : this.#content(value, member);
    return { value: cleaned, isChanged: this.isChanged };
  }

  /** The holder of a breakpoint, with only the members of it that platforms know. */
  cleanCache(holder: JsonObject): JsonObject {
    const control = holder['cache_control'];
    if (!isJsonObject(control)) return holder;
    const { type, ttl, ...others } = control;
    const isKept = ttl === undefined || this.#isLong;
    if (isKept && Object.keys(others).length === 0) return holder;
    this.isChanged = true;
    const cache_control: JsonObject = { type: type ?? 'ephemeral', ...(isKept && ttl !== undefined && { ttl }) };
    return { ...holder, cache_control };
  }

  /** Empty for a message that only changed tools. */
  #message(message: JsonValue, path: string): JsonValue[] {
    if (!isJsonObject(message)) return [message];
    const given = message['content'];
    const content = this.#content(given, `${path}.content`) ?? '';
    const isEmptied = Array.isArray(given) && given.length > 0 && Array.isArray(content) && content.length === 0;
    return isEmptied ? [] : [{ ...message, content }];
  }

  #content(content: JsonValue | undefined, path: string): JsonValue | undefined {
    if (!Array.isArray(content)) return content;
    return content.flatMap((block, place): JsonValue[] => {
      if (!isJsonObject(block)) return [block];
      if (!this.#rules.toolChanges && TOOL_CHANGES.includes(textOf(block['type']))) {
        this.isChanged = true;
        return [];
      }
      return [this.#block(block, `${path}.${place}`)];
    });
  }

  #block(block: JsonObject, path: string): JsonObject {
    const family = familyOf(block);
    if (family !== null && !this.#takes(family)) {
      this.isChanged = true;
      return { type: 'text', text: textOfTool(block) };
    }
    if (block['type'] === 'container_upload' && !this.#rules.hasFiles)
      refuseField(path, 'the provider of this model has no containers');
    const cleaned = this.#withoutCaller(this.#citations(this.cleanCache(block)));
    return this.#inside(cleaned, path);
  }

  #takes(family: string): boolean {
    return this.#rules.serverTools.some((tool) => family.startsWith(tool));
  }

  /** Tool results, and documents of blocks. */
  #inside(block: JsonObject, path: string): JsonObject {
    const { content, source } = block;
    if (HOLDERS.includes(textOf(block['type'])) && Array.isArray(content))
      return { ...block, content: this.#content(content, `${path}.content`) ?? [] };
    if (!isJsonObject(source)) return block;
    const { type } = source;
    if (!SOURCES.includes(textOf(type)))
      refuseField(`${path}.source.type`, 'the provider of this model knows no such source');
    if (type === 'url' && !this.#rules.hasAddresses)
      refuseField(`${path}.source.type`, 'the provider of this model reads no addresses; send the content itself');
    if (type === 'file' && !this.#rules.hasFiles)
      refuseField(`${path}.source.type`, 'the provider of this model has no stored files');
    if (type !== 'content') return block;
    return {
      ...block,
      source: { ...source, content: this.#content(source['content'], `${path}.source.content`) ?? [] },
    };
  }

  /** Who called a tool is known only where code can call tools. */
  #withoutCaller(block: JsonObject): JsonObject {
    if (block['caller'] === undefined || this.#takes('code_execution')) return block;
    this.isChanged = true;
    const { caller: _, ...rest } = block;
    return rest;
  }

  #citations(block: JsonObject): JsonObject {
    const { citations } = block;
    if (!Array.isArray(citations) || this.#takes('web_search')) return block;
    const kept = citations.filter((one) => !isJsonObject(one) || one['type'] !== 'web_search_result_location');
    if (kept.length === citations.length) return block;
    this.isChanged = true;
    const { citations: _, ...rest } = block;
    return kept.length === 0 ? rest : { ...rest, citations: kept };
  }
}

/** The server tool that a block is of, such as "web_search"; null for other blocks. */
function familyOf(block: JsonObject): string | null {
  const type = textOf(block['type']);
  if (type === 'server_tool_use') return textOf(block['name']);
  if (type === 'mcp_tool_use') return 'mcp';
  return /^(.+)_tool_result$/.exec(type)?.[1] ?? null;
}

/** The readable part of a server tool's block. */
function textOfTool(block: JsonObject): string {
  if (block['input'] !== undefined)
    return `(used the tool ${textOf(block['name'])}: ${JSON.stringify(block['input'])})`;
  const words = readableParts(block['content']).join('\n');
  return `(result of the tool: ${words === '' ? 'nothing readable' : words})`;
}

const READABLE = ['title', 'url', 'text', 'stdout', 'stderr', 'error_code', 'data'];

function readableParts(value: JsonValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(readableParts);
  if (!isJsonObject(value) || value['type'] === 'base64') return [];
  return Object.entries(value).flatMap(([name, part]) =>
    typeof part === 'string' ? (READABLE.includes(name) && part !== '' ? [part] : []) : readableParts(part),
  );
}
