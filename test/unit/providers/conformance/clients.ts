// Clients that are unaware of the provider behind the service: each asks, has its tools called, and sends the results. They have no
// tests of their own.

import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { type Anthropic, makeClient, type Sdk, sdks } from '../../../verify/clients/official-sdks.ts';

/** The result of a call. */
export const resultOf = (city: string | undefined) => `Sun, ${city}`;

export interface Conversation {
  url: string;
  secret: string;
  model: string;
  stream: boolean;
}

export interface ToolClient {
  name: string;
  /** Has two turns with the tool `look`, and resolves to the thinking of the first and the text of the last. */
  run(conversation: Conversation): Promise<{ thinking: string; text: string }>;
}

const QUESTION = 'What is the weather in Paris and Rome?';
const THINKING = { type: 'enabled' as const, budget_tokens: 1_024 };
const LOOK = {
  name: 'look',
  description: 'The weather of a city',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' as const } } },
};

const officialSdk = (sdk: Sdk): ToolClient => ({
  name: `the SDK ${sdk.name}`,
  async run({ url, secret, model, stream }) {
    const { client } = makeClient(sdk, url, secret);
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: QUESTION }];
    const request = { model, max_tokens: 2_000, thinking: THINKING, tools: [LOOK] };
    const ask = () => {
      const body = { ...request, messages: [...messages] };
      return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
    };
    const first = await ask();
    const results = first.content.flatMap((block) =>
      block.type === 'tool_use'
        ? [
            {
              type: 'tool_result' as const,
              tool_use_id: block.id,
              content: resultOf((block.input as { city?: string }).city),
            },
          ]
        : [],
    );
    messages.push({ role: 'assistant', content: first.content }, { role: 'user', content: results });
    const { content } = await ask();
    return {
      thinking: first.content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    };
  },
});

const vercelSdk: ToolClient = {
  name: 'the Vercel AI SDK',
  async run({ url, secret, model, stream }) {
    globalThis.AI_SDK_LOG_WARNINGS = false; // it does not know the names of these models, and says so each time
    const inputSchema = z.object({ city: z.string().optional() });
    const request = {
      model: createAnthropic({ baseURL: `${url}/v1`, apiKey: secret })(model),
      prompt: QUESTION,
      maxOutputTokens: 2_000,
      tools: { look: tool({ inputSchema, execute: async ({ city }) => resultOf(city) }) },
      stopWhen: stepCountIs(3),
      providerOptions: { anthropic: { thinking: { type: 'enabled' as const, budgetTokens: 1_024 } } },
    };
    const { text, steps } = stream ? streamText(request) : await generateText(request);
    return { thinking: (await steps)[0]?.reasoningText ?? '', text: await text };
  },
};

export const toolClients: readonly ToolClient[] = [...sdks.map(officialSdk), vercelSdk];
