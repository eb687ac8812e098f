// Builds the body of POST /v1/messages from the settings and turns. Pure.

import { type Answer, type Block, blocksToSend } from './answer.ts';

export interface PlaygroundSettings {
  model: string;
  system: string;
  maxTokens: number | string;
  /** Empty: not sent. */
  temperature: number | string;
  thinking: 'off' | 'adaptive' | 'budget';
  budget: number | string;
  tools: string;
}

export const defaultSettings: PlaygroundSettings = {
  model: '',
  system: '',
  maxTokens: 1_024,
  temperature: '',
  thinking: 'off',
  budget: 1_024,
  tools: '',
};

export const exampleTools = JSON.stringify(
  [
    {
      name: 'get_weather',
      description: 'The weather in a city.',
      input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
  null,
  2,
);

export interface UserTurn {
  role: 'user';
  content: readonly Block[];
}

export interface AnswerTurn {
  role: 'assistant';
  answer: Answer;
  requestId: string | null;
  firstContentMs: number | null;
  totalMs: number;
  isStopped: boolean;
  /** The request body. */
  body: Readonly<Record<string, unknown>>;
}

export type Turn = UserTurn | AnswerTurn;

/** Whether the user has sent sound in the turn. */
export function hasSound(turn: Turn): boolean {
  return turn.role === 'user' && turn.content.some(({ type }) => type === 'sound');
}

/** Omits invalid tools; the page does not send them. */
export function bodyOf(settings: PlaygroundSettings, turns: readonly Turn[]): Record<string, unknown> {
  const { tools } = readTools(settings.tools);
  return {
    model: settings.model,
    max_tokens: settings.maxTokens,
    ...(settings.system.trim() !== '' && { system: settings.system }),
    ...(settings.temperature !== '' && { temperature: settings.temperature }),
    ...(settings.thinking === 'adaptive' && { thinking: { type: 'adaptive' } }),
    ...(settings.thinking === 'budget' && { thinking: { type: 'enabled', budget_tokens: settings.budget } }),
    ...(tools.length > 0 && { tools }),
    stream: true,
    messages: turns.map(messageOf).filter(({ content }) => content.length > 0),
  };
}

/** A single text block becomes a string, which keeps code snippets short. */
function messageOf(turn: Turn): { role: string; content: string | readonly Block[] } {
  const content = turn.role === 'user' ? turn.content : blocksToSend(turn.answer);
  const [first] = content;
  const isText = turn.role === 'user' && content.length === 1 && first?.type === 'text';
  return { role: turn.role, content: isText ? String(first['text']) : content };
}

/** Parses tools from JSON; `fault` describes invalid input. */
export function readTools(text: string): { tools: object[]; fault: string | null } {
  if (text.trim() === '') return { tools: [], fault: null };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (reason) {
    return { tools: [], fault: `Invalid JSON: ${reason instanceof Error ? reason.message : String(reason)}` };
  }
  if (!Array.isArray(value))
    return { tools: [], fault: 'Must be an array, for example [{"name": …, "input_schema": …}].' };
  const wrong = value.findIndex((tool) => !isTool(tool));
  return wrong < 0
    ? { tools: value, fault: null }
    : { tools: [], fault: `Tool ${wrong + 1} needs a name and an input_schema object.` };
}

/** Provider tools have their own type and no schema. */
function isTool(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return false;
  const { name, type, input_schema: schema } = tool as Record<string, unknown>;
  const isProviders = typeof type === 'string' && type !== 'custom';
  return typeof name === 'string' && name !== '' && (isProviders || (typeof schema === 'object' && schema !== null));
}
