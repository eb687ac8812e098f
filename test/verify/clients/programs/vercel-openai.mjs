// The Vercel AI SDK with its provider of the Responses API, in Node.

import { createOpenAI } from '@ai-sdk/openai';
import { holdVercel } from './vercel-words.mjs';

const openai = createOpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.KEY });
const providerOptions = { openai: { store: false } };

await holdVercel(
  openai,
  (apiKey) => createOpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey }),
  ({ thinking }) => ({
    openai: {
      ...providerOptions.openai,
      ...(thinking && { forceReasoning: true, reasoningEffort: 'low', reasoningSummary: 'auto' }),
    },
  }),
);
