// Makes a command from an operation of the admin API: its path, flags, checks and help are those of the OpenAPI document,
// of which operations.json is an extract. `npm run fix` writes that file, and `npm run check` compares it.

import { type AdminClient, openClient, type Row } from './admin-client.ts';
import { type Command, clientFlags, type Flag, type Invocation, WrongUsage } from './command.ts';
import { count, type FieldFlag, readFields, readValue, textFlag } from './flags.ts';
import operations from './operations.json' with { type: 'json' };
import { type Column, printObject, printRows } from './output.ts';

export type OperationId = keyof typeof operations;

interface Operation {
  method: string;
  path: string;
  summary: string;
  /** Describes the response. */
  result: string;
  /** Answers in pages. */
  isList: boolean;
  flags: Readonly<Record<string, FieldFlag>>;
}

/** Facts about a command that the OpenAPI document cannot say. */
export interface CommandDetails {
  /** Absent: that of the operation. */
  summary?: string;
  /** Changes of flags, by their names. */
  flags?: Readonly<Record<string, Partial<FieldFlag>>>;
  /** Members of the body that are always the same. */
  body?: Row;
  /** Sends nothing but `body`. */
  hasNoFlags?: true;
  /** The request, where it takes more than one. */
  send?(client: AdminClient, path: string, body: Row): Promise<Row>;
  /** Printed on stderr when a list has no rows. Absent: made of the path. */
  whenEmpty?: string;
  /** Prints LIST_ROWS_DEFAULT rows of a list, or as many as `--limit` says. Absent: all. */
  isLimited?: true;
  /** Printed on stderr after the object, but not with --json, nor where the secret that it is about is null. */
  advice?: string;
  /** Printed on stderr before an object that an earlier request made. */
  repetition?: string;
}

/** The columns of a response, or a function that prints it and resolves to the exit code. */
type Output = readonly Column[] | ((invocation: Invocation, answer: Row) => Promise<number>);

/** A command with the operation that it calls. */
export interface ApiCommand extends Command {
  operation: OperationId;
  output: Output;
  details: CommandDetails;
  /** The fields that the positionals behind those of the path fill. */
  fields: readonly string[];
}

const LIST_ROWS_DEFAULT = 100;
export const limitFlag: Flag = {
  value: 'N',
  help: `the maximum number of rows to print (default: ${LIST_ROWS_DEFAULT})`,
};

/** The flags of an operation, by their names. */
export function flagsOf(operation: OperationId): Operation['flags'] {
  return operationOf(operation).flags;
}

function operationOf(id: OperationId): Operation {
  return operations[id] as Operation;
}

/**
 * Makes a command. `usage` is its name and its positionals, "credit ACCOUNT AMOUNT": the first ones fill the path, the
 * others the fields with their names.
 */
export function apiCommand(usage: string, id: OperationId, output: Output, details: CommandDetails = {}): ApiCommand {
  const operation = operationOf(id);
  const words = usage.split(' ');
  const positionals = words.filter((word) => word !== word.toLowerCase());
  const inPath = operation.path.split('{').length - 1;
  const fields = positionals.slice(inPath).map(fieldOf);
  const given = [...fields, ...Object.keys(details.body ?? {})];
  const flags = Object.fromEntries(
    Object.entries(operation.flags)
      .filter(([, { field }]) => !given.includes(field) && !details.hasNoFlags)
      .map(([name, flag]) => [name, { ...flag, ...details.flags?.[name] }]),
  );
  const isUpdate = operation.method === 'PATCH' && Object.keys(flags).length > 0;
  return {
    name: words.slice(0, words.length - positionals.length).join(' '),
    summary: details.summary ?? operation.summary,
    result: isUpdate ? `${operation.result}; settings without a flag stay unchanged` : operation.result,
    positionals,
    flags: { ...flags, ...(details.isLimited && { limit: limitFlag }), ...clientFlags },
    operation: id,
    output,
    details,
    fields,
    async run(invocation) {
      const values = [...invocation.positionals];
      const path = operation.path.replace(/\{\w+\}/g, () => encodeURIComponent(values.shift() as string));
      const body = {
        ...details.body,
        ...readPositionals(operation, fields, values),
        ...readFields(flags, invocation.flags),
      };
      if (operation.method === 'PATCH' && Object.keys(body).length === 0)
        throw new WrongUsage('nothing to change: specify at least one flag');
      const rows = details.isLimited === true ? rowLimit(invocation) : undefined;
      const client = await openClient(invocation);
      if (operation.isList && typeof output !== 'function') {
        const pages = client.pages(path, body as Record<string, string>, rows);
        await printRows(invocation, pages, output, details.whenEmpty ?? `There are no ${path.slice(1)}.`);
        return 0;
      }
      const answer = await (details.send?.(client, path, body) ?? sendTo(client, operation.method, path, body));
      return printAnswer(invocation, answer, output, details);
    },
  };
}

/** "amount" for "[AMOUNT]". */
function fieldOf(positional: string): string {
  return positional.replace(/[[\]]/g, '').toLowerCase();
}

/** Amounts are checked here, other values by the service. */
function readPositionals({ flags }: Operation, fields: readonly string[], values: readonly string[]): Row {
  const given = fields.slice(0, values.length).map((field, at) => {
    const flag = flags[field];
    const value = values[at] as string;
    return [field, flag?.kind === 'amount' ? readValue(flag, value, field.toUpperCase()) : value];
  });
  return Object.fromEntries(given);
}

function sendTo(client: AdminClient, method: string, path: string, body: Row): Promise<Row> {
  if (method === 'GET') return client.get(path);
  return method === 'POST' ? client.post(path, body) : client.patch(path, body);
}

async function printAnswer(
  invocation: Invocation,
  answer: Row,
  output: Output,
  { advice, repetition }: CommandDetails,
): Promise<number> {
  if (typeof output === 'function') return output(invocation, answer);
  if (repetition !== undefined && answer['repeated'] === true) await invocation.world.writeError(repetition);
  await printObject(invocation, answer, output);
  if (advice !== undefined && answer['secret'] !== null && !invocation.json) await invocation.world.writeError(advice);
  return 0;
}

/** The value of --limit. Throws WrongUsage. */
export function rowLimit({ flags }: Invocation): number {
  const given = textFlag(flags, 'limit');
  return given === undefined ? LIST_ROWS_DEFAULT : count(given, '--limit');
}
