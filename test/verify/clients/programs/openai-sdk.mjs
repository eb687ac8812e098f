// OpenAI's SDK for TypeScript, in Node.

import OpenAI from 'openai';
import { toFile } from 'openai/uploads';
import { holdAll } from './hold-all.mjs';

const client = new OpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.KEY });
const poor = new OpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: process.env.POOR_KEY });
const stranger = new OpenAI({ baseURL: `${process.env.BASE_URL}/v1`, apiKey: 'sk-tp-nobodyhasthiskey' });

await holdAll(hold);

async function hold({ name, body: embedded, chat: body, chatResults, isStreamed, next = [], missingModel }) {
  const { completions } = client.chat;
  switch (name) {
    case 'models': {
      const models = [];
      for await (const model of client.models.list()) models.push(model.id);
      return { models };
    }
    case 'embeddings': {
      const { data } = await client.embeddings.create({ model: body.model, input: embedded.input });
      return { vectors: data.map(({ embedding }) => embedding) };
    }
    case 'files':
      return keepFile(body);
    case 'drawing': {
      const { data } = await client.images.generate({ ...embedded, model: body.model });
      return { files: data.map(({ b64_json }) => b64_json) };
    }
    case 'editing': {
      const { picture, ...asked } = embedded;
      const image = await toFile(Buffer.from(picture, 'base64'), 'bicycle.png', { type: 'image/png' });
      const { data } = await client.images.edit({ ...asked, image: [image], model: body.model });
      return { files: data.map(({ b64_json }) => b64_json) };
    }
    case 'speaking': {
      const sound = await client.audio.speech.create({ ...embedded, model: body.model });
      return { files: [Buffer.from(await sound.arrayBuffer()).toString('base64')] };
    }
    case 'hearing': {
      const { sound, ...asked } = embedded;
      const file = await toFile(Buffer.from(sound, 'base64'), 'recorded.wav', { type: 'audio/wav' });
      const { text } = await client.audio.transcriptions.create({ ...asked, file, model: body.model });
      return { text };
    }
    case 'structured': {
      const { message } = (await completions.parse(body)).choices[0];
      return { object: message.parsed ?? JSON.parse(message.content) };
    }
    case 'abort':
      return abort(body);
    case 'cut':
      return describe(await faultOf(completions.stream(body).finalChatCompletion()));
    case 'refusals':
      return {
        refusals: [
          describe(await faultOf(poor.chat.completions.create(body))),
          describe(await faultOf(completions.create({ ...body, model: missingModel }))),
          describe(await faultOf(stranger.chat.completions.create(body))),
        ],
      };
    default:
      return converse(body, { isStreamed, results: chatResults, next: [...next] });
  }
}

async function converse(body, { isStreamed, results, next }) {
  const messages = [...body.messages];
  for (;;) {
    const asked = { ...body, messages };
    const completion = isStreamed
      ? await client.chat.completions
          .stream({ ...asked, stream_options: { include_usage: true } })
          .finalChatCompletion()
      : await client.chat.completions.create(asked);
    const { message } = completion.choices[0];
    const calls = message.tool_calls ?? [];
    if (calls.length === 0 && next.length === 0) return gotOf(completion);
    messages.push(message);
    for (const call of calls)
      messages.push({ role: 'tool', tool_call_id: call.id, content: results[call.function.name] });
    if (calls.length === 0) messages.push({ role: 'user', content: next.shift() });
  }
}

async function keepFile(body) {
  const { files } = client;
  const { content: text } = body.messages.at(-1);
  const uploaded = await toFile(Buffer.from(text), 'notes.txt', { type: 'text/plain' });
  const { id, bytes } = await files.create({ file: uploaded, purpose: 'user_data' });
  const named = { role: 'user', content: [{ type: 'file', file: { file_id: id } }] };
  const completion = await client.chat.completions.create({
    ...body,
    messages: [...body.messages.slice(0, -1), named],
  });
  const content = await (await files.content(id)).text();
  let isListed = false;
  for await (const listed of files.list()) isListed ||= listed.id === id;
  await files.delete(id);
  const { status: statusOfDeleted } = await faultOf(files.retrieve(id));
  return { ...gotOf(completion), file: { content, bytes, isListed, statusOfDeleted } };
}

async function abort(body) {
  const streaming = client.chat.completions.stream(body);
  let text = '';
  streaming.on('content', (piece) => {
    text += piece;
    if (text.length > 20) streaming.abort();
  });
  await streaming.done().catch(() => {});
  return { text };
}

function gotOf({ choices: [{ message, finish_reason }], usage }) {
  const { cached_tokens = 0, cache_write_tokens = 0 } = usage.prompt_tokens_details ?? {};
  return {
    text: message.content,
    stopReason: finish_reason,
    usage: {
      input: usage.prompt_tokens - cached_tokens - cache_write_tokens,
      cacheRead: cached_tokens,
      cacheWrite: cache_write_tokens,
      output: usage.completion_tokens,
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
  return { fault: fault?.constructor.name, status: fault?.status, code: fault?.code };
}
