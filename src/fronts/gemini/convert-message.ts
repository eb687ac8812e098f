// Translates a whole message to a GenerateContentResponse.

import { googleTierOfAnswer } from '../../protocols/service-tiers.ts';
import { wordOf } from '../../protocols/stop-words.ts';
import { countsOfMessage, GEMINI_COUNTS, writeCounts } from '../../protocols/token-counts.ts';
import { isThinking, type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { ThinkingCarrier } from './carried-thinking.ts';
import type { GeminiTerms } from './convert-request.ts';
import { readEnum } from './enum-answer.ts';

/** Terms that decide the parts of an answer. */
export type PartTerms = Pick<GeminiTerms, 'includesThoughts' | 'isEnum'>;

export function convertMessage(message: JsonObject, terms: PartTerms): string {
  const parts = convertBlocks(jsonObjects(message['content']), terms);
  const content = { ...(parts.length > 0 && { parts }), role: 'model' };
  return JSON.stringify({
    candidates: [{ content, finishReason: finishReasonOf(message['stop_reason']), index: 0 }],
    usageMetadata: convertUsage(objectOf(message['usage'])),
    ...identityOf(message),
  });
}

function convertBlocks(blocks: readonly JsonObject[], { includesThoughts, isEnum }: PartTerms): JsonObject[] {
  const carrier = new ThinkingCarrier();
  const parts = blocks.flatMap((block): JsonObject[] => {
    if (isThinking(block)) {
      const thought = textOf(block['thinking']);
      carrier.addPiece(thought);
      carrier.close(block);
      return includesThoughts && thought !== '' ? [thoughtPart(thought)] : [];
    }
    if (block['type'] === 'tool_use') return [callPart(block, block['input'] ?? {}, carrier)];
    const text = textOf(block['text']);
    if (block['type'] !== 'text' || text === '') return [];
    carrier.addText();
    return [{ text: isEnum ? readEnum(text) : text }];
  });
  const signature = carrier.takeLastMember();
  const last = parts.at(-1);
  if (last !== undefined && last['thought'] === undefined) Object.assign(last, signature);
  else if (Object.keys(signature).length > 0) parts.push({ text: '', ...signature });
  return parts;
}

export function thoughtPart(text: string): JsonObject {
  return { text, thought: true };
}

export function callPart(call: JsonObject, args: JsonValue, carrier: ThinkingCarrier): JsonObject {
  const { id = '', name = '' } = call;
  return { functionCall: { id, name, args }, ...carrier.takeMember() };
}

/** The members that name a response: `modelVersion` and `responseId`. */
export function identityOf(message: JsonObject): JsonObject {
  return { modelVersion: textOf(message['model']), responseId: textOf(message['id']).replace(/^msg_/, '') };
}

export function convertUsage(usage: JsonObject): JsonObject {
  const { cacheRead, cacheWrite: _, ...counts } = countsOfMessage(usage);
  const thinking = Math.min(counts.thinking ?? 0, counts.output);
  const output = counts.output - thinking;
  const written = { ...counts, output, thinking: thinking || null, cacheRead: cacheRead || null };
  return { ...writeCounts(written, GEMINI_COUNTS), ...googleTierOfAnswer(usage) };
}

export function finishReasonOf(stopReason: JsonValue | undefined): string {
  return wordOf(stopReason, 'gemini') ?? 'STOP';
}
