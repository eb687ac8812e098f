// What the playground sends: the body of POST /v1/messages, made of its settings and turns. Pure.

import { type Answer, type Block, blocksToSend } from './message-blocks.ts';
import { words } from './words.ts';

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

export const usualSettings: PlaygroundSettings = {
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
  wholeMs: number;
  isStopped: boolean;
  /** What it answers. */
  body: Readonly<Record<string, unknown>>;
}

export type Turn = UserTurn | AnswerTurn;

/** Throws nothing: tools that are no JSON are left out; the page does not send then. */
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

/** One text is sent as such: what is shown as code is as short as one would write it. */
function messageOf(turn: Turn): { role: string; content: string | readonly Block[] } {
  const content = turn.role === 'user' ? turn.content : blocksToSend(turn.answer);
  const [first] = content;
  const isText = turn.role === 'user' && content.length === 1 && first?.type === 'text';
  return { role: turn.role, content: isText ? String(first['text']) : content };
}

/** The tools of a text of JSON; `fault` in words where they cannot be read. */
export function readTools(text: string): { tools: object[]; fault: string | null } {
  if (text.trim() === '') return { tools: [], fault: null };
  const { toolsFault } = words.playground;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (reason) {
    return { tools: [], fault: toolsFault.json(reason instanceof Error ? reason.message : String(reason)) };
  }
  if (!Array.isArray(value)) return { tools: [], fault: toolsFault.list };
  const wrong = value.findIndex((tool) => !isTool(tool));
  return wrong < 0 ? { tools: value, fault: null } : { tools: [], fault: toolsFault.member(wrong + 1) };
}

/** Tools of a provider have a type of their own, and no schema. */
function isTool(tool: unknown): boolean {
  if (typeof tool !== 'object' || tool === null) return false;
  const { name, type, input_schema: schema } = tool as Record<string, unknown>;
  const isProviders = typeof type === 'string' && type !== 'custom';
  return typeof name === 'string' && name !== '' && (isProviders || (typeof schema === 'object' && schema !== null));
}
