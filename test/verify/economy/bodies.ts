// Bodies of messages, from the answers that they are to bring.

import { type ServerTool, SUMMARIZED_FROM_TOKENS, type Wanted } from './answers.ts';
import { behaviourOf } from './models.ts';
import { makePdf } from './pdf.ts';
import { writeText } from './texts.ts';

interface Wish {
  wanted: Wanted;
  isStream: boolean;
  /** Changes the body, and nothing else. */
  variant?: number;
}

/** The request that makes the provider answer as it is wanted. */
export function bodyOf({ wanted, isStream, variant = 0 }: Wish) {
  const { model, maxTokens, prompt, file, thinking, tool, uses } = wanted;
  const text = writeText(prompt);
  const source = { type: 'base64', media_type: 'application/pdf', data: file === null ? '' : makePdf(file) };
  const content =
    file === null ? text : [{ type: 'document', source }, ...(text === '' ? [] : [{ type: 'text', text }])];
  return {
    model,
    max_tokens: maxTokens,
    stream: isStream,
    temperature: (variant % 10) / 10,
    ...(thinking > 0 && !behaviourOf(model).thinks && { thinking: { type: 'adaptive' } }),
    ...(tool !== null && toolMembers(tool, uses)),
    messages: [{ role: 'user', content }],
  };
}

function toolMembers(tool: ServerTool, uses: number) {
  if (tool === 'summary')
    return {
      context_management: {
        edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: SUMMARIZED_FROM_TOKENS } }],
      },
    };
  const search = { type: 'web_search_20260209', name: 'web_search', max_uses: uses };
  if (tool === 'search') return { tools: [search] };
  const fetching = { type: 'web_fetch_20260209', name: 'web_fetch', max_uses: uses };
  if (tool === 'fetch') return { tools: [fetching] };
  return { tools: [fetching, { type: 'code_execution_20260120', name: 'code_execution' }] };
}
