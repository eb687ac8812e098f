// Answers without the names that the operator hides from accounts: the model is named as the catalog sells it, and the id is made
// here. Ids of tool calls and items, and signatures, stay: later requests need them.

import { type Catalog, hiddenFromAccounts } from '../catalog/catalog.ts';
import { isJsonObject, type JsonObject, makeEvent, parseExactly, type StreamEvent } from '../wire/wire.ts';
import type { WholeAnswer } from './client-request.ts';

/** The names in an answer in place of hidden ones; null: the provider's own stays. */
export interface AnswerNames {
  model: string | null;
  /** Without the prefix that a protocol gives its ids. */
  id: string | null;
}

/** null if nothing is hidden. */
export function answerNames(catalog: Catalog, model: string, requestId: string): AnswerNames | null {
  const { things } = hiddenFromAccounts(catalog);
  if (!things.has('provider') && !things.has('upstream_model')) return null;
  return {
    model: things.has('upstream_model') ? model : null,
    id: things.has('provider') ? requestId.slice(requestId.indexOf('_') + 1) : null,
  };
}

export function renameEvents(events: StreamEvent[], names: AnswerNames): StreamEvent[] {
  return events.map((event) => {
    if (event.native !== undefined)
      return { ...event, native: event.native.map((one) => ({ ...one, text: renameText(one.text, names) })) };
    if (event.name !== 'message_start') return event;
    return { ...event, ...makeEvent({ ...renamed(event.value, names), type: 'message_start' }) };
  });
}

export function renameAnswer({ text, message }: WholeAnswer, names: AnswerNames): WholeAnswer {
  return { text: renameText(text, names), message: message && renamed(message, names) };
}

/** The text as it is if it is no JSON object, such as the end of a stream. */
function renameText(text: string, names: AnswerNames): string {
  if (!text.startsWith('{')) return text;
  const value = parseExactly(text);
  return isJsonObject(value) ? JSON.stringify(renamed(value, names)) : text;
}

/** Prefixes of ids, by the kind of object that has one. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  'chat.completion': 'chatcmpl-',
  'chat.completion.chunk': 'chatcmpl-',
  text_completion: 'cmpl-',
  response: 'resp_',
};

/** Members that some providers add, and that name them or what they charge. */
const OF_PROVIDER = ['provider', 'system_fingerprint', 'x_groq'];
const CHARGES = ['cost', 'cost_details', 'is_byok'];

function renamed(value: JsonObject, names: AnswerNames): JsonObject {
  const shown = { ...value };
  const { type, object } = value;
  if (names.model !== null)
    for (const name of ['model', 'modelVersion']) if (typeof shown[name] === 'string') shown[name] = names.model;
  if (names.id !== null) {
    const prefix = PREFIXES[String(object ?? type)] ?? '';
    for (const name of ['id', 'responseId']) if (typeof shown[name] === 'string') shown[name] = prefix + names.id;
    for (const name of OF_PROVIDER) delete shown[name];
    if (isJsonObject(shown['usage']))
      shown['usage'] = Object.fromEntries(Object.entries(shown['usage']).filter(([name]) => !CHARGES.includes(name)));
  }
  // The beginning of a Messages stream, and the events of Responses.
  for (const name of ['message', 'response']) if (isJsonObject(shown[name])) shown[name] = renamed(shown[name], names);
  return shown;
}
