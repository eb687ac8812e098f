// LangChain for JavaScript with its chat model of the Messages API, in Node.

import { ChatAnthropic } from '@langchain/anthropic';
import { AIMessageChunk, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { holdAll } from './hold-all.mjs';

const connection = { anthropicApiUrl: process.env.BASE_URL, apiKey: process.env.KEY };
const chat = (more) => new ChatAnthropic({ ...connection, ...more });

/** What a conversation asks for, in LangChain's words. */
function askedOf({ model, max_tokens, stop_sequences, thinking }) {
  return {
    model,
    maxTokens: max_tokens,
    ...(stop_sequences && { stopSequences: stop_sequences }),
    ...(thinking && { thinking }),
  };
}

await holdAll(hold);

async function hold({ name, body, isStreamed, results, next = [], missingModel }) {
  const asked = askedOf(body);
  const model = chat(asked);
  const messages = [...(body.system ? [new SystemMessage({ content: body.system })] : []), ...body.messages];
  switch (name) {
    case 'structured': {
      const { schema } = body.output_config.format;
      const structured = model.withStructuredOutput({ title: 'stay', ...schema }, { method: 'jsonSchema' });
      return { object: await structured.invoke(messages) };
    }
    case 'abort':
      return abort(model, messages);
    case 'cut':
      return faultOf(streamed(model, messages));
    case 'refusals':
      return {
        refusals: [
          await faultOf(chat({ ...asked, apiKey: process.env.POOR_KEY }).invoke(messages)),
          await faultOf(chat({ ...asked, model: missingModel }).invoke(messages)),
          await faultOf(chat({ ...asked, apiKey: 'sk-tp-nobodyhasthiskey' }).invoke(messages)),
        ],
      };
    default:
      return converse(body.tools ? model.bindTools(body.tools) : model, messages, {
        isStreamed,
        results,
        next: [...next],
      });
  }
}

async function converse(model, messages, { isStreamed, results, next }) {
  for (;;) {
    const message = isStreamed ? await streamed(model, messages) : await model.invoke(messages);
    messages.push(message);
    const calls = message.tool_calls ?? [];
    if (calls.length === 0 && next.length === 0) return gotOf(message);
    if (calls.length === 0) messages.push(new HumanMessage(next.shift()));
    for (const { id, name } of calls) {
      const { content, is_error } = results[name];
      messages.push(new ToolMessage({ content, tool_call_id: id, name, status: is_error ? 'error' : 'success' }));
    }
  }
}

async function streamed(model, messages) {
  let whole = new AIMessageChunk('');
  for await (const chunk of await model.stream(messages)) whole = whole.concat(chunk);
  return whole;
}

async function abort(model, messages) {
  const leaving = new AbortController();
  let text = '';
  try {
    for await (const chunk of await model.stream(messages, { signal: leaving.signal })) {
      text += chunk.text;
      if (text.length > 20) leaving.abort();
    }
  } catch (fault) {
    if (!leaving.signal.aborted) throw fault;
  }
  return { text };
}

function gotOf({ text, usage_metadata: usage, response_metadata: { stop_reason } }) {
  const { cache_read = 0, cache_creation = 0 } = usage.input_token_details ?? {};
  return {
    text,
    stopReason: stop_reason,
    usage: {
      input: usage.input_tokens - cache_read - cache_creation,
      cacheRead: cache_read,
      cacheWrite: cache_creation,
      output: usage.output_tokens,
    },
  };
}

async function faultOf(promise) {
  const fault = await promise.then(
    () => null,
    (thrown) => thrown,
  );
  return { fault: fault?.constructor.name, status: fault?.status, code: fault?.error?.error?.code };
}
