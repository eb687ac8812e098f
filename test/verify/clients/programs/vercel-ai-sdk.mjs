// The Vercel AI SDK with its provider of the Messages API, in Node. What it shows of tools, pictures and caches is its own.

import { createAnthropic } from '@ai-sdk/anthropic';
import { holdVercel } from './vercel-words.mjs';

const anthropic = createAnthropic({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.KEY });

await holdVercel(
  anthropic,
  (apiKey) => createAnthropic({ baseURL: `${process.env.BASE_URL}/v1`, apiKey }),
  ({ thinking }) => ({
    ...(thinking && { anthropic: { thinking: { type: thinking.type, budgetTokens: thinking.budget_tokens } } }),
  }),
);
