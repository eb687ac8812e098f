// Parses the arguments of a command strictly, and prints its help. An argument that is unknown, repeated, missing or
// too much is an error. A negative number may be an argument ("credit acct_x -5").

import { parseArgs } from 'node:util';
import { type Command, type Flag, type Invocation, WrongUsage } from './command.ts';

const commonFlags = {
  json: { help: 'print one JSON value on stdout and nothing else' },
  help: { help: 'print this help' },
};

type Parsed = Pick<Invocation, 'positionals' | 'flags' | 'json'> & { help: boolean };

/** Throws WrongUsage. With --help, positionals are not checked. */
export function parseArguments(command: Command, given: readonly string[]): Parsed {
  const flags = { ...command.flags, ...commonFlags };
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, { type: 'value' in flag ? 'string' : 'boolean' } as const]),
  );
  const args = withNegativesLast(given, (name) => options[name]?.type === 'string');
  const { values, positionals, tokens } = parseStrictly(args, options);
  const named = tokens.filter((token) => token.kind === 'option').map((token) => token.name);
  const repeated = named.find((name, at) => named.indexOf(name) !== at);
  if (repeated !== undefined) throw new WrongUsage(`--${repeated} is given twice`);
  const help = values['help'] === true;
  if (!help) checkPositionals(command, positionals);
  return { positionals, flags: values, json: values['json'] === true, help };
}

function parseStrictly(args: string[], options: Record<string, { type: 'string' | 'boolean' }>) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: true, tokens: true });
  } catch (thrown) {
    throw new WrongUsage((thrown as Error).message.replace(/\. To specify .*$/s, '')); // no argument begins with a dash
  }
}

/** Moves negative numbers behind `--`, so that they are not read as flags, unless they are the value of a flag. */
function withNegativesLast(given: readonly string[], takesValue: (name: string) => boolean): string[] {
  const marked = given.indexOf('--');
  const before = marked < 0 ? given : given.slice(0, marked);
  const after = marked < 0 ? [] : given.slice(marked + 1);
  const isNegative = (argument: string, at: number) =>
    /^-\.?\d/.test(argument) && !(before[at - 1]?.startsWith('--') && takesValue(before[at - 1]?.slice(2) ?? ''));
  const negatives = before.filter(isNegative);
  if (marked < 0 && negatives.length === 0) return [...given];
  return [...before.filter((argument, at) => !isNegative(argument, at)), '--', ...negatives, ...after];
}

function checkPositionals({ positionals: named = [] }: Command, positionals: readonly string[]): void {
  const missing = named[positionals.length];
  if (missing !== undefined && !missing.startsWith('[')) throw new WrongUsage(`${missing} is missing`);
  const extra = positionals[named.length];
  if (extra !== undefined) throw new WrongUsage(`unexpected argument "${extra}"`);
  const empty = positionals.findIndex((positional) => positional.trim() === '');
  if (empty >= 0) throw new WrongUsage(`${named[empty]} is empty`);
}

/** The page of `turnpike --help`. */
export function overallHelp(topics: readonly { name: string; summary: string }[]): string {
  return [
    'Turnpike: one endpoint in front of many language models, with keys, balances and exact billing.',
    '',
    'usage: turnpike COMMAND [ARGUMENTS] [--json]',
    '',
    ...aligned(topics.map(({ name, summary }) => [name, summary])),
    '',
    'turnpike COMMAND --help shows the arguments of a command; turnpike --version shows the version.',
    'Exit codes: 0 done, 1 failed, 2 wrong usage.',
    '',
  ].join('\n');
}

/** The page of a topic with several commands, such as `account`. */
export function topicHelp(commands: readonly Command[]): string {
  return [...aligned(commands.map((command) => [usageLine(command), command.summary])), ''].join('\n');
}

export function commandHelp(command: Command): string {
  const flags: Record<string, Flag> = { ...command.flags, ...commonFlags };
  const rows = Object.entries(flags).map(([name, { value, help }]): [string, string] => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ]);
  const result = command.result === undefined ? [] : [`Result: ${command.result}.`];
  return [`usage: ${usageLine(command)} [flags]`, '', `${command.summary}.`, ...result, '', ...aligned(rows), ''].join(
    '\n',
  );
}

function usageLine(command: Command): string {
  return ['turnpike', command.name, ...(command.positionals ?? [])].join(' ');
}

function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
