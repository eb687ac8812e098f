// The effort of OpenAI's clients as thinking of a message.

import { type JsonObject, wrongField } from '../wire/wire.ts';

export interface Effort {
  /** For `output_config`; null: not requested. */
  effort: string | null;
  /** `thinking` of the Messages request; null: the model's default. */
  thinking: JsonObject | null;
  field: string;
}

/** Values other than `none`. */
const EFFORTS = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
export const OFF: JsonObject = { type: 'disabled' };
/** Without it an effort only hints at the length, and some providers think as little as possible. */
export const ON: JsonObject = { type: 'adaptive' };

/** Throws invalid_request. */
export function readEffort(requested: unknown, field: string): Effort {
  if (requested === 'none') return { effort: null, thinking: OFF, field };
  if (typeof requested !== 'string' || !EFFORTS.includes(requested))
    throw wrongField(field, `Input should be 'none', '${EFFORTS.join("', '")}'`);
  return { effort: requested === 'minimal' ? 'low' : requested, thinking: ON, field }; // Messages has no `minimal`
}

/** `thinking` and `output_config`, if any; `formatField` is the field of the format. */
export function effortMembers(
  { effort, thinking, field }: Effort,
  format: JsonObject | null,
  formatField: string,
  fields: Map<string, string>,
): JsonObject {
  fields.set('thinking', field);
  fields.set('output_config.effort', field);
  fields.set('output_config', format === null ? field : formatField);
  const config = { ...(effort !== null && { effort }), ...(format !== null && { format }) };
  return {
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(thinking !== null && { thinking }),
  };
}
