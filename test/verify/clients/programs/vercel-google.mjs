// The Vercel AI SDK with its provider of Gemini's protocol, in Node.

import { createGoogle } from '@ai-sdk/google';
import { holdVercel } from './vercel-words.mjs';

const google = createGoogle({ baseURL: `${process.env.BASE_URL}/v1beta`, apiKey: process.env.KEY });

await holdVercel(
  google,
  (apiKey) => createGoogle({ baseURL: `${process.env.BASE_URL}/v1beta`, apiKey }),
  ({ thinking }) => ({
    ...(thinking && { google: { thinkingConfig: { includeThoughts: true, thinkingBudget: thinking.budget_tokens } } }),
  }),
  ({ error }) => error.details[0].metadata.code,
);
