// A provider of Gemini's protocol that answers with given parts, streamed on request.

import type { Script } from '../../../support/scripted-upstream.ts';
import type { Spoken } from './speak-messages.ts';

export const GEMINI_USAGE = {
  promptTokenCount: 120,
  cachedContentTokenCount: 100,
  candidatesTokenCount: 20,
  thoughtsTokenCount: 10,
  totalTokenCount: 150,
};
/** Signature of each call. */
export const GEMINI_SIGNATURE = 'CpsBAR/+x0aZ==';
const MODEL = 'gemini-3-pro';

/** Answers by the requested method: one chunk per part, or all parts at once. Counts every prompt as 31 tokens. */
export function sayGemini({ content }: Spoken): Script {
  const parts = content.flatMap(partsOf);
  return async (answer, { path }) => {
    if (path.includes(':countTokens'))
      return answer.send(200, { 'content-type': 'application/json' }, '{"totalTokens":31}');
    if (path.includes(':generateContent'))
      return answer.send(200, { 'content-type': 'application/json' }, chunk(parts, true));
    answer.begin(200, { 'content-type': 'text/event-stream' });
    for (const [index, part] of parts.entries())
      await answer.write(`data: ${chunk([part], index === parts.length - 1)}\r\n\r\n`);
    answer.end();
  };
}

/** Gemini's calls have no ids; a signature is in the part of the call after it. */
function partsOf(block: Spoken['content'][number]): string[] {
  switch (block.type) {
    case 'text':
      return [JSON.stringify({ text: block.text })];
    case 'thinking':
      return [JSON.stringify({ text: block.thinking, thought: true })];
    case 'tool_use':
      return [
        `{"functionCall":{"name":${JSON.stringify(block.name)},"args":${block.input}},"thoughtSignature":"${GEMINI_SIGNATURE}"}`,
      ];
    case 'redacted_thinking':
      return [];
  }
}

function chunk(parts: readonly string[], isLast: boolean): string {
  const rest = JSON.stringify({ usageMetadata: GEMINI_USAGE, modelVersion: MODEL, responseId: 'rSpoken' }).slice(1);
  const finish = isLast ? ',"finishReason":"STOP"' : '';
  const chunk = `{"candidates":[{"content":{"parts":[${parts.join(',')}],"role":"model"},"index":0${finish}}],${rest}`;
  return chunk.replaceAll('\u2028', '\\u2028'); // as Google does
}
