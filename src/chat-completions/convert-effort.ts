// How much a model is asked to think: `reasoning_effort`, or `reasoning` and `thinking` as other services have them.

import { isJsonObject, type JsonObject, wrongField } from '../wire/wire.ts';

export interface Effort {
  /** Of `output_config`; null: none is asked for. */
  effort: string | null;
  /** `thinking` of the Messages request; null: the model does as it does. */
  thinking: JsonObject | null;
  /** The field that asked for either. */
  field: string;
}

/** What is not `none`; the least has no name of its own there. */
const EFFORTS: Readonly<Record<string, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
};
const OFF: JsonObject = { type: 'disabled' };
/** Without it an effort is only a hint of how much to write, and some providers think as little as they can. */
const ON: JsonObject = { type: 'adaptive' };

/** Throws invalid_request. `thinking` is as in the Messages protocol, and wins over what the others say of it. */
export function convertEffort(body: JsonObject): Effort {
  const own = body['thinking'];
  const asked = readReasoning(body);
  if (!isJsonObject(own)) return asked;
  const isOpen = own['type'] === 'enabled' && (own['budget_tokens'] ?? null) === null; // as models of others have it
  return { effort: asked.effort, thinking: isOpen ? ON : own, field: asked.effort === null ? 'thinking' : asked.field };
}

function readReasoning(body: JsonObject): Effort {
  if ((body['reasoning_effort'] ?? null) !== null) return readEffort(body['reasoning_effort'], 'reasoning_effort');
  const { reasoning } = body;
  if (!isJsonObject(reasoning)) return { effort: null, thinking: null, field: 'reasoning_effort' };
  const { enabled, max_tokens } = reasoning;
  if (enabled === false) return { effort: null, thinking: OFF, field: 'reasoning' };
  if (typeof max_tokens === 'number')
    return { effort: null, thinking: { type: 'enabled', budget_tokens: max_tokens }, field: 'reasoning' };
  if ((reasoning['effort'] ?? null) === null)
    return { effort: null, thinking: enabled === true ? ON : null, field: 'reasoning' };
  return readEffort(reasoning['effort'], 'reasoning.effort');
}

function readEffort(asked: unknown, field: string): Effort {
  if (asked === 'none') return { effort: null, thinking: OFF, field };
  const effort = typeof asked === 'string' && Object.hasOwn(EFFORTS, asked) ? EFFORTS[asked] : undefined;
  if (effort === undefined) throw wrongField(field, `Input should be 'none', '${Object.keys(EFFORTS).join("', '")}'`);
  return { effort, thinking: ON, field };
}
