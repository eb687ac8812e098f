// Fronts of OpenAI's form whose requests are no messages: the request travels within a message without output, and the answer is
// not translated.

import type { JsonObject, Protocol, Unbounded, Units } from '../wire/wire.ts';
import type { AnswerTranslator, Front } from './front.ts';
import { openAiError } from './openai-error.ts';

interface OtherUse {
  protocol: Protocol;
  /** Canonical. */
  paths: readonly string[];
  /** The fields that are read, and first parts of the path of an error. */
  fields: ReadonlySet<string>;
  /** Throws invalid_request. */
  convert(body: JsonObject): { message: JsonObject; units?: Units; unbounded?: Unbounded };
}

export function frontOfUse({ protocol, paths, fields, convert }: OtherUse): Front {
  return {
    protocol,
    hasOpenAiHeaders: true,
    keyHeader: null,
    owns: (path) => paths.includes(path),
    findOperation: (path) => (paths.includes(path) ? { asks: 'message' } : null),
    weigh: () => {},
    translate: (body) => ({ ...convert(body), native: null, answer: UNTRANSLATED }),
    errorBody: (error) => JSON.stringify({ error: openAiError(error, fields) }),
  };
}

/** Whole answers come in the format of their clients. */
export const UNTRANSLATED: AnswerTranslator = {
  origins: { messages: [], system: [], tools: [], fields: new Map() },
  message: neverCalled,
  writer: neverCalled,
};

function neverCalled(): never {
  throw new Error('these answers are not translated');
}
