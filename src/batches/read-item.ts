// One request of a batch: a line of its file.

import { TurnpikeError } from '../errors.ts';
import { isJsonObject, type JsonObject, type MemberSpan, parseExactly, parseJson, scanJson } from '../wire/wire.ts';
import type { Batch } from './batch.ts';

/** https://platform.claude.com/docs/en/api/messages/batches/create (2026-11-30). */
const MESSAGES_ID = /^[a-zA-Z0-9_-]{1,64}$/;
const OPENAI_ID_CHARACTERS_MAX = 512;

export interface BatchItem {
  customId: string;
  /** The JSON of the request, as its client wrote it. */
  body: string;
}

/** `place` begins the messages of errors. Throws invalid_json, invalid_request. */
export function readItem({ form, endpoint }: Pick<Batch, 'form' | 'endpoint'>, line: string, place: string): BatchItem {
  try {
    const members = scanJson(line); // before parsing: bounds depth and cost
    const item = parseJson(line, parseExactly);
    if (!isJsonObject(item)) throw wrong('', 'Input should be a valid dictionary');
    const field = form === 'messages' ? 'params' : 'body';
    const customId = form === 'messages' ? messagesIdOf(item) : openAiIdOf(item, endpoint);
    const body = item[field];
    const span = members.get(field);
    if (body === undefined || span === undefined) throw wrong(field, 'Field required');
    if (!isJsonObject(body)) throw wrong(field, 'Input should be a valid dictionary');
    return { customId, body: line.slice(span.start, span.end) };
  } catch (thrown) {
    if (!(thrown instanceof TurnpikeError)) throw thrown;
    throw new TurnpikeError(thrown.code, `${place}${thrown.message}`);
  }
}

/** The same for a line that `readItem` has accepted: reads its id only, because a request may be long. */
export function readItemAgain({ form }: Pick<Batch, 'form'>, line: string): BatchItem {
  const members = scanJson(line);
  const textOf = (name: string) => {
    const { start, end } = members.get(name) as MemberSpan;
    return line.slice(start, end);
  };
  return { customId: JSON.parse(textOf('custom_id')) as string, body: textOf(form === 'messages' ? 'params' : 'body') };
}

function messagesIdOf({ custom_id: customId }: JsonObject): string {
  if (customId === undefined) throw wrong('custom_id', 'Field required');
  if (typeof customId !== 'string' || !MESSAGES_ID.test(customId))
    throw wrong('custom_id', 'Input should be 1 to 64 letters, digits, "_" and "-"');
  return customId;
}

function openAiIdOf({ custom_id: customId, method, url }: JsonObject, endpoint: string): string {
  if (customId === undefined) throw wrong('custom_id', 'Field required');
  if (typeof customId !== 'string' || customId === '' || customId.length > OPENAI_ID_CHARACTERS_MAX)
    throw wrong('custom_id', `Input should be a string of 1 to ${OPENAI_ID_CHARACTERS_MAX} characters`);
  if (method !== 'POST') throw wrong('method', "Input should be 'POST'");
  if (url !== endpoint) throw wrong('url', `Input should be '${endpoint}', the endpoint of the batch`);
  return customId;
}

function wrong(path: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', path === '' ? sentence : `${path}: ${sentence}`);
}
