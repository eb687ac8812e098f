// Reads the arguments of one command, strictly: what is unknown, doubled, missing or too much is
// named and refused. A negative number may stand where an argument stands ("credit acct_x -5").

import { parseArgs } from 'node:util';
import { type Command, type Invocation, WrongUsage } from './command.ts';

/** What every command takes. */
export const commonFlags = {
  json: { help: 'print one JSON value on stdout and nothing else' },
  help: { help: 'print this help' },
};

type Parsed = Pick<Invocation, 'positionals' | 'flags' | 'json'> & { help: boolean };

/** Throws WrongUsage. Positionals are not looked at when help is asked for. */
export function parseArguments(command: Command, given: readonly string[]): Parsed {
  const flags = { ...command.flags, ...commonFlags };
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, { type: 'value' in flag ? 'string' : 'boolean' } as const]),
  );
  const args = withNegativesLast(given, (name) => options[name]?.type === 'string');
  const { values, positionals, tokens } = parseStrictly(args, options);
  const named = tokens.filter((token) => token.kind === 'option').map((token) => token.name);
  const doubled = named.find((name, at) => named.indexOf(name) !== at);
  if (doubled !== undefined) throw new WrongUsage(`--${doubled} is given twice`);
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

/** Moves negative numbers behind `--`, where they are no flags; not what a flag before them would take. */
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

function checkPositionals(command: Command, positionals: readonly string[]): void {
  const missing = command.positionals[positionals.length];
  if (missing !== undefined && !missing.startsWith('[')) throw new WrongUsage(`${missing} is missing`);
  const extra = positionals[command.positionals.length];
  if (extra !== undefined) throw new WrongUsage(`unexpected argument "${extra}"`);
  const empty = positionals.findIndex((positional) => positional.trim() === '');
  if (empty >= 0) throw new WrongUsage(`${command.positionals[empty]} is empty`);
}
