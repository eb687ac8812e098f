// Reads the values of flags. What has a wrong form is refused here, by the flag's name, before
// anything is asked of the service.

import { parseUsd } from '../base/money.ts';
import { type Invocation, WrongUsage } from './command.ts';

type Flags = Invocation['flags'];

/** The text of a flag; undefined when it is absent. Empty text is refused. */
export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '') throw new WrongUsage(`--${name} is empty`);
  return value;
}

/** A list separated by commas. */
export function listFlag(flags: Flags, name: string): string[] | undefined {
  const members = textFlag(flags, name)
    ?.split(',')
    .map((member) => member.trim());
  if (members?.includes('')) throw new WrongUsage(`--${name}: there is nothing between two commas`);
  return members;
}

/** An amount in USD, kept as the text that was given. */
export function amountFlag(flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name);
  return text === undefined ? undefined : checkAmount(text, `--${name}`);
}

export function checkAmount(text: string, name: string): string {
  if (parseUsd(text) === null)
    throw new WrongUsage(
      `${name} must be an amount in USD with at most 9 fraction digits, such as 10.00, not "${text}"`,
    );
  return text.trim();
}

/** A whole number, at least one. */
export function countFlag(flags: Flags, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new WrongUsage(`--${name} must be a whole number of at least 1, not "${text}"`);
  return Number(text);
}

/** A time, in ISO 8601 and UTC unless it says otherwise; returned with milliseconds and "Z". */
export function timeFlag(flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/i.exec(text);
  const atMs = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2] ?? '00:00'}${match[3] ?? 'Z'}`);
  // A date that does not exist, such as 30 February, must not become another one.
  const isDate = match !== null && new Date(`${match[1]}T00:00Z`).toJSON()?.startsWith(match[1] as string);
  if (!isDate || Number.isNaN(atMs))
    throw new WrongUsage(`--${name} must be a time such as 2027-01-31T00:00:00Z, not "${text}"`);
  return new Date(atMs).toISOString();
}

export function choiceFlag(flags: Flags, name: string, choices: readonly string[]): string | undefined {
  const text = textFlag(flags, name);
  if (text !== undefined && !choices.includes(text))
    throw new WrongUsage(`--${name} must be ${choices.join(' or ')}, not "${text}"`);
  return text;
}
