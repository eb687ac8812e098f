// Fronts of OpenAI's form whose requests are no messages: the request travels within a message without output, and the answer is
// not translated.

import type { JsonObject, MeasuredForm, Protocol, SentFile, Unbounded, Units } from '../wire/wire.ts';
import type { AnswerTranslator, FormKind, Front } from './front.ts';
import { openAiError } from './openai-error.ts';
import { extraMember } from './request-fields.ts';

interface OtherUse {
  protocol: Protocol;
  /** Canonical, of requests in JSON; absent: none. */
  paths?: readonly string[];
  /** By their canonical paths; absent: none. */
  forms?: ReadonlyMap<string, FormKind>;
  /** The fields that are read, and first parts of the path of an error. */
  fields: ReadonlySet<string>;
  /** `form`: that which the path takes in place of JSON; null: none. Throws invalid_request. Absent: no path takes JSON. */
  convert?(body: JsonObject, form: FormKind | null): Converted;
  /** Throws invalid_request. Absent: no path takes a form. */
  convertForm?(form: MeasuredForm, kind: FormKind): Converted;
}

interface Converted {
  message: JsonObject;
  units?: Units;
  unbounded?: Unbounded;
  files?: readonly SentFile[];
  /** The content type of a whole answer; absent: JSON. */
  contentType?: string;
}

export function frontOfUse({
  protocol,
  paths = [],
  forms = new Map(),
  fields,
  convert = neverCalled,
  convertForm,
}: OtherUse): Front {
  return {
    protocol,
    hasOpenAiHeaders: true,
    keyHeader: null,
    owns: (path) => paths.includes(path) || forms.has(path),
    findOperation(path) {
      const form = forms.get(path);
      if (form !== undefined) return { asks: 'message', form };
      return paths.includes(path) ? { asks: 'message' } : null;
    },
    weigh: () => {},
    translate(body, { operation }) {
      const form = operation.asks === 'message' ? (operation.form ?? null) : null;
      const { message, ...converted } = convert(body, form);
      return {
        ...converted,
        message: { ...message, ...extraMember(body, fields) },
        native: null,
        answer: UNTRANSLATED,
      };
    },
    ...(convertForm !== undefined && {
      translateForm(form: MeasuredForm, kind: FormKind) {
        const { contentType, message, ...converted } = convertForm(form, kind);
        const answer = contentType === undefined ? UNTRANSLATED : { ...UNTRANSLATED, contentType };
        return { ...converted, message: { ...message, ...extraMember(unreadFields(form, fields), fields) }, answer };
      },
    }),
    errorBody: (error) => JSON.stringify({ error: openAiError(error, fields) }),
  };
}

/** Fields that have no part of a name that is read, such as "chunking_strategy[type]" has. */
function unreadFields({ fields: given }: MeasuredForm, fields: ReadonlySet<string>): JsonObject {
  const unread = given.filter(({ name }) => !fields.has(name.replace(/\[.*$/, '')));
  return Object.fromEntries(unread.map(({ name, value }) => [name, value]));
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
