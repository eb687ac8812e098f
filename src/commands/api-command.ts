// Makes a command from a row of the table in resources.ts: one operation of the admin API, the flags that
// fill its fields, and the columns that are printed.

import { type AdminClient, openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Flag, type Invocation, WrongUsage } from './command.ts';
import { amount, count, text, textFlag, time, type ValueReader } from './flags.ts';
import { type Column, printObject, printRows } from './output.ts';

/** A flag that fills a query parameter (GET) or a member of the body (POST, PATCH). */
export interface FieldFlag extends Flag {
  field: string;
  read: ValueReader;
  isRequired?: true;
  /** Another flag that must be given with it. */
  needs?: string;
}

export interface ApiCommand {
  name: string;
  summary: string;
  operation: `${'GET' | 'POST' | 'PATCH'} /${string}`;
  /** The first ones fill the `{…}` of the path, the others `fields`. */
  positionals: readonly string[];
  fields: readonly { field: string; read: ValueReader }[];
  flags?: Readonly<Record<string, FieldFlag>>;
  /** Flags without a value that are sent as true or false, in the field of their name unless they say which. */
  switches?: Readonly<Record<string, Flag & { field?: string }>>;
  /** Members of the body that are always the same. */
  body?: Row;
  /** Makes the command fail when no flag is given. */
  needsChange?: true;
  /** The request, where it takes more than one. */
  send?(client: AdminClient, path: string, body: Row): Promise<Row>;
  columns?: readonly Column[];
  /** Printed on stderr when a list has no rows. A command with it prints a list. */
  whenEmpty?: string;
  /** How many rows a list prints by default; `--limit` changes it. Absent: all. */
  rowsDefault?: number;
  /** Printed on stderr after the object, but not with --json, nor where the secret that it is about is null. */
  advice?: string;
  /** Prints the response in place of `columns`. Resolves to the exit code. */
  print?(invocation: Invocation, answer: Row): Promise<number>;
}

export const LIST_ROWS_DEFAULT = 100;

export function flag(value: string, field: string, read: FieldFlag['read'], help: string): FieldFlag {
  return { value, field, read, help };
}

export const sinceFlag = flag('TIME', 'since', time, 'only from this time, such as 2026-12-01T00:00:00Z');
export const untilFlag = flag('TIME', 'until', time, 'only up to this time');

type Operation = ApiCommand['operation'];
type Details = Omit<ApiCommand, 'name' | 'summary' | 'operation' | 'positionals' | 'fields'>;

/**
 * Describes a command. `usage` is its name and its positionals, "credit ACCOUNT AMOUNT": the first ones fill the path,
 * the others the fields with their names.
 */
export function describe(usage: string, summary: string, operation: Operation, details: Details = {}): ApiCommand {
  const words = usage.split(' ');
  const positionals = words.filter((word) => word !== word.toLowerCase());
  const inPath = operation.split('{').length - 1;
  const fields = positionals.slice(inPath).map((positional) => {
    const field = bare(positional).toLowerCase();
    return { field, read: field === 'amount' ? amount : text };
  });
  return {
    name: words.slice(0, words.length - positionals.length).join(' '),
    summary,
    operation,
    positionals,
    fields,
    ...details,
  };
}

/** "[AMOUNT]" without its brackets. */
function bare(positional: string): string {
  return positional.replace(/[[\]]/g, '');
}

export function apiCommand(spec: ApiCommand): Command {
  const limitFlag = {
    limit: { value: 'N', help: `the maximum number of rows to print (default: ${spec.rowsDefault})` },
  };
  return {
    name: spec.name,
    summary: spec.summary,
    positionals: spec.positionals,
    flags: {
      ...spec.flags,
      ...spec.switches,
      ...(spec.rowsDefault !== undefined && limitFlag),
      ...clientFlags,
    },
    run: (invocation) => runOperation(spec, invocation),
  };
}

async function runOperation(spec: ApiCommand, invocation: Invocation): Promise<number> {
  const [method, template = ''] = spec.operation.split(' ');
  const values = [...invocation.positionals];
  const path = template.replace(/\{\w+\}/g, () => encodeURIComponent(values.shift() as string));
  const inPath = invocation.positionals.length - values.length;
  const rest = spec.fields.flatMap(({ field, read }, at) => {
    const value = values[at];
    return value === undefined ? [] : [[field, read(value, bare(spec.positionals[inPath + at] ?? ''))]];
  });
  const flagged = readFields(spec.flags ?? {}, invocation.flags);
  const switched = Object.entries(spec.switches ?? {}).map(([name, { field = name }]) => [
    field,
    invocation.flags[name] === true,
  ]);
  const body: Row = { ...spec.body, ...Object.fromEntries(rest), ...flagged, ...Object.fromEntries(switched) };
  if (spec.needsChange === true && Object.keys(flagged).length === 0)
    throw new WrongUsage('nothing to change: specify at least one flag');
  if (spec.whenEmpty !== undefined) return printList(spec, invocation, path, body as Record<string, string>);
  const client = await openClient(invocation);
  const answer = await (spec.send?.(client, path, body) ?? sendTo(client, method as string, path, body));
  if (spec.print !== undefined) return spec.print(invocation, answer);
  await printObject(invocation, answer, spec.columns ?? []);
  if (spec.advice !== undefined && answer['secret'] !== null && !invocation.json)
    await invocation.world.writeError(spec.advice);
  return 0;
}

function sendTo(client: AdminClient, method: string, path: string, body: Row): Promise<Row> {
  if (method === 'GET') return client.get(path);
  return method === 'POST' ? client.post(path, body) : client.patch(path, body);
}

async function printList(
  { columns = [], whenEmpty = '', rowsDefault }: ApiCommand,
  invocation: Invocation,
  path: string,
  query: Record<string, string>,
): Promise<number> {
  const rows = rowsDefault === undefined ? undefined : rowLimit(invocation, rowsDefault);
  const client = await openClient(invocation);
  await printRows(invocation, client.pages(path, query, rows), columns, whenEmpty);
  return 0;
}

export function rowLimit({ flags }: Invocation, byDefault: number): number {
  const given = textFlag(flags, 'limit');
  return given === undefined ? byDefault : count(given, '--limit');
}

/** The fields that the given flags fill. Throws WrongUsage. */
export function readFields(specs: Readonly<Record<string, FieldFlag>>, flags: Invocation['flags']): Row {
  const fields: Row = {};
  for (const [name, { field, read, isRequired, needs }] of Object.entries(specs)) {
    const value = textFlag(flags, name);
    if (value === undefined && isRequired === true) throw new WrongUsage(`--${name} is missing`);
    if (value === undefined) continue;
    fields[field] = read(value, `--${name}`);
    if (needs !== undefined && flags[needs] === undefined) throw new WrongUsage(`--${name} needs --${needs}`);
  }
  return fields;
}
