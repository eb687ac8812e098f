// Blocks of a message with their places in the client's request, and the checks of what they are made from.

import { isJsonObject, type JsonObject, type JsonValue, wrongField } from '../wire/wire.ts';

/** A block and its path in the client's request, such as "messages.0.content.1". */
export interface Placed {
  block: JsonObject;
  path: string;
}

const SAYS = /\S/;

/** The blocks; the last one has the holder's cache breakpoint, if any. */
export function withCacheControl(blocks: Placed[], holder: JsonObject): Placed[] {
  const control = holder['cache_control'];
  const last = blocks.at(-1);
  if (!isJsonObject(control) || last === undefined) return blocks;
  return [...blocks.slice(0, -1), { ...last, block: { ...last.block, cache_control: control } }];
}

export function requireObject(value: JsonValue | undefined, path: string): JsonObject {
  if (value === undefined) throw wrongField(path, 'Field required');
  if (!isExactObject(value)) throw wrongField(path, 'Input should be a valid dictionary');
  return value;
}

/** A number kept with all its digits is an object without a prototype. */
export function isExactObject(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && Object.getPrototypeOf(value) !== null;
}

/** System text as user text, for models that accept system text only at the start. */
export function asReminder(text: string): string {
  return `<system-reminder>\n${text}\n</system-reminder>`;
}

/** The same for a block. */
export function remind({ block, path }: Placed): Placed {
  return { block: block['type'] === 'text' ? { ...block, text: asReminder(String(block['text'])) } : block, path };
}

/** Empty for a blank text, which some models write before a tool call: providers refuse it when sent back. */
export function textBlock(text: string, path: string): Placed[] {
  return SAYS.test(text) ? [{ block: { type: 'text', text }, path }] : [];
}
