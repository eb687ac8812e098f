// Google's GenAI SDK for TypeScript, in Node.

import { GoogleGenAI } from '@google/genai';
import { holdAll } from './hold-all.mjs';

const ai = new GoogleGenAI({ apiKey: process.env.KEY, httpOptions: { baseUrl: process.env.BASE_URL } });
const withKey = (apiKey) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: process.env.BASE_URL } });

await holdAll(hold);

async function hold({
  name,
  body: embedded,
  gemini: asked,
  geminiResults: results,
  isStreamed,
  next = [],
  missingModel,
}) {
  switch (name) {
    case 'models': {
      const models = [];
      for await (const model of await ai.models.list()) models.push(model.name.replace('models/', ''));
      return { models };
    }
    case 'count':
      return {
        inputTokens: (await ai.models.countTokens({ model: asked.model, contents: asked.contents })).totalTokens,
      };
    case 'embeddings': {
      const { embeddings } = await ai.models.embedContent({ model: asked.model, contents: embedded.input });
      return { vectors: embeddings.map(({ values }) => values) };
    }
    case 'editing': {
      const contents = [{ inlineData: { mimeType: 'image/png', data: embedded.picture } }, embedded.prompt];
      const asking = { model: asked.model, contents, config: { responseModalities: ['IMAGE'] } };
      const { candidates } = await ai.models.generateContent(asking);
      return { files: candidates[0].content.parts.map(({ inlineData }) => inlineData.data) };
    }
    case 'structured':
      return { object: JSON.parse((await ai.models.generateContent(asked)).text) };
    case 'abort':
      return abort(asked);
    case 'cut':
      return describe(await faultOf(streamed(asked)));
    case 'refusals':
      return {
        refusals: [
          describe(await faultOf(withKey(process.env.POOR_KEY).models.generateContent(asked))),
          describe(await faultOf(ai.models.generateContent({ ...asked, model: missingModel }))),
          describe(await faultOf(withKey('sk-tp-nobodyhasthiskey').models.generateContent(asked))),
        ],
      };
    default:
      return converse(asked, { isStreamed, results, next: [...next] });
  }
}

async function converse({ contents, ...settings }, { isStreamed, results, next }) {
  const chat = ai.chats.create(settings);
  let message = contents[0].parts;
  for (;;) {
    const asked = { message };
    const { text, calls, last } = isStreamed ? await streamed(asked, chat) : read([await chat.sendMessage(asked)]);
    if (calls.length === 0 && next.length === 0) return gotOf(text, last);
    message = calls.map(({ id, name }) => ({ functionResponse: { id, name, response: results[name] } }));
    if (calls.length === 0) message = next.shift();
  }
}

/** All chunks of a stream, of a chat or of a request of its own. */
async function streamed(asked, chat) {
  const chunks = [];
  for await (const chunk of await (chat?.sendMessageStream(asked) ?? ai.models.generateContentStream(asked)))
    chunks.push(chunk);
  return read(chunks);
}

/** Its own accessors warn of every call beside a text. */
function read(chunks) {
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0].content?.parts ?? []);
  const text = parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
  return { text, calls: parts.flatMap(({ functionCall }) => functionCall ?? []), last: chunks.at(-1) };
}

async function abort(asked) {
  const leaving = new AbortController();
  let text = '';
  try {
    const config = { ...asked.config, abortSignal: leaving.signal };
    for await (const chunk of await ai.models.generateContentStream({ ...asked, config })) {
      text += chunk.text ?? '';
      if (text.length > 20) leaving.abort();
    }
  } catch (fault) {
    if (!leaving.signal.aborted) throw fault;
  }
  return { text };
}

function gotOf(text, { candidates: [{ finishReason }], usageMetadata: usage }) {
  const { promptTokenCount, cachedContentTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  return {
    text,
    stopReason: finishReason.toLowerCase(),
    usage: {
      input: promptTokenCount - cachedContentTokenCount,
      cacheRead: cachedContentTokenCount,
      output: candidatesTokenCount + thoughtsTokenCount,
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
  const { details } = fault?.message?.startsWith('{') ? JSON.parse(fault.message).error : {};
  return { fault: fault?.constructor.name, status: fault?.status, code: details?.[0].metadata.code };
}
