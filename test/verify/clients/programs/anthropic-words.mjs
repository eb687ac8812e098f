// Conversations with the official SDK for TypeScript, in Node and in a browser: how it is asked, and what it gives.

/** Holds one conversation with a client of the SDK; `poor` is one whose key has no money, `stranger` one without a key. */
export async function holdWithAnthropic({ client, poor, stranger }, { name, isStreamed, ...conversation }) {
  const { body } = conversation;
  switch (name) {
    case 'count':
      return { inputTokens: (await client.messages.countTokens(body)).input_tokens };
    case 'models': {
      const models = [];
      for await (const model of client.models.list({ limit: 5 })) models.push(model.id);
      return { models };
    }
    case 'files':
      return keepFile(client, body);
    case 'structured': {
      const { parsed_output } = await client.messages.parse(body);
      return { object: parsed_output ?? JSON.parse((await client.messages.create(body)).content[0].text) };
    }
    case 'abort': {
      const streaming = client.messages.stream(body);
      let text = '';
      streaming.on('text', (piece) => {
        text += piece;
        if (text.length > 20) streaming.abort();
      });
      await streaming.done().catch(() => {});
      return { text };
    }
    case 'cut':
      return describe(await faultOf(client.messages.stream(body).finalMessage()));
    case 'refusals':
      return {
        refusals: [
          describe(await faultOf(poor.messages.create(body))),
          describe(await faultOf(client.messages.create({ ...body, model: conversation.missingModel }))),
          describe(await faultOf(stranger.messages.create(body))),
        ],
      };
    default:
      return converse(client, conversation, isStreamed);
  }
}

/** The text of the message as a file, which the message names. */
async function keepFile(client, body) {
  const { files } = client.beta;
  const [{ content: text }] = body.messages;
  const { id, size_bytes: bytes } = await files.upload({ file: new File([text], 'notes.txt', { type: 'text/plain' }) });
  const document = { type: 'document', source: { type: 'file', file_id: id } };
  const message = await client.messages.create({ ...body, messages: [{ role: 'user', content: [document] }] });
  const content = await (await files.download(id)).text();
  let isListed = false;
  for await (const listed of files.list()) isListed ||= listed.id === id;
  await files.delete(id);
  const { status: statusOfDeleted } = await faultOf(files.retrieveMetadata(id));
  return { ...gotOf(message), file: { content, bytes, isListed, statusOfDeleted } };
}

/** Turn by turn: tools are answered, then the user says what is next. */
async function converse(client, { body, results = {}, next = [] }, isStreamed) {
  const messages = [...body.messages];
  const open = [...next];
  for (;;) {
    const asked = { ...body, messages };
    const message = isStreamed
      ? await client.messages.stream(asked).finalMessage()
      : await client.messages.create(asked);
    messages.push({ role: 'assistant', content: message.content });
    const calls = message.content.filter(({ type }) => type === 'tool_use');
    const answers = calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, ...results[call.name] }));
    if (calls.length === 0 && open.length === 0) return gotOf(message);
    messages.push({ role: 'user', content: calls.length > 0 ? answers : open.shift() });
  }
}

function gotOf({ content, stop_reason, usage }) {
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    stopReason: stop_reason,
    usage: {
      input: usage.input_tokens,
      cacheRead: usage.cache_read_input_tokens ?? 0,
      cacheWrite: usage.cache_creation_input_tokens ?? 0,
      output: usage.output_tokens,
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
  return { fault: fault?.constructor.name, status: fault?.status, code: fault?.error?.error?.code };
}
