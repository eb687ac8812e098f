// Conversations with the Vercel AI SDK, the same for each of its providers.

import { embedMany, generateText, isStepCount, jsonSchema, Output, streamText, tool } from 'ai';
import { holdAll } from './hold-all.mjs';

/** Holds all conversations with a provider. `providerOf` makes one with another key, `optionsOf` the options of a request. */
export async function holdVercel(provider, providerOf, optionsOf, codeOf = ({ error }) => error.code) {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  await holdAll(async ({ name, body, isStreamed, results, next = [], missingModel }) => {
    const asked = {
      model: provider(body.model),
      ...askedOf(body),
      providerOptions: optionsOf(body),
      tools: toolsOf(body.tools, results),
    };
    switch (name) {
      case 'embeddings':
        return { vectors: (await embedMany({ model: provider.embedding(body.model), values: body.input })).embeddings };
      case 'structured': {
        const schema = jsonSchema(body.output_config.format.schema);
        const { output } = await generateText({ ...asked, output: Output.object({ schema }) });
        return { object: output };
      }
      case 'abort':
        return abort(asked);
      case 'cut':
        return { fault: (await lastPart(streamText({ ...asked, onError: () => {} }))).type };
      case 'refusals': {
        const refused = [
          providerOf(process.env.POOR_KEY)(body.model),
          provider(missingModel),
          providerOf('sk-tp-nobodyhasthiskey')(body.model),
        ];
        const refusals = [];
        for (const model of refused) refusals.push(await faultOf({ ...asked, model }, codeOf));
        return { refusals };
      }
      default:
        return converse({ ...asked, stopWhen: isStepCount(4) }, isStreamed, [...next]);
    }
  });
}

async function converse(asked, isStreamed, next) {
  const messages = [...asked.messages];
  for (;;) {
    const answered = isStreamed ? streamText({ ...asked, messages }) : await generateText({ ...asked, messages });
    if (isStreamed) await answered.consumeStream();
    if (next.length === 0) return gotOf(answered);
    messages.push(...(await answered.responseMessages), { role: 'user', content: next.shift() });
  }
}

async function gotOf(answered) {
  const [text, finishReason, steps] = [await answered.text, await answered.finishReason, await answered.steps];
  const { inputTokenDetails, outputTokens } = steps.at(-1).usage;
  return {
    text,
    stopReason: finishReason,
    usage: {
      input: inputTokenDetails.noCacheTokens,
      cacheRead: inputTokenDetails.cacheReadTokens,
      cacheWrite: inputTokenDetails.cacheWriteTokens,
      output: outputTokens,
    },
  };
}

function askedOf({ max_tokens, system, messages = [], stop_sequences }) {
  return {
    maxOutputTokens: max_tokens,
    instructions: Array.isArray(system)
      ? system.map(({ text, ...block }) => ({ role: 'system', content: text, ...markOf(block) }))
      : system,
    messages: messages.map(({ role, content }) => ({ role, content: contentOf(content) })),
    stopSequences: stop_sequences,
  };
}

function contentOf(content) {
  if (typeof content === 'string') return content;
  return content.map(({ type, text, source, ...block }) => {
    if (type === 'text') return { type, text, ...markOf(block) };
    const data = source.type === 'url' ? new URL(source.url) : source.data;
    return { type: 'file', data, mediaType: source.media_type ?? 'image/png' };
  });
}

function markOf({ cache_control: cacheControl }) {
  return cacheControl ? { providerOptions: { anthropic: { cacheControl } } } : {};
}

function toolsOf(tools = [], results) {
  const made = tools.map(({ name, description, input_schema }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(input_schema),
      execute: async () => {
        if (results[name].is_error) throw new Error(results[name].content);
        return results[name].content;
      },
      toModelOutput: ({ output }) => ({ type: 'content', value: output.map(partOf) }),
    }),
  ]);
  return Object.fromEntries(made);
}

function partOf({ type, text, source }) {
  if (type === 'text') return { type, text };
  return { type: 'file', data: { type: 'data', data: source.data }, mediaType: source.media_type };
}

async function abort(asked) {
  const leaving = new AbortController();
  let text = '';
  for await (const piece of streamText({ ...asked, abortSignal: leaving.signal }).textStream) {
    text += piece;
    if (text.length > 20) leaving.abort();
  }
  return { text };
}

async function lastPart({ fullStream }) {
  const parts = [];
  for await (const part of fullStream) if (part.type === 'error') parts.push(part);
  return parts.at(-1);
}

async function faultOf(asked, codeOf) {
  const fault = await generateText(asked).then(
    () => null,
    (thrown) => thrown,
  );
  return { fault: fault?.constructor.name, status: fault?.statusCode, code: codeOf(JSON.parse(fault.responseBody)) };
}
