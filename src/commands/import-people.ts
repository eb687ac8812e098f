// `turnpike person import`: invites the people of a CSV file, and prints the result of each row.

import { readFile } from 'node:fs/promises';
import { bounds } from '../config/config.ts';
import { openClient, type Row } from './admin-client.ts';
import { type Command, CommandFailed, clientFlags, type Invocation } from './command.ts';
import { textFlag } from './flags.ts';
import { type Column, columns, onePage, printObject, printRows } from './output.ts';

const MEMBERS = ['email', 'role', 'account', 'name'];

const resultColumns: readonly Column[] = [
  ...columns('email'),
  ['RESULT', (row) => (row['error'] === null ? 'invited' : (row['error'] as Row)['message'])],
  ...columns('link'),
];

export const importPeople: Command = {
  name: 'person import',
  summary: 'Invite the people of a CSV file; exits 1 if a row was refused',
  result: 'the result of each row, with links that are not shown again',
  positionals: ['FILE'],
  flags: {
    role: { value: 'ROLE', help: 'the role of rows without one' },
    account: { value: 'ACCOUNT', help: 'the account of rows without one' },
    ...clientFlags,
  },
  async run(invocation) {
    const rows = readPeople(await readText(invocation.positionals[0] as string));
    const usual = { role: textFlag(invocation.flags, 'role'), account: textFlag(invocation.flags, 'account') };
    const people = rows.map((row) => withUsual(row, usual));
    const client = await openClient(invocation);
    const { base_url: baseUrl } = await client.get('/me'); // first: once made, the links must be printed
    const results: Row[] = [];
    for (let from = 0; from < people.length; from += bounds.invitationsAtOnce) {
      const answer = await client.post('/people/import', {
        people: people.slice(from, from + bounds.invitationsAtOnce),
      });
      results.push(...(answer['data'] as Row[]));
    }
    const shown = results.map((row) => ({ ...row, link: linkOf(row, String(baseUrl ?? client.url)) }));
    await print(invocation, shown);
    return shown.every((row) => (row as Row)['error'] === null) ? 0 : 1;
  },
};

/** Rows with an account of their own, and those of the installation's roles, do not take the usual one. */
function withUsual(row: Row, { role, account }: { role: string | undefined; account: string | undefined }): Row {
  const given = row['role'] ?? role ?? '';
  const isOfInstallation = given === 'operator' || given === 'viewer';
  const of = row['account'] ?? (isOfInstallation ? undefined : account);
  return { ...row, role: given, ...(of !== undefined && { account: of }) };
}

async function print(invocation: Invocation, rows: Row[]): Promise<void> {
  if (invocation.json) return printObject(invocation, { data: rows }, []);
  await printRows(invocation, onePage(rows), resultColumns, 'The file has no rows.');
  if (rows.some((row) => row['link'] !== null))
    await invocation.world.writeError('Give each link to that person only: it works once and is not shown again.\n');
}

function linkOf({ link_secret: secret }: Row, url: string): string | null {
  return secret === null ? null : `${url}/console/invitation#${secret}`;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path === '-' ? '/dev/stdin' : path, 'utf8');
  } catch (cause) {
    throw new CommandFailed(`${path} cannot be read: ${(cause as Error).message}`);
  }
}

/**
 * The rows of a CSV file (RFC 4180). Its first line may name the columns, which are otherwise email, role, account and name. Throws
 * CommandFailed with the line of a fault.
 */
export function readPeople(text: string): Row[] {
  const lines = splitCsv(text.replace(/^\uFEFF/, '')).filter(({ cells }) => cells.some((cell) => cell !== ''));
  const [first] = lines;
  const hasNames = first?.cells.some((cell) => cell.toLowerCase() === 'email') === true;
  const names = hasNames ? first.cells.map((cell) => cell.toLowerCase()) : MEMBERS;
  const unknown = names.find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined)
    throw new CommandFailed(`line 1: the column "${unknown}" is none of ${MEMBERS.join(', ')}`);
  return lines.slice(hasNames ? 1 : 0).map(({ line, cells }) => {
    if (cells.length > names.length) throw new CommandFailed(`line ${line}: has more than ${names.length} columns`);
    const given = cells.map((cell, at) => [names[at], cell]).filter(([, cell]) => cell !== '');
    return { email: '', ...Object.fromEntries(given) };
  });
}

interface CsvLine {
  line: number;
  cells: string[];
}

function splitCsv(text: string): CsvLine[] {
  const lines: CsvLine[] = [];
  let current: CsvLine = { line: 1, cells: [] };
  let line = 1;
  const cell = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))[^\S\r\n]*(,|\r\n|\n|\r|$)/y;
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex;
    const found = cell.exec(text);
    if (found === null) throw new CommandFailed(`line ${line}: is not CSV, near "${text.slice(at, at + 20)}"`);
    const [whole, quoted, plain = '', end = ''] = found;
    current.cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    line += whole.split('\n').length - 1;
    if (end === ',') {
      if (cell.lastIndex === text.length) current.cells.push('');
      continue;
    }
    lines.push(current);
    current = { line, cells: [] };
  }
  if (current.cells.length > 0) lines.push(current);
  return lines;
}
