// The requests that Open WebUI sends to a connection of the kind "OpenAI API", written from its source (github.com/open-webui/open-webui,
// backend/open_webui: routers/openai.py, routers/tasks.py, routers/audio.py, routers/images.py, utils/middleware.py, retrieval/utils.py; read on 2026-11-29).

import { abort, ask, faultOf, gotOf, request, whole } from './chat-by-hand.mjs';
import { holdAll } from './hold-all.mjs';

const TASK = '### Task:\nGenerate a concise title.\n### Output:\nJSON format: { "title": "your title" }\n';

await holdAll(hold);

async function hold({ name, body: { input, ...body }, chat, chatResults, isStreamed, missingModel }) {
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
    case 'drawing': {
      // The settings of its images: a model, a size, and the format of models that have it.
      const asked = { ...body, model: chat.model, response_format: 'b64_json' };
      const { data } = await (await request('/images/generations', asked)).json();
      return { files: data.map(({ b64_json }) => b64_json) };
    }
    case 'editing': {
      const form = new FormData();
      form.append('model', chat.model);
      form.append('prompt', body.prompt);
      form.append('image', new Blob([Buffer.from(body.picture, 'base64')], { type: 'image/png' }), 'bicycle.png');
      const { data } = await (await request('/images/edits', form)).json();
      return { files: data.map(({ b64_json }) => b64_json) };
    }
    case 'speaking': {
      const sound = await request('/audio/speech', { input, ...body, model: chat.model });
      return { files: [Buffer.from(await sound.arrayBuffer()).toString('base64')] };
    }
    case 'hearing': {
      const form = new FormData();
      form.append('model', chat.model);
      form.append('language', body.language);
      form.append('file', new Blob([Buffer.from(body.sound, 'base64')], { type: 'audio/wav' }), 'recorded.wav');
      const { text } = await (await request('/audio/transcriptions', form)).json();
      return { text };
    }
    case 'structured':
      return { object: JSON.parse((await whole(taskOf(chat))).choices[0].message.content) };
    case 'cut':
      return faultOf(() => ask(shown(chat)));
    case 'abort':
      return abort(shown(chat));
    case 'refusals':
      return {
        refusals: [
          await faultOf(() => ask(shown(chat), process.env.POOR_KEY)),
          await faultOf(() => ask({ ...shown(chat), model: missingModel })),
          await faultOf(() => ask(shown(chat), 'sk-tp-nobodyhasthiskey')),
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
    const answer = await ask({ ...asked, stream: isStreamed === true });
    if (answer.calls.length === 0) return gotOf(answer);
    // Calls without the index of the stream, with the text that came before them; one message for each result.
    messages.push({ role: 'assistant', content: answer.text, tool_calls: answer.calls });
    for (const { id, function: called } of answer.calls)
      messages.push({ role: 'tool', tool_call_id: id, content: results[called.name] });
  }
}
