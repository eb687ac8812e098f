// Blocks of the Messages protocol as parts of Gemini's contents: what stands in a turn of the user, or in the
// result of a tool.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';
import { convertImage, convertPdf } from './convert-source.ts';

/** A block and where it stands. */
export interface PlacedBlock {
  block: JsonObject;
  path: string;
}

/** The blocks of a content, which may be a text. Throws ProviderFault (rejected). */
export function placeBlocks(content: JsonValue | undefined, path: string): PlacedBlock[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, path }];
  if (content === undefined || content === null) return [];
  if (!Array.isArray(content)) refuseField(path, 'Input should be a valid string or list');
  return content.map((block, index) => {
    if (!isJsonObject(block)) refuseField(`${path}.${index}`, 'Input should be a valid dictionary');
    return { block, path: `${path}.${index}` };
  });
}

/** The parts of a block that a user can send; none of an empty text. Throws ProviderFault (rejected). */
export function convertBlock({ block, path }: PlacedBlock): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return textPart(block['text']);
    case 'image':
      return [convertImage(block, path)];
    case 'document':
      return convertDocument(block, path);
    case 'search_result':
      return [
        ...textPart(heading({ title: block['title'], source: block['source'] })),
        ...convertAll(block['content'], `${path}.content`),
      ];
    case 'tool_reference':
      return textPart(`Tool: ${String(block['tool_name'])}`);
    case 'tool_addition':
    case 'tool_removal':
      return []; // all tools that a conversation ever had are given from its beginning
    default:
      return refuseBlock(block, path);
  }
}

export function refuseBlock(block: JsonObject, path: string): never {
  const type = String(block['type']).slice(0, TYPE_CHARACTERS_MAX);
  refuseField(path, `a block of the type "${type}" is not available for the provider of this model`);
}

const TYPE_CHARACTERS_MAX = 64;

export function textPart(text: JsonValue | undefined): JsonObject[] {
  return typeof text === 'string' && text !== '' ? [{ text }] : [];
}

function convertAll(content: JsonValue | undefined, path: string): JsonObject[] {
  return placeBlocks(content, path).flatMap(convertBlock);
}

function convertDocument(block: JsonObject, path: string): JsonObject[] {
  const head = textPart(heading({ title: block['title'], context: block['context'] }));
  const pdf = convertPdf(block, path);
  if (pdf !== null) return [...head, pdf];
  const { data, content } = block['source'] as JsonObject;
  return [...head, ...(content === undefined ? textPart(data) : convertAll(content, `${path}.source.content`))];
}

/** What is told of a document before it, a line each. */
function heading(told: Record<string, JsonValue | undefined>): string {
  return Object.entries(told)
    .filter(([, value]) => typeof value === 'string' && value !== '')
    .map(([name, value]) => `${name}: ${String(value)}`)
    .join('\n');
}
