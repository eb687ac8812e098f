// `turnpike move`: moves an installation from its data directory into a PostgreSQL database, with its whole history, and lets it be
// served from its data directory again where that is wanted after all.

import { type Command, type Invocation, WrongUsage } from './command.ts';
import { inWords } from './failure-words.ts';
import { textFlag } from './flags.ts';
import type { MoveReport } from './maintenance.ts';
import { printObject } from './output.ts';

export const move: Command = {
  name: 'move',
  summary:
    'moves the installation in a data directory to an empty PostgreSQL database, all of it or nothing; its service must be stopped',
  positionals: [],
  flags: {
    from: { value: 'DIRECTORY', help: 'the data directory that is left (TURNPIKE_DATA, default ./data)' },
    to: {
      value: 'URL',
      help: 'the database, such as postgres://turnpike@127.0.0.1:5432/turnpike (TURNPIKE_DATABASE_URL, where a password is not seen by others)',
    },
    'take-back': {
      help: 'lets a data directory that was moved be served again, without what was done in PostgreSQL since',
    },
  },
  async run(invocation) {
    return invocation.flags['take-back'] === true ? await takeBack(invocation) : await moveAll(invocation);
  },
};

async function moveAll(invocation: Invocation): Promise<number> {
  const { flags, world } = invocation;
  const from = textFlag(flags, 'from');
  const to = textFlag(flags, 'to');
  if (to !== undefined && !isDatabase(to))
    // not shown: it may hold a password
    throw new WrongUsage(
      '--to must be the address of a PostgreSQL database, such as postgres://turnpike@127.0.0.1:5432/turnpike',
    );
  const config = world.readConfig({ ...(from && { data: from }), ...(to && { database: to }) });
  const { databaseUrl } = config;
  if (databaseUrl === null) throw new WrongUsage('--to is missing, and TURNPIKE_DATABASE_URL is not set');
  const maintenance = await world.maintain();
  const say = (line: string) => void world.writeError(`${line}\n`);
  const report = await maintenance.move({ ...config, databaseUrl }, say).catch(inWords);
  await printObject(invocation, { ...report }, [
    ['FROM', 'from'],
    ['TO', 'to'],
    ['MOVED AT', 'moved_at'],
    ['ROWS', () => countsOf(report)],
    ['REPLACED', () => (report.replaced.length === 0 ? 'nothing' : report.replaced.length)],
    ['LEDGER OK', () => (report.check.ok ? 'yes' : 'no')],
    ['SECRET', 'secret'],
  ]);
  await sayWhatElse(invocation, report);
  return report.check.ok ? 0 : 1;
}

function isDatabase(address: string): boolean {
  const parsed = URL.parse(address);
  return (
    parsed !== null &&
    /^postgres(?:ql)?:$/.test(parsed.protocol) &&
    parsed.hostname !== '' &&
    parsed.pathname.length > 1
  );
}

/** "accounts 3, keys 4": of what there is. */
function countsOf({ rows }: MoveReport): string | null {
  if (rows === null) return null;
  return Object.entries(rows)
    .filter(([, count]) => count > 0)
    .map(([table, count]) => `${table} ${count}`)
    .join(', ');
}

async function sayWhatElse({ world }: Invocation, report: MoveReport): Promise<void> {
  const { rows, replaced, check, secret, previous_secret: previous } = report;
  const lines = [
    ...(rows === null ? ['It was made by an earlier move that was cut short; now it is known.'] : []),
    ...replaced.map((place) => `${place}: a character that PostgreSQL takes in no text was replaced by U+FFFD`),
    ...check.faults,
    `Every node needs the installation's secret in its environment, as TURNPIKE_SECRET: ${placeInWords(secret)}.`,
    ...(previous === null
      ? []
      : [`The secret before it is still needed as well, as TURNPIKE_PREVIOUS_SECRET: ${placeInWords(previous)}.`]),
    'Start the nodes with TURNPIKE_DATABASE_URL. The data directory is not served any more; keep it, and its secret, until a backup of the database was made and tried.',
  ];
  for (const line of lines) await world.writeError(`${line}\n`);
}

function placeInWords(source: string | null): string {
  if (source === null) return 'the same on all of them, since there is none yet';
  return source.startsWith('file:') ? `the content of the file ${source.slice('file:'.length)}` : 'the one given here';
}

async function takeBack(invocation: Invocation): Promise<number> {
  const { flags, world } = invocation;
  if (flags['to'] !== undefined) throw new WrongUsage('--take-back looks at no database: leave --to out');
  const from = textFlag(flags, 'from');
  const config = world.readConfig(from === undefined ? {} : { data: from });
  const done = await (await world.maintain()).takeBack(config).catch(inWords);
  await printObject(invocation, done, [['TAKEN BACK', (row) => (row['taken_back'] ? 'yes' : 'it was not moved')]]);
  if (done.taken_back)
    await world.writeError(
      'It can be served from the data directory again, as it was when it was moved. See that no node serves from the database: what is done there is not done here. To move once more, give an empty database.\n',
    );
  return 0;
}
