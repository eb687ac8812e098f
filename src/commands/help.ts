// The help of the commands, made from what they declare.

import type { Command, Flag } from './command.ts';
import { commonFlags } from './parse-arguments.ts';

/** The page of `--help`: every topic with what it does. */
export function overallHelp(topics: readonly { name: string; summary: string }[]): string {
  return [
    'Turnpike: one endpoint in front of many language models, with keys, balances and exact billing.',
    '',
    'usage: turnpike COMMAND [ARGUMENTS] [--json]',
    '',
    ...aligned(topics.map(({ name, summary }) => [name, summary])),
    '',
    'turnpike COMMAND --help tells what a command takes, turnpike --version which version this is.',
    'Exit codes: 0 done, 1 failed, 2 wrong usage.',
    '',
  ].join('\n');
}

/** The page of a topic that has several commands, such as `account`. */
export function topicHelp(commands: readonly Command[]): string {
  return [...aligned(commands.map((command) => [usageLine(command), command.summary])), ''].join('\n');
}

export function commandHelp(command: Command): string {
  const flags: Record<string, Flag> = { ...command.flags, ...commonFlags };
  const rows = Object.entries(flags).map(([name, { value, help }]): [string, string] => [
    `--${name}${value === undefined ? '' : ` ${value}`}`,
    help,
  ]);
  const summary = `${command.summary[0]?.toUpperCase()}${command.summary.slice(1)}.`;
  return [`usage: ${usageLine(command)} [flags]`, '', summary, '', ...aligned(rows), ''].join('\n');
}

function usageLine(command: Command): string {
  return ['turnpike', command.name, ...command.positionals].join(' ');
}

function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
