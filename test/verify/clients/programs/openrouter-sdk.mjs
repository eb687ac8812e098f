// OpenRouter's SDK for TypeScript, in Node. It checks every answer against its own schema of Chat Completions.

import { OpenRouter } from '@openrouter/sdk';
import { holdAll } from './hold-all.mjs';

const client = new OpenRouter({ serverURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.KEY });
const poor = new OpenRouter({ serverURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.POOR_KEY });
const stranger = new OpenRouter({ serverURL: `${process.env.BASE_URL}/v1`, apiKey: 'sk-tp-nobodyhasthiskey' });

/** In the names of the SDK; schemas keep theirs. */
function renamed(value, key) {
  if (key === 'parameters' || key === 'schema' || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((member) => renamed(member));
  const nameOf = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [nameOf(name), renamed(member, name)]));
}

await holdAll(hold);

async function hold({ name, body: embedded, chat, chatResults, isStreamed, next = [], missingModel }) {
  const body = renamed(chat);
  switch (name) {
    case 'embeddings': {
      const requestBody = { model: chat.model, input: embedded.input };
      const { data } = await client.embeddings.generate({ requestBody });
      return { vectors: data.map(({ embedding }) => embedding) };
    }
    case 'structured':
      return { object: JSON.parse((await ask(client, body)).message.content) };
    case 'abort':
      return abort(body);
    case 'cut':
      return describe(await faultOf(ask(client, body, true)));
    case 'refusals':
      return {
        refusals: [
          describe(await faultOf(ask(poor, body))),
          describe(await faultOf(ask(client, { ...body, model: missingModel }))),
          describe(await faultOf(ask(stranger, body))),
        ],
      };
    default:
      return converse(body, { isStreamed, results: chatResults, next: [...next] });
  }
}

async function converse(body, { isStreamed, results, next }) {
  const messages = [...body.messages];
  for (;;) {
    const answer = await ask(client, { ...body, messages }, isStreamed);
    const calls = answer.message.toolCalls ?? [];
    if (calls.length === 0 && next.length === 0) return gotOf(answer);
    messages.push(answer.message);
    for (const call of calls)
      messages.push({ role: 'tool', toolCallId: call.id, content: results[call.function.name] });
    if (calls.length === 0) messages.push({ role: 'user', content: next.shift() });
  }
}

async function ask(from, body, isStreamed = false) {
  if (!isStreamed) {
    const { choices, usage } = await from.chat.send({ chatRequest: { ...body, stream: false } });
    return { message: choices[0].message, finishReason: choices[0].finishReason, usage };
  }
  const chatRequest = { ...body, stream: true, streamOptions: { includeUsage: true } };
  const answer = { message: { role: 'assistant', content: '' } };
  for await (const chunk of await from.chat.send({ chatRequest })) gather(answer, chunk);
  return answer;
}

/** The SDK leaves it to its callers to put the pieces of a stream together. */
function gather(answer, { choices: [choice], usage, error }) {
  if (error) throw Object.assign(new Error(error.message), { error });
  if (usage) answer.usage = usage;
  if (choice?.finishReason) answer.finishReason = choice.finishReason;
  const { content, toolCalls = [] } = choice?.delta ?? {};
  if (content) answer.message.content += content;
  for (const { index, id, function: named } of toolCalls) {
    answer.message.toolCalls ??= [];
    answer.message.toolCalls[index] ??= { id, type: 'function', function: { name: named.name, arguments: '' } };
    answer.message.toolCalls[index].function.arguments += named.arguments ?? '';
  }
}

async function abort(body) {
  const leaving = new AbortController();
  let text = '';
  try {
    const chunks = await client.chat.send({ chatRequest: { ...body, stream: true } }, { signal: leaving.signal });
    for await (const { choices } of chunks) {
      text += choices[0]?.delta.content ?? '';
      if (text.length > 20) leaving.abort();
    }
  } catch (fault) {
    if (!leaving.signal.aborted) throw fault;
  }
  return { text };
}

function gotOf({ message, finishReason, usage }) {
  const { cachedTokens = 0, cacheWriteTokens = 0 } = usage.promptTokensDetails ?? {};
  return {
    text: message.content,
    stopReason: finishReason,
    usage: {
      input: usage.promptTokens - cachedTokens - cacheWriteTokens,
      cacheRead: cachedTokens,
      cacheWrite: cacheWriteTokens,
      output: usage.completionTokens,
    },
  };
}

function faultOf(promise) {
  return promise.then(
    () => null,
    (fault) => fault,
  );
}

function describe(fault) {
  const { error } = JSON.parse(fault?.body ?? '{}');
  return { fault: fault?.constructor.name, status: fault?.statusCode, code: error?.code };
}
