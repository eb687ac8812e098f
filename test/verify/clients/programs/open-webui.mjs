// The requests that Open WebUI sends to a connection of the kind "OpenAI API", written from its source (github.com/open-webui/open-webui,
// backend/open_webui: routers/openai.py, routers/tasks.py, utils/middleware.py, retrieval/utils.py; read on 2026-11-29).
// It reads answers as Open WebUI does: deltas by index, usage of the last chunk that has one.

import { holdAll } from './hold-all.mjs';

const url = process.env.OPENAI_API_BASE_URL;
const TASK = '### Task:\nGenerate a concise title.\n### Output:\nJSON format: { "title": "your title" }\n';

await holdAll(hold);

async function hold({ name, body: { input }, chat, chatResults, isStreamed, missingModel }) {
  switch (name) {
    case 'models': {
      const { data } = await (await request('/models')).json();
      return { models: data.map(({ id }) => id) };
    }
    case 'embeddings': {
      // Documents of its knowledge: a batch of chunks, vectors as numbers.
      const { data } = await (await request('/embeddings', { input, model: chat.model })).json();
      return { vectors: data.map(({ embedding }) => embedding) };
    }
    case 'structured':
      return { object: JSON.parse((await whole(taskOf(chat))).choices[0].message.content) };
    case 'cut':
      return faultOf(() => streamed(shown(chat)));
    case 'abort':
      return abort(shown(chat));
    case 'refusals':
      return {
        refusals: [
          await faultOf(() => streamed(shown(chat), process.env.POOR_KEY)),
          await faultOf(() => streamed({ ...shown(chat), model: missingModel })),
          await faultOf(() => streamed(shown(chat), 'sk-tp-nobodyhasthiskey')),
        ],
      };
    default:
      return converse(chat, { isStreamed, results: chatResults });
  }
}

/** A chat: streamed, with usage, and `max_tokens` of the model's parameters. */
function shown({ max_completion_tokens: max_tokens, ...chat }) {
  return { stream: true, ...chat, max_tokens, stream_options: { include_usage: true } };
}

/** A title, tags or follow-ups: a whole answer to one question, here with a schema. */
function taskOf({ max_completion_tokens, messages, ...chat }) {
  const content = `${TASK}### Chat History:\n<chat_history>\n${JSON.stringify(messages)}\n</chat_history>`;
  return { ...chat, messages: [{ role: 'user', content }], stream: false, max_completion_tokens };
}

async function converse(chat, { isStreamed, results }) {
  const messages = [...chat.messages];
  for (;;) {
    const asked = shown({ ...chat, messages });
    const answer = isStreamed ? await streamed(asked) : await streamed({ ...asked, stream: false });
    if (answer.calls.length === 0) return gotOf(answer);
    // Calls without the index of the stream, with the text that came before them; one message for each result.
    messages.push({ role: 'assistant', content: answer.text, tool_calls: answer.calls });
    for (const { id, function: called } of answer.calls)
      messages.push({ role: 'tool', tool_call_id: id, content: results[called.name] });
  }
}

async function request(path, body, key = process.env.OPENAI_API_KEY, signal = null) {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${key}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal,
  });
  if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status, body: await response.json() });
  return response;
}

async function whole(body, key) {
  return (await request('/chat/completions', body, key)).json();
}

async function streamed(body, key) {
  if (body.stream === false) return readWhole(await whole({ ...body, stream_options: undefined }, key));
  const answer = { text: '', calls: [] };
  let isDone = false;
  for await (const line of linesOf(await request('/chat/completions', body, key))) {
    if (line === 'data: [DONE]') isDone = true;
    else if (line.startsWith('data: ')) gather(answer, JSON.parse(line.slice('data: '.length)));
  }
  if (!isDone) throw Object.assign(new Error('the stream broke off'), { status: 200, body: {} });
  return answer;
}

function readWhole({ choices: [{ message, finish_reason }], usage }) {
  return { text: message.content ?? '', calls: message.tool_calls ?? [], stopReason: finish_reason, usage };
}

function gather(answer, { choices = [], usage, error }) {
  if (error) throw Object.assign(new Error('an error in the stream'), { status: 200, body: { error } });
  if (usage) answer.usage = usage;
  const [{ delta = {}, finish_reason } = {}] = choices;
  if (finish_reason) answer.stopReason = finish_reason;
  if (delta.content) answer.text += delta.content;
  for (const { index, ...call } of delta.tool_calls ?? []) {
    answer.calls[index] ??= { ...call, function: { ...call.function, arguments: '' } };
    answer.calls[index].function.arguments += call.function?.arguments ?? '';
  }
}

async function* linesOf(response) {
  let rest = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop();
    yield* lines;
  }
}

async function abort(body) {
  const leaving = new AbortController();
  const answer = { text: '', calls: [] };
  try {
    for await (const line of linesOf(await request('/chat/completions', body, undefined, leaving.signal))) {
      if (line.startsWith('data: ')) gather(answer, JSON.parse(line.slice('data: '.length)));
      if (answer.text.length > 20) leaving.abort();
    }
  } catch (fault) {
    if (!leaving.signal.aborted) throw fault;
  }
  return { text: answer.text };
}

function gotOf({ text, stopReason, usage }) {
  const { cached_tokens = 0, cache_write_tokens = 0 } = usage.prompt_tokens_details ?? {};
  return {
    text,
    stopReason,
    usage: {
      input: usage.prompt_tokens - cached_tokens - cache_write_tokens,
      cacheRead: cached_tokens,
      cacheWrite: cache_write_tokens,
      output: usage.completion_tokens,
    },
  };
}

async function faultOf(ask) {
  try {
    await ask();
    return {};
  } catch ({ message, status, body }) {
    return { fault: message, status, code: body?.error?.code };
  }
}
