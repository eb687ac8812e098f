// OpenAI's Agents SDK for TypeScript, in Node. It runs the tools by itself.

import { Agent, OpenAIProvider, Runner, run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import OpenAI from 'openai';
import { holdAll } from './hold-all.mjs';

setDefaultOpenAIClient(new OpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.KEY }));
setTracingDisabled(true);

await holdAll(hold);

async function hold({ name, responses: body, results, isStreamed, next = [], missingModel }) {
  const agent = new Agent(agentOf(body, results));
  switch (name) {
    case 'structured':
      return { object: (await run(agent, body.input)).finalOutput };
    case 'abort':
      return abort(agent, body.input);
    case 'cut':
      return { fault: (await faultOf(streamed(agent, body.input)))?.constructor.name };
    case 'refusals':
      return {
        refusals: [
          await refusalOf(process.env.POOR_KEY, agent, body.input),
          await refusalOf(process.env.KEY, agent.clone({ model: missingModel }), body.input),
          await refusalOf('sk-tp-nobodyhasthiskey', agent, body.input),
        ],
      };
    default:
      return converse(agent, body.input, isStreamed, [...next]);
  }
}

function agentOf({ model, instructions, tools = [], max_output_tokens: maxTokens, text, reasoning, include }, results) {
  return {
    name: 'Assistant',
    model,
    instructions,
    tools: tools.map(({ name, description, parameters }) =>
      tool({
        name,
        description,
        parameters: { required: [], ...parameters, additionalProperties: true },
        strict: false,
        execute: () => outputOf(results[name]),
        errorFunction: (_context, { message }) => message,
      }),
    ),
    modelSettings: { maxTokens, ...(reasoning && { store: false, reasoning, providerData: { include } }) },
    ...(text && { outputType: text.format }),
  };
}

function outputOf({ content, is_error }) {
  if (is_error) throw new Error(content);
  return content.map(({ text = '' }) => text).join('');
}

async function converse(agent, input, isStreamed, next) {
  for (;;) {
    const result = isStreamed ? await streamed(agent, input) : await run(agent, input);
    if (next.length === 0) return gotOf(result);
    input = [...result.history, { role: 'user', content: next.shift() }];
  }
}

async function streamed(agent, input) {
  const result = await run(agent, input, { stream: true });
  for await (const _event of result);
  await result.completed;
  return result;
}

async function abort(agent, input) {
  const leaving = new AbortController();
  let text = '';
  const result = await run(agent, input, { stream: true, signal: leaving.signal });
  for await (const piece of result.toTextStream()) {
    text += piece;
    if (text.length > 20) leaving.abort();
  }
  await result.completed.catch(() => {});
  return { text };
}

function gotOf({ finalOutput, rawResponses }) {
  const { usage } = rawResponses.at(-1);
  const { cached_tokens: cacheRead = 0 } = usage.inputTokensDetails[0] ?? {};
  return {
    text: finalOutput,
    usage: { input: usage.inputTokens - cacheRead, cacheRead, output: usage.outputTokens },
  };
}

async function refusalOf(apiKey, agent, input) {
  const modelProvider = new OpenAIProvider({ baseURL: `${process.env.BASE_URL}/v1`, apiKey });
  const fault = await faultOf(new Runner({ modelProvider }).run(agent, input));
  return { fault: fault?.constructor.name, status: fault?.status, code: fault?.code };
}

function faultOf(promise) {
  return promise.then(
    () => null,
    (fault) => fault,
  );
}
