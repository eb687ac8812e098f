// What clients of OpenAI ask for by habit and this provider's models refuse, each in its own generation. Such a request
// is answered as well as the model can. Those that came as messages travel as they are: their callers know the model.

import { exactBody, isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import type { Attempt } from '../provider.ts';

type Changes = Record<string, JsonValue | undefined>;

/** What a generation of models can be told. */
interface Generation {
  thinks: 'adaptively' | 'by budget' | 'never';
  /** The efforts that it knows. */
  efforts: 'all' | 'no xhigh' | 'none';
  /** Whether it can be told how to choose its words. */
  takesSampling: boolean;
}

/** By name, the first that fits. */
const MODELS: readonly [name: RegExp, generation: Generation][] = [
  [/claude-\D+-4[-.]6(?!\d)/, { thinks: 'adaptively', efforts: 'no xhigh', takesSampling: true }],
  [
    /claude-(?:\D+-)?(?:4[-.](?:[7-9]|\d\d)|[5-9]|\d\d)(?!\d)/,
    { thinks: 'adaptively', efforts: 'all', takesSampling: false },
  ],
  [/claude-opus-4[-.]5(?!\d)/, { thinks: 'by budget', efforts: 'no xhigh', takesSampling: true }],
  [/claude-(?:instant|2|3-(?!7))/, { thinks: 'never', efforts: 'none', takesSampling: true }],
  [/claude-/, { thinks: 'by budget', efforts: 'none', takesSampling: true }],
];
/** Of others that speak this protocol. */
const ANY_OTHER: Generation = { thinks: 'by budget', efforts: 'all', takesSampling: true };
/** What providers of the other protocol take. */
const UNKNOWN: Changes = { frequency_penalty: undefined, presence_penalty: undefined, seed: undefined };
const BUDGETS: Readonly<Record<string, number>> = { low: 1_024, medium: 4_096, high: 16_384 };
const BUDGET_LEAST = 1_024;

/** Changes to the request's top-level members. `messages` are those that go out, where they differ from its own. */
export function adaptChat(attempt: Attempt, messages: JsonValue | undefined): Changes {
  const { request, upstreamModel } = attempt;
  if (request.protocol !== 'chat-completions') return {};
  const generation = MODELS.find(([name]) => name.test(upstreamModel))?.[1] ?? ANY_OTHER;
  const sent = jsonObjects(messages ?? request.body['messages']);
  const thinking = adaptThinking(attempt, generation, sent);
  const isThinking = isOn('thinking' in thinking ? thinking['thinking'] : request.body['thinking']);
  return {
    ...UNKNOWN,
    ...thinking,
    ...adaptSampling(request.body, isThinking || !generation.takesSampling),
    ...adaptEffort(exactBody(request), generation),
    ...(sent.some(isOfSystem) && { messages: jsonObjects(messages ?? exactBody(request)['messages']).map(asReminder) }),
  };
}

function adaptThinking(
  { request, maxTokens }: Attempt,
  { thinks }: Generation,
  messages: readonly JsonObject[],
): Changes {
  const { body } = request;
  const { thinking } = body;
  if (!isOn(thinking)) return {};
  if (isForced(body['tool_choice']) || messages.at(-1)?.['role'] === 'assistant') return { thinking: undefined };
  if (thinking['type'] !== 'adaptive' || thinks === 'adaptively') return {};
  const budget_tokens = Math.min(budgetOf(body), Math.floor(maxTokens / 2));
  if (thinks === 'never' || budget_tokens < BUDGET_LEAST || isLoopWithoutThinking(messages))
    return { thinking: undefined };
  return { thinking: { type: 'enabled', budget_tokens } };
}

function isOn(thinking: JsonValue | undefined): thinking is JsonObject {
  return isJsonObject(thinking) && thinking['type'] !== 'disabled';
}

/** No model thinks before a call that it is forced to. */
function isForced(choice: JsonValue | undefined): boolean {
  return isJsonObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool');
}

function budgetOf({ output_config: config }: JsonObject): number {
  const effort = isJsonObject(config) ? config['effort'] : null;
  if (typeof effort !== 'string') return BUDGETS['medium'] as number;
  return BUDGETS[effort] ?? (BUDGETS['high'] as number) * 2;
}

/** Models that are given a budget refuse a loop of tools whose thoughts did not come back, and most clients lose them. */
function isLoopWithoutThinking(messages: readonly JsonObject[]): boolean {
  const [first, ...rest] = jsonObjects(messages.findLast(({ role }) => role === 'assistant')?.['content']);
  const isThought = first?.['type'] === 'thinking' || first?.['type'] === 'redacted_thinking';
  return !isThought && [first, ...rest].some((block) => block?.['type'] === 'tool_use');
}

/** Who thinks is not told how to choose its words; a temperature beyond 1 is 1, and all words are what is usual. */
function adaptSampling({ temperature, top_p }: JsonObject, isLeftOut: boolean): Changes {
  if (isLeftOut) return { temperature: undefined, top_p: undefined, top_k: undefined };
  return {
    ...(typeof temperature === 'number' && temperature > 1 && { temperature: 1 }),
    ...(top_p === 1 && { top_p: undefined }),
  };
}

function adaptEffort({ output_config: config }: JsonObject, { efforts }: Generation): Changes {
  if (!isJsonObject(config) || config['effort'] === undefined) return {};
  const { effort, ...rest } = config;
  if (efforts === 'none') return { output_config: Object.keys(rest).length > 0 ? rest : undefined };
  return effort === 'xhigh' && efforts === 'no xhigh' ? { output_config: { ...rest, effort: 'high' } } : {};
}

function isOfSystem({ role }: JsonObject): boolean {
  return role === 'system';
}

/** Few models take the system's words in the middle: as the user's they stand in the same place. */
function asReminder(message: JsonObject): JsonObject {
  if (!isOfSystem(message)) return message;
  const content = jsonObjects(message['content']).map((block) => ({
    ...block,
    text: `<system-reminder>\n${String(block['text'])}\n</system-reminder>`,
  }));
  return { role: 'user', content };
}
