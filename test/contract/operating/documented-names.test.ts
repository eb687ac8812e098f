// Names in the documentation exist in the program: commands, flags, settings, variables and bounds, on every page.

import { beforeAll, expect, test } from 'bun:test';
import { settingsInput } from '../../../src/catalog/settings.ts';
import { bounds, inspectConfig } from '../../../src/config/config.ts';
import { logEvents } from '../../../src/observability/observability.ts';
import { projectFiles, readText } from '../../sources.ts';
import { makeCommandWorld } from '../commands/command-world.ts';

interface Mention {
  /** "docs/operating.md: turnpike key rotate ID --grace 24h". */
  place: string;
  words: string[];
}

const pages = projectFiles()
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: readText(path) ?? '' }));
const configuration = readText('docs/configuration.md') ?? '';

/** "key rotate" → the names of its flags, with their dashes. */
const commands = new Map<string, Set<string>>();
beforeAll(async () => {
  using world = await makeCommandWorld();
  const help = async (...words: string[]) => (await world.run(...words, '--help')).out;
  const topics = [...(await help()).matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name as string);
  for (const topic of topics) {
    const page = await help(topic);
    const names = page.startsWith('usage: ')
      ? [topic]
      : [...page.matchAll(/^ {2}turnpike ([a-z-]+ [a-z-]+)/gm)].map(([, name]) => name as string);
    for (const name of names) {
      const flags = (await help(...name.split(' '))).matchAll(/^ {2}(--[a-z-]+)/gm);
      commands.set(name, new Set([...flags].map(([, flag]) => flag as string)));
    }
  }
});

/** The code on a page: lines of fenced blocks, and text between backticks. */
function codeOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) => code.split('\n'));
  const spans = [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...spans.map((span) => span.replace(/\s+/g, ' '))];
}

function findMentions(): Mention[] {
  const words = projectFiles().filter((path) => /^src\/(?:commands|maintenance)\/.*\.ts$/.test(path));
  return [
    ...pages.flatMap(({ path, text }) => codeOf(text).flatMap((code) => mentionsIn(path, code))),
    ...words.flatMap((path) => mentionsIn(path, readText(path) ?? '')),
  ];
}

function mentionsIn(path: string, code: string): Mention[] {
  return [...code.matchAll(/(?:^|[\s("'`/])turnpike ([a-z-][^|;)<>&"'#`$]*)/g)].map(([, rest = '']) => ({
    place: `${path}: turnpike ${rest.trim()}`,
    words: rest.trim().split(/\s+/),
  }));
}

/** Its command, or the topic of several commands; null if there is no such command. */
function commandOf([first = '', second = '']: string[]): { flags: Set<string> } | null {
  const flags = commands.get(`${first} ${second}`) ?? commands.get(first);
  if (flags !== undefined) return { flags };
  const isTopic = [...commands.keys()].some((name) => name.startsWith(`${first} `));
  return isTopic && !/^[a-z]/.test(second) ? { flags: new Set() } : null;
}

test('the help lists the commands that this test compares with', () => {
  expect(commands.size).toBeGreaterThan(30);
  expect(commands.get('key create')).toContain('--quota-period');
});

test('every command that a page names exists, with its flags', () => {
  const mentions = findMentions();
  expect(mentions.length).toBeGreaterThan(80);
  const wrong = mentions.filter(({ words }) => {
    if (words[0]?.startsWith('--')) return !['--help', '--version'].includes(words[0]);
    const command = commandOf(words);
    const flags = words.filter((word) => word.startsWith('--'));
    return command === null || flags.some((flag) => !command.flags.has(flag));
  });
  expect(wrong.map(({ place }) => place)).toEqual([]);
});

test('every flag that a page names without a command belongs to a command', () => {
  const known = new Set([...commands.values()].flatMap((flags) => [...flags]));
  const wrong = pages.flatMap(({ path, text }) =>
    codeOf(text)
      .map((code) => /^(--[a-z-]+)(?: [A-Z]\w*| [a-z]+)?$/.exec(code)?.[1])
      .filter((flag) => flag !== undefined && flag !== '--version' && !known.has(flag))
      .map((flag) => `${path}: ${flag}`),
  );
  expect(wrong).toEqual([]);
});

test('docs/configuration.md has every setting of the catalog file, and no other', () => {
  const table = configuration.split('**`settings`**')[1]?.split('\n\n')[1] ?? '';
  const documented = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect(documented.toSorted()).toEqual(Object.keys(settingsInput.shape).sort());
});

test('docs/configuration.md has every variable of the service and every flag of serve, and no other', () => {
  const table = configuration.split('## Environment and flags of `serve`')[1]?.split('\n## ')[0] ?? '';
  const [fault = ''] = inspectConfig({}, { TURNPIKE_NO_SUCH_NAME: 'x' }).faults;
  const variables = /\(known: (.*)\)/.exec(fault)?.[1]?.split(', ') ?? [];
  const named = (pattern: RegExp) => [...new Set([...table.matchAll(pattern)].map(([name]) => name))].sort();
  expect(named(/TURNPIKE_\w+/g)).toEqual(variables.toSorted());
  const flags = [...(commands.get('serve') ?? [])].filter((flag) => !['--json', '--help'].includes(flag));
  const ofOthers = ['--url', '--token'];
  expect(named(/--[a-z][a-z-]*/g).filter((flag) => !ofOthers.includes(flag))).toEqual(flags.toSorted());
});

test('every bound that docs/operating.md names exists', () => {
  const named = [...(readText('docs/operating.md') ?? '').matchAll(/`([a-z]+(?:[A-Z][A-Za-z]*)+)`/g)].map(
    ([, name]) => name as string,
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((name) => !(name in bounds))).toEqual([]);
});

test('docs/operating.md has every event of the log, and no other', () => {
  const chapter = (readText('docs/operating.md') ?? '').split('\n## The log and the audit')[1]?.split('\n## ')[0] ?? '';
  const rows = [...chapter.matchAll(/^\| (`[^|]*`) \|/gm)]
    .map(([, names = '']) => names)
    .filter((names) => names !== '`event`');
  const documented = rows.flatMap((names) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name as string));
  expect(documented.toSorted()).toEqual(logEvents.toSorted());
});

test('every event of the log is written somewhere', () => {
  const code = projectFiles().filter((path) => /^src\/(?!observability\/log-events).*\.ts$/.test(path));
  const text = code.map((path) => readText(path) ?? '').join('\n');
  expect(logEvents.filter((event) => !text.includes(`'${event}'`))).toEqual([]);
});

test('every link leads to an existing heading or file', () => {
  const anchorsOf = (text: string) =>
    new Set(
      [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      ),
    );
  const textOf = new Map(pages.map(({ path, text }) => [path, text]));
  const files = new Set(projectFiles());
  const wrong = pages.flatMap(({ path, text }) =>
    [...text.replace(/^```[\s\S]*?^```$/gm, '').matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)]
      .filter(([, target = '', anchor]) => {
        const page = target === '' ? path : new URL(target, `file:///${path}`).pathname.slice(1);
        const isFile = files.has(page) || [...files].some((file) => file.startsWith(page.replace(/\/?$/, '/')));
        return !isFile || (anchor !== undefined && !anchorsOf(textOf.get(page) ?? '').has(anchor));
      })
      .map(([link]) => `${path}: ${link}`),
  );
  expect(wrong).toEqual([]);
});
