// The form in which an answer is asked for. A schema is the provider's to enforce; JSON without one has no word in the
// Messages protocol, so that the model is told in the system's name.

import { type JsonObject, type JsonValue, wrongField } from '../wire/wire.ts';
import { closeSchema } from './close-schema.ts';
import { requireObject, requireText } from './convert-parts.ts';

export interface Format {
  /** Of `output_config`; null: any. */
  format: JsonObject | null;
  /** What the system says of it; null: nothing. */
  instruction: string | null;
}

const ANY_JSON = 'Answer with one JSON object, and write nothing before or after it.';

/** Throws invalid_request. */
export function convertFormat(value: JsonValue): Format {
  if (value === null) return { format: null, instruction: null };
  const asked = requireObject(value, 'response_format');
  switch (requireText(asked['type'], 'response_format.type')) {
    case 'text':
      return { format: null, instruction: null };
    case 'json_object':
      return { format: null, instruction: ANY_JSON };
    case 'json_schema': {
      const path = 'response_format.json_schema';
      const described = requireObject(asked['json_schema'], path);
      const schema = requireObject(described['schema'], `${path}.schema`);
      const kept = described['strict'] === true ? schema : closeSchema(schema);
      return { format: { type: 'json_schema', schema: kept }, instruction: null };
    }
    default:
      throw wrongField('response_format.type', "Input should be 'text', 'json_object' or 'json_schema'");
  }
}
