// Mastra with an agent for each conversation, in Node. It calls tools by itself, and takes a model of an address as a chat model.

import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import { ModelRouterEmbeddingModel } from '@mastra/core/llm';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import { holdAll } from '../hold-all.mjs';

const connection = { url: `${process.env.BASE_URL}/v1`, apiKey: process.env.KEY };
const modelOf = (modelId, more) => ({ providerId: 'turnpike', modelId, ...connection, ...more });

const SHAPES = {
  weather: z.object({ city: z.string(), days: z.number().int().optional() }),
  map: z.object({ of: z.string().optional() }),
};
const STAY = z.object({ city: z.string(), days: z.number().int() });

await holdAll(hold);

async function hold({ name, body: embedded, chat, chatResults, isStreamed, missingModel }) {
  switch (name) {
    case 'embeddings': {
      const embedder = new ModelRouterEmbeddingModel(modelOf(chat.model));
      const { embeddings } = await embedder.doEmbed({ values: embedded.input });
      return { vectors: embeddings };
    }
    case 'structured': {
      const { object } = await agentOf(chat).generate(messagesOf(chat), {
        ...settingsOf(chat),
        structuredOutput: { schema: STAY },
      });
      return { object };
    }
    case 'refusals':
      return {
        refusals: [
          await faultOf(agentOf(chat, { apiKey: process.env.POOR_KEY }), chat),
          await faultOf(agentOf({ ...chat, model: missingModel }), chat),
          await faultOf(agentOf(chat, { apiKey: 'sk-tp-nobodyhasthiskey' }), chat),
        ],
      };
    default:
      return isStreamed ? streamed(chat, chatResults) : generated(chat, chatResults);
  }
}

function agentOf({ model, messages, tools }, connected = {}, results = {}) {
  const [first] = messages;
  const made = (tools ?? []).map(({ function: { name, description } }) => [
    name,
    createTool({ id: name, description, inputSchema: SHAPES[name], execute: async () => results[name] }),
  ]);
  const agent = new Agent({
    id: 'agent',
    name: 'agent',
    instructions: first.role === 'system' ? first.content : '',
    model: modelOf(model, connected),
    ...(made.length > 0 && { tools: Object.fromEntries(made) }),
  });
  return new Mastra({ agents: { agent }, logger: false }).getAgent('agent');
}

function messagesOf({ messages }) {
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => ({ role, content: typeof content === 'string' ? content : content.map(partOf) }));
}

function partOf({ type, text, image_url, file }) {
  if (type === 'text') return { type, text };
  if (type === 'image_url') return { type: 'image', image: image_url.url };
  return { type: 'file', data: file.file_data, mediaType: 'application/pdf', filename: file.filename };
}

function settingsOf({ max_completion_tokens: maxOutputTokens, stop: stopSequences }) {
  return { modelSettings: { maxOutputTokens, maxRetries: 2, ...(stopSequences && { stopSequences }) } };
}

async function generated(chat, results) {
  const { steps, usage, finishReason } = await agentOf(chat, {}, results).generate(messagesOf(chat), settingsOf(chat));
  return { ...gotOf(usage, finishReason), text: steps.at(-1).text };
}

async function streamed(chat, results) {
  const stream = await agentOf(chat, {}, results).stream(messagesOf(chat), settingsOf(chat));
  for await (const _ of stream.textStream);
  return { ...gotOf(await stream.usage, await stream.finishReason), text: (await stream.steps).at(-1).text };
}

async function faultOf(agent, chat) {
  try {
    await agent.generate(messagesOf(chat), { modelSettings: { maxRetries: 0 } });
    return {};
  } catch (fault) {
    const { error } = JSON.parse(fault.cause?.responseBody ?? fault.responseBody ?? '{}');
    return {
      fault: fault.constructor.name,
      status: fault.cause?.statusCode ?? fault.statusCode,
      code: error?.code,
    };
  }
}

function gotOf({ inputTokens, outputTokens, cachedInputTokens = 0 }, stopReason) {
  return {
    stopReason,
    usage: { input: inputTokens - cachedInputTokens, cacheRead: cachedInputTokens, output: outputTokens },
  };
}
