// The requests that Cursor sends with these settings, in the three forms of public reports: chats (github.com/gabrii/Cursor-Azure-GPT-5,
// tests/recordings), bodies of the Responses API at the chat path (its issue 69), and blocks and bare tools of the Messages API there
// (github.com/router-for-me/CLIProxyAPI/issues/3805). It reads Chat Completions.
//
// Override OpenAI Base URL: $BASE_URL/v1
// OpenAI API Key: $KEY

import { abort, ask, faultOf, gotOf, request } from './chat-by-hand.mjs';
import { holdAll } from './hold-all.mjs';

await holdAll(hold);

async function hold({ name, body, chat, responses, results, isStreamed, missingModel }) {
  const { model } = chat;
  switch (name) {
    case 'models': {
      const { data } = await (await request('/models')).json();
      return { models: data.map(({ id }) => id) };
    }
    case 'abort':
      return abort(chatOf(chat));
    case 'cut':
      return faultOf(() => ask(chatOf(chat)));
    case 'refusals':
      return {
        refusals: [
          await faultOf(() => ask(chatOf(chat), process.env.POOR_KEY)),
          await faultOf(() => ask({ ...chatOf(chat), model: missingModel })),
          await faultOf(() => ask(chatOf(chat), 'sk-tp-nobodyhasthiskey')),
        ],
      };
    case 'tools':
    case 'streamed-tools':
      return converse({ model, ...body, stream: isStreamed === true }, results);
    case 'images':
      return gotOf(await ask({ model, ...body, stream: false }));
    case 'long':
      return gotOf(await ask(chatOf(chat)));
    default:
      return gotOf(await ask({ user: 'someone', ...responses, stream: isStreamed === true }));
  }
}

/** A chat: always streamed, without a limit of tokens where the user sets none. */
function chatOf({ max_completion_tokens: max_tokens, ...chat }) {
  const options = { stream: true, stream_options: { include_usage: true } };
  return { ...chat, max_tokens, temperature: 0, user: 'someone', tool_choice: undefined, ...options };
}

/** Calls and results go back as blocks of Messages, with the text before them. */
async function converse(body, results) {
  const messages = [...body.messages];
  const options = body.stream ? { stream_options: { include_usage: true } } : {};
  for (;;) {
    const answer = await ask({ ...body, ...options, messages });
    if (answer.calls.length === 0) return gotOf(answer);
    const used = answer.calls.map(({ id, function: { name, arguments: input } }) => ({
      ...{ type: 'tool_use', id, name, input: JSON.parse(input) },
    }));
    messages.push({ role: 'assistant', content: [{ type: 'text', text: answer.text }, ...used] });
    const content = used.map(({ id, name }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: results[name].content,
    }));
    messages.push({ role: 'user', content });
  }
}
