// The coding agents that are run unmodified: how each is started, what its model says, and where its output shows it. No tests of its own.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { type PageBlock, readBlocks } from '../../support/read-blocks.ts';
import { programsDirectory } from './clients.ts';
import type { Json } from './conversations/conversation.ts';
import type { Block, Spoken } from './upstreams/speak-messages.ts';

/** The model's name: one that no agent takes for its vendor's own. */
export const AGENT_MODEL = 'claude-sonnet-4-5';
export const SIGNATURE = 'EqQBCkYIBxgCKkD/+agent==';
/** Content of the file that the model writes. */
export const WRITTEN = 'odd “quotes” \u2028 \\n \t ✓ \u{1F600} <tag> & "so"\n';

export interface AgentProgram {
  name: string;
  /** Its heading in docs/clients.md. */
  heading: string;
  /** Its executable; null if it is not available for this machine. */
  find(): string | null;
  /** The words of a prompt after the executable. */
  commandOf(prompt: string, isContinued: boolean): string[];
  /** Writes its settings, from the page and for tests, and returns variables of its environment. */
  prepare(home: string, blocks: readonly PageBlock[], url: string): Record<string, string>;
  /** Its tools: the calls that read a file and a picture, write a file, and run two commands, of which one fails. */
  calls: {
    read(directory: string): Call;
    look(directory: string): Call;
    write(directory: string): Call;
    run: [Call, Call];
  };
  /** The end of a run as it shows it. */
  endOf(printed: readonly Json[]): { result?: unknown; usage: { input: number; cacheRead: number; output: number } };
  /** Whether a restarted process sends earlier thinking again. */
  keepsThinking: boolean;
}

interface Call {
  name: string;
  /** As text, as the model wrote it. */
  input: string;
}

/** The commands and settings that docs/clients.md shows for it. */
export function blocksOf({ heading }: AgentProgram): PageBlock[] {
  const page = readFileSync(join(rootDirectory, 'docs', 'clients.md'), 'utf8');
  return readBlocks(page).filter((block) => block.heading === heading);
}

/** Five turns of the model: single and parallel calls, thinking, an end, and an answer to the next prompt. */
export function turnsOf({ calls }: AgentProgram, directory: string): Spoken[] {
  let count = 0;
  const call = (made: Call): Block => ({ type: 'tool_use', id: `toolu_agent${++count}`, ...made });
  const [counts, fails] = calls.run;
  return [
    { content: [{ type: 'text', text: 'I shall read.' }, call(calls.read(directory)), call(calls.look(directory))] },
    {
      content: [{ type: 'thinking', thinking: 'Now I write.', signature: SIGNATURE }, call(calls.write(directory))],
    },
    { content: [call(counts), call(fails)] },
    { content: [{ type: 'text', text: 'All is done.' }] },
    { content: [{ type: 'text', text: 'Nothing more.' }] },
  ];
}

const pathIn = (directory: string, name: string) => JSON.stringify(join(directory, name));
const withSpaces = (member: string, value: string) => `{ "${member}": ${value} }`;

/** One binary for each kind of machine, so that no install script is needed. */
function findIn(scope: string, pattern: string): string | null {
  const place = join(programsDirectory, 'node_modules', scope);
  const [found] = existsSync(place) ? [...new Bun.Glob(pattern).scanSync(place)] : [];
  return found === undefined ? null : join(place, found);
}

const claudeCode: AgentProgram = {
  name: 'claude-code',
  heading: 'Claude Code',
  find: () => findIn('@anthropic-ai', 'claude-code-*/claude'),
  commandOf: (prompt, isContinued) => [
    ...['-p', ...(isContinued ? ['--continue'] : []), prompt],
    ...['--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
    ...['--allowedTools', 'Read,Write,Bash', '--permission-mode', 'acceptEdits'],
  ],
  prepare: () => ({}),
  calls: {
    read: (directory) => ({ name: 'Read', input: withSpaces('file_path', pathIn(directory, 'read.txt')) }),
    look: (directory) => ({ name: 'Read', input: `{"file_path":${pathIn(directory, 'point.png')}}` }),
    write: (directory) => ({
      name: 'Write',
      input: `{"file_path":${pathIn(directory, 'written.txt')},"content":${JSON.stringify(WRITTEN)}}`,
    }),
    run: [
      { name: 'Bash', input: '{"command":"wc -c written.txt","description":"Counts"}' },
      { name: 'Bash', input: '{"command": "ls ./nowhere-at-all"}' },
    ],
  },
  endOf(printed) {
    const { result, usage } = (printed.at(-1) ?? {}) as { result?: string; usage?: Record<string, number> };
    const { input_tokens: input = 0, cache_read_input_tokens: cacheRead = 0, output_tokens: output = 0 } = usage ?? {};
    return { result, usage: { input, cacheRead, output } };
  },
  keepsThinking: false,
};

export const agents: readonly AgentProgram[] = [claudeCode];
