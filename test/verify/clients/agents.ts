// The coding agents that are run unmodified: how each is started, what its model says, and where its output shows it. No tests of its own.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';
import { type PageBlock, readBlocks } from '../../support/read-blocks.ts';
import { programsDirectory } from './clients.ts';
import type { Json } from './conversations/conversation.ts';
import { type Kind, kinds } from './upstreams/speak.ts';
import { clouds } from './upstreams/speak-clouds.ts';
import type { Block, Spoken } from './upstreams/speak-messages.ts';

/** A model's name that no agent takes for its vendor's own. */
const MODEL = 'claude-sonnet-4-5';
export const SIGNATURE = 'EqQBCkYIBxgCKkD/+agent==';
/** Content of the file that the model writes. */
export const WRITTEN = 'odd “quotes” \u2028 \\n \t ✓ \u{1F600} <tag> & "so"\n';

export interface AgentProgram {
  name: string;
  /** Its heading in docs/clients.md. */
  heading: string;
  model: string;
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
  /** Kinds of provider under it in each run; --all runs at least those with a protocol of their own. */
  kinds: readonly Kind[];
  /** Omitted by a process that continues a session: nothing, thinking of another model, or more of its earlier requests. */
  omits: 'nothing' | 'thinking' | 'more';
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
  model: MODEL,
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
  kinds: [...kinds, ...clouds],
  omits: 'thinking',
};

const codex: AgentProgram = {
  name: 'codex',
  heading: 'Codex CLI',
  model: MODEL,
  find: () => findIn('@openai', 'codex-*/vendor/*/bin/codex'),
  commandOf: (prompt, isContinued) => [
    ...['exec', ...(isContinued ? ['resume', '--last'] : []), '--json', '--skip-git-repo-check'],
    ...['--dangerously-bypass-approvals-and-sandbox', prompt],
  ],
  prepare(home, blocks, url) {
    const shown = blocks.find(({ language }) => language === 'toml')?.code ?? '';
    const settings = shown.replace('http://127.0.0.1:8080', url).replace(/^model = .*$/m, `model = "${this.model}"`);
    // Without what it fetches from elsewhere at each start.
    const quiet = '[analytics]\nenabled = false\n[features]\nplugins = false\napps = false\n';
    const directory = join(home, '.codex');
    mkdirSync(directory);
    writeFileSync(join(directory, 'config.toml'), `check_for_update_on_startup = false\n${settings}${quiet}`);
    return { CODEX_HOME: directory };
  },
  calls: {
    read: () => ({ name: 'exec_command', input: withSpaces('cmd', '"cat read.txt"') }),
    look: (directory) => ({ name: 'view_image', input: withSpaces('path', pathIn(directory, 'point.png')) }),
    write: () => ({
      name: 'exec_command',
      input: `{"cmd":${JSON.stringify(`cat >written.txt <<'END'\n${WRITTEN}END\n`)}}`,
    }),
    run: [
      { name: 'exec_command', input: '{"cmd":"wc -c written.txt"}' },
      { name: 'exec_command', input: '{"cmd": "ls ./nowhere-at-all"}' },
    ],
  },
  endOf(printed) {
    const said = printed.flatMap(({ item }) => (item as { type?: string; text?: string } | undefined) ?? []);
    const { usage } = (printed.at(-1) ?? {}) as { usage?: Record<string, number> };
    const { input_tokens: input = 0, cached_input_tokens: cacheRead = 0, output_tokens: output = 0 } = usage ?? {};
    return {
      result: said.findLast(({ type }) => type === 'agent_message')?.text,
      usage: { input: input - cacheRead, cacheRead, output },
    };
  },
  kinds,
  omits: 'nothing',
};

const execute = (script: string): Call => ({ name: 'functions__exec', input: JSON.stringify({ input: script }) });
const shell = (cmd: string): Call =>
  execute(`const done = await tools.exec_command({ cmd: ${JSON.stringify(cmd)} });\ntext(done.output);`);

/** Codex asks its vendor's own models in other ways: with custom tools, and the newest with tools in the conversation. */
const codexModels: readonly AgentProgram[] = [
  {
    ...codex,
    model: 'gpt-5.5',
    kinds: ['anthropic'],
    calls: {
      ...codex.calls,
      write: () => ({
        name: 'apply_patch',
        input: JSON.stringify({ input: `*** Begin Patch\n*** Add File: written.txt\n+${WRITTEN}*** End Patch\n` }),
      }),
    },
  },
  {
    ...codex,
    model: 'gpt-6.1-sol',
    kinds: ['anthropic'],
    calls: {
      ...codex.calls,
      read: () => shell('cat read.txt'),
      write: () => shell(`cat >written.txt <<'END'\n${WRITTEN}END\n`),
      run: [shell('wc -c written.txt'), shell('ls ./nowhere-at-all')],
    },
  },
];

const geminiCli: AgentProgram = {
  name: 'gemini-cli',
  heading: 'Gemini CLI',
  model: MODEL,
  find: () => findIn('.bin', 'gemini'),
  commandOf: (prompt, isContinued) => [
    ...(isContinued ? ['--resume', 'latest'] : []),
    ...['--model', MODEL, '--yolo', '--skip-trust', '--output-format', 'stream-json', '--prompt', prompt],
  ],
  prepare(home, blocks) {
    const directory = join(home, '.gemini');
    mkdirSync(directory);
    const shown = JSON.parse(blocks.find(({ language }) => language === 'json')?.code ?? '{}') as Json;
    const quiet = { general: { enableAutoUpdate: false }, privacy: { usageStatisticsEnabled: false } };
    writeFileSync(join(directory, 'settings.json'), JSON.stringify({ ...shown, ...quiet }));
    return {};
  },
  calls: {
    read: (directory) => ({ name: 'read_file', input: withSpaces('file_path', pathIn(directory, 'read.txt')) }),
    look: (directory) => ({ name: 'read_file', input: `{"file_path":${pathIn(directory, 'point.png')}}` }),
    write: (directory) => ({
      name: 'write_file',
      input: `{"file_path":${pathIn(directory, 'written.txt')},"content":${JSON.stringify(WRITTEN)}}`,
    }),
    run: [
      { name: 'run_shell_command', input: '{"command":"wc -c written.txt","description":"Counts"}' },
      { name: 'run_shell_command', input: '{"command": "ls ./nowhere-at-all"}' },
    ],
  },
  endOf(printed) {
    const { stats } = (printed.at(-1) ?? {}) as { stats?: Record<string, number> };
    const { input_tokens: prompt = 0, cached: cacheRead = 0, total_tokens: total = 0 } = stats ?? {};
    const last = printed.findLastIndex(({ type }) => type === 'tool_use' || type === 'tool_result');
    const said = printed.slice(last + 1).filter(({ role }) => role === 'assistant');
    return {
      result: said.map(({ content }) => content).join(''),
      usage: { input: prompt - cacheRead, cacheRead, output: total - prompt },
    };
  },
  kinds: ['anthropic', 'gemini'], // It takes five seconds to start.
  omits: 'more',
};

/** The first of each name meets failures, too. */
export const agents: readonly AgentProgram[] = [claudeCode, codex, ...codexModels, geminiCli];
