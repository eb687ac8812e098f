// A function of OpenAI's clients as a tool.

import { type Placed, requireObject } from '../protocols/placed.ts';
import { type JsonObject, requireToolName } from '../wire/wire.ts';

/** Throws invalid_request. */
export function describeFunction(described: JsonObject, path: string): Placed {
  const { description, parameters, input_schema, strict } = described;
  const name = requireToolName(described['name'], `${path}.name`);
  const schema = requireObject(parameters ?? input_schema ?? {}, `${path}.parameters`);
  const block = {
    name,
    ...(typeof description === 'string' && { description }),
    input_schema: schema['type'] === undefined ? { type: 'object', ...schema } : schema,
    ...(strict === true && { strict }),
  };
  return { block, path };
}
