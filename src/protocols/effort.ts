// The effort of OpenAI's protocols, as thinking of a message: read from clients, and written for providers.

import { EFFORTS, type Effort } from '../model-facts/model-facts.ts';
import { isJsonObject, type JsonObject, objectOf, wrongField } from '../wire/wire.ts';

/** The effort that a client asks for. */
export interface AskedEffort {
  /** For `output_config`; null: not requested. */
  effort: string | null;
  /** `thinking` of the Messages request; null: the model's default. */
  thinking: JsonObject | null;
  field: string;
}

const OFF: JsonObject = { type: 'disabled' };
/** Without it an effort only hints at the length, and some providers think as little as possible. */
export const ON: JsonObject = { type: 'adaptive' };

/** Throws invalid_request. */
export function readEffortWord(requested: unknown, field: string): AskedEffort {
  const effort = EFFORTS.find((word) => word === requested);
  if (effort === undefined) throw wrongField(field, `Input should be '${EFFORTS.join("', '")}'`);
  if (effort === 'none') return { effort: null, thinking: OFF, field };
  return { effort: effort === 'minimal' ? 'low' : effort, thinking: ON, field }; // Messages has no `minimal`
}

/** Throws invalid_request. `thinking` is as in Messages and takes precedence over the other fields. */
export function readChatEffort(body: JsonObject): AskedEffort {
  const own = body['thinking'];
  const requested = readReasoning(body);
  if (!isJsonObject(own)) return requested;
  const isOpen = own['type'] === 'enabled' && (own['budget_tokens'] ?? null) === null; // as other services define it
  const { effort, field } = requested;
  return { effort, thinking: isOpen ? ON : own, field: effort === null ? 'thinking' : field };
}

function readReasoning(body: JsonObject): AskedEffort {
  if ((body['reasoning_effort'] ?? null) !== null) return readEffortWord(body['reasoning_effort'], 'reasoning_effort');
  const { reasoning } = body;
  if (!isJsonObject(reasoning)) return { effort: null, thinking: null, field: 'reasoning_effort' };
  const { enabled, max_tokens: budget_tokens, effort } = reasoning;
  const none = { effort: null, field: 'reasoning' };
  if (enabled === false) return { ...none, thinking: OFF };
  if (typeof budget_tokens === 'number') return { ...none, thinking: { type: 'enabled', budget_tokens } };
  if ((effort ?? null) === null) return { ...none, thinking: enabled === true ? ON : null };
  return readEffortWord(effort, 'reasoning.effort');
}

/** `thinking` and `output_config`, if any; `formatField` is the field of the format. */
export function effortMembers(
  { effort, thinking, field }: AskedEffort,
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

/** How a server of Chat Completions takes an effort: `thinking` is that of DeepSeek and Moonshot, `reasoning` OpenRouter's. */
export type EffortForm = 'reasoning_effort' | 'thinking' | 'reasoning';

/** The members of Chat Completions for the effort of a message; `efforts` are those of the model. */
export function writeChatEffort(form: EffortForm, body: JsonObject, efforts: readonly Effort[]): JsonObject {
  const thinks = readThinking(body);
  const effort = nearestEffort(readEffort(body), efforts);
  switch (form) {
    case 'reasoning_effort': {
      const reasoning_effort = thinks === 'off' ? leastEffort(efforts) : effort;
      return reasoning_effort === null ? {} : { reasoning_effort };
    }
    case 'thinking': {
      // A Messages request without thinking gets none; such a model would think by default.
      if (thinks === 'off' || (thinks === null && readEffort(body) === null)) return { thinking: { type: 'disabled' } };
      return {
        ...(thinks === 'on' && { thinking: { type: 'enabled' } }),
        ...(effort !== null && { reasoning_effort: effort }),
      };
    }
    case 'reasoning': {
      if (thinks === 'off') return { reasoning: { effort: 'none' } };
      const max_tokens = readBudget(body);
      if (max_tokens !== null) return { reasoning: { max_tokens } }; // as it is, but not with an effort
      if (effort !== null) return { reasoning: { effort } };
      return thinks === 'on' ? { reasoning: { enabled: true } } : {};
    }
  }
}

// The effort of a message. It is a hint: an unknown one becomes the nearest known one.

/** The requested effort, or that of the budget; null without either. */
export function readEffort(body: JsonObject): Effort | null {
  const config = objectOf(body['output_config']);
  const named = EFFORTS.find((effort) => effort === config['effort'] && effort !== 'none');
  if (named !== undefined) return named;
  const budgetTokens = readBudget(body);
  if (budgetTokens === null) return null;
  return budgetTokens < 2_048 ? 'low' : budgetTokens < 8_192 ? 'medium' : 'high';
}

/** In tokens; null without one. */
export function readBudget({ thinking }: JsonObject): number | null {
  if (!isJsonObject(thinking) || thinking['type'] !== 'enabled') return null;
  const { budget_tokens: budgetTokens } = thinking;
  return typeof budgetTokens === 'number' ? budgetTokens : null;
}

/** `off` or `on` if requested, else null. */
export function readThinking({ thinking }: JsonObject): 'on' | 'off' | null {
  const type = isJsonObject(thinking) ? thinking['type'] : null;
  if (type === 'disabled') return 'off';
  return typeof type === 'string' ? 'on' : null;
}

/** The effort, the next lower known one, or the lowest; null if the model has none. */
export function nearestEffort(requested: Effort | null, efforts: readonly Effort[]): Effort | null {
  if (requested === null) return null;
  const known = efforts.filter((effort) => effort !== 'none');
  return known.findLast((effort) => EFFORTS.indexOf(effort) <= EFFORTS.indexOf(requested)) ?? known[0] ?? null;
}

/**
 * The setting that turns thinking off or to its minimum; null for a model that has none. `low` replaces `none` for models up
 * to `max`, by public guides to OpenAI's migration of September 2026.
 */
export function leastEffort(efforts: readonly Effort[]): Effort | null {
  const off = efforts.find((effort) => effort === 'none' || effort === 'minimal');
  return off ?? (efforts.includes('max') ? (efforts[0] ?? null) : null);
}
