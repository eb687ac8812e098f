// Errors in OpenAI's format: `param` if there is one; statuses, types and codes of docs/errors.md.

import type { JsonObject } from '../wire/wire.ts';
import type { StreamError } from './answer-stream.ts';

const PATH = /^([a-z_]+)(?:\.[\w-]+)*(?=: )/;

/** The members of an error. `fields` are possible first parts of a path: provider messages may contain a colon, too. */
export function openAiError(
  { message, type, code }: Pick<StreamError, 'message' | 'type' | 'code'>,
  fields: ReadonlySet<string>,
): JsonObject {
  return { message, type, param: paramOf(message, code, fields), code };
}

function paramOf(message: string, code: string | null, fields: ReadonlySet<string>): string | null {
  if (code === 'model_not_found') return 'model';
  const [path, field = ''] = PATH.exec(message) ?? [];
  return path !== undefined && fields.has(field) ? path : null;
}
