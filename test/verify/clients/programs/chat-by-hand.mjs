// Requests of Chat Completions without an SDK, for clients whose requests are written here. It reads answers as such clients do: pieces of
// calls by their index, counts from the last chunk that has some.

/** Open WebUI has its own name for it. */
const url = process.env.OPENAI_API_BASE_URL ?? `${process.env.BASE_URL}/v1`;

export async function request(path, body, key = process.env.KEY, signal = null) {
  const isForm = body instanceof FormData;
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...(!isForm && { 'Content-Type': 'application/json' }), Authorization: `Bearer ${key}` },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    signal,
  });
  if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status, body: await response.json() });
  return response;
}

export async function whole(body, key) {
  return (await request('/chat/completions', body, key)).json();
}

/** The whole answer: its text, calls, counts and reason to stop. */
export async function ask(body, key) {
  if (body.stream !== true) return readWhole(await whole({ ...body, stream_options: undefined }, key));
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

export async function abort(body) {
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

export function gotOf({ text, stopReason, usage }) {
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

export async function faultOf(ask) {
  try {
    await ask();
    return {};
  } catch ({ message, status, body }) {
    return { fault: message, status, code: body?.error?.code };
  }
}
