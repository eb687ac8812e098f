// Answers without what a provider charges the operator, and without the names that the operator hides from accounts: the model is
// named as the catalog sells it, and the id is made here. Ids of tool calls and items, and signatures, stay: later requests need them.

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

/** The events as the client receives them: never with what the provider charges, and with other names if some are hidden. */
export function showEvents(events: StreamEvent[], names: AnswerNames | null): StreamEvent[] {
  if (names === null && !events.some(hasCharges)) return events; // the common case
  return events.map((event) => {
    if (event.native !== undefined)
      return { ...event, native: event.native.map((one) => ({ ...one, text: showText(one.text, names) })) };
    const isRenamed = names !== null && event.name === 'message_start';
    if (!isRenamed && !hasCharges(event)) return event;
    return { ...event, ...makeEvent({ ...shown(event.value, names), type: event.name }) };
  });
}

export function showAnswer({ text, message }: WholeAnswer, names: AnswerNames | null): WholeAnswer {
  const written = showText(text, names);
  return written === text ? { text, message } : { text: written, message: message && shown(message, names) };
}

/** Names of what a provider charges the operator. */
const CHARGE = /cost|^is_byok$/i;
const CHARGE_IN_TEXT = /cost[\w.]*"\s*:/i;

/** Looks at the text only. */
function hasCharges({ name, json, native }: StreamEvent): boolean {
  if (native !== undefined) return native.some(({ text }) => CHARGE_IN_TEXT.test(text));
  return (name === 'message_start' || name === 'message_delta') && CHARGE_IN_TEXT.test(json);
}

/** The text as it is if nothing is hidden, or if it is no JSON object, such as the end of a stream. */
function showText(text: string, names: AnswerNames | null): string {
  if (!text.startsWith('{') || (names === null && !CHARGE_IN_TEXT.test(text))) return text;
  const value = parseExactly(text);
  return isJsonObject(value) ? JSON.stringify(shown(value, names)) : text;
}

/** Prefixes of ids, by the kind of object that has one. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  'chat.completion': 'chatcmpl-',
  'chat.completion.chunk': 'chatcmpl-',
  text_completion: 'cmpl-',
  response: 'resp_',
};

/** Members that some providers add, and that name them. */
const OF_PROVIDER = ['provider', 'system_fingerprint', 'x_groq'];
/** Where providers add charges: their counts, and facts of gateways. */
const CHARGED = ['usage', 'usageMetadata', 'provider_metadata', 'providerMetadata', 'gateway'];

function shown(value: JsonObject, names: AnswerNames | null): JsonObject {
  const kept = withoutCharges(value);
  if (names !== null) rename(kept, names);
  // The beginning of a Messages stream, and the events of Responses.
  for (const name of ['message', 'response']) if (isJsonObject(kept[name])) kept[name] = shown(kept[name], names);
  return kept;
}

function withoutCharges(value: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(value).filter(([name]) => !CHARGE.test(name)));
  for (const name of CHARGED) if (isJsonObject(kept[name])) kept[name] = withoutCharges(kept[name]);
  return kept;
}

function rename(shown: JsonObject, names: AnswerNames): void {
  const { type, object } = shown;
  if (names.model !== null)
    for (const name of ['model', 'modelVersion']) if (typeof shown[name] === 'string') shown[name] = names.model;
  if (names.id === null) return;
  const prefix = PREFIXES[String(object ?? type)] ?? '';
  for (const name of ['id', 'responseId']) if (typeof shown[name] === 'string') shown[name] = prefix + names.id;
  for (const name of OF_PROVIDER) delete shown[name];
}
