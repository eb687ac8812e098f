// Errors in OpenAI's format: `param` if there is one; statuses, types and codes of docs/errors.md.

import type { TurnpikeError } from '../errors.ts';
import { type JsonObject, objectOf, textOf } from '../wire/wire.ts';
import { type Origins, withClientPath } from './origins.ts';

const PATH = /^([a-z_]+)(?:\.[\w-]+)*(?=: )/;

/** The members of an error. `fields` are possible first parts of a path: provider messages may contain a colon, too. */
export function openAiError(
  { message, type, code }: Pick<TurnpikeError, 'message' | 'type' | 'code'>,
  fields: ReadonlySet<string>,
): JsonObject {
  return { message, type, param: paramOf(message, code, fields), code };
}

/** The members of the error in an `error` event. `origins` is null once the answer began. */
export function openAiErrorOfEvent(
  event: JsonObject,
  origins: Origins | null,
  fields: ReadonlySet<string>,
): JsonObject {
  const { message, type = null, code = null } = objectOf(event['error']);
  const said = origins === null ? textOf(message) : withClientPath(textOf(message), origins);
  return { message: said, type, param: paramOf(said, code, fields), code };
}

function paramOf(message: string, code: unknown, fields: ReadonlySet<string>): string | null {
  if (code === 'model_not_found') return 'model';
  const [path, field = ''] = PATH.exec(message) ?? [];
  return path !== undefined && fields.has(field) ? path : null;
}
