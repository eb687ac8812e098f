// The commands on a data directory: `turnpike check`, `move`, `migrate` and `secret`. They open the store themselves,
// whether the service runs or not.

import type { Config } from '../config/config.ts';
import {
  type Command,
  CommandFailed,
  failCommand,
  type Invocation,
  type Maintenance,
  type MoveReport,
  storeFlags,
  WrongUsage,
} from './command.ts';
import { storeOf, textFlag } from './flags.ts';
import { columns, printObject } from './output.ts';

const check: Command = {
  name: 'check',
  summary: 'Verify every ledger invariant from the stored rows; works with the server running or stopped',
  flags: storeFlags,
  async run(invocation) {
    const { flags, world, json } = invocation;
    const config = await world.readConfig(storeOf(flags));
    const report = await world.checkStore(config).catch((thrown) => failCheck(invocation, thrown));
    await printObject(invocation, { ...report }, [
      ...columns('ok accounts entries open_holds'),
      ['USAGE SINCE', (row) => row['usage_since'] ?? 'the beginning'],
      ['JOURNAL SINCE', (row) => row['journal_since'] ?? 'the beginning'],
      ['FAULTS', () => report.faults.length],
    ]);
    if (!json) for (const fault of report.faults) await world.writeError(`${fault}\n`);
    return report.ok ? 0 : 1;
  },
};

/** A store that cannot be opened is not ok either: with --json the failure has the shape of a report. */
async function failCheck(invocation: Invocation, thrown: unknown): Promise<never> {
  try {
    return failCommand(thrown);
  } catch (failure) {
    const report = {
      ok: false,
      accounts: 0,
      entries: 0,
      open_holds: 0,
      usage_since: null,
      journal_since: null,
      faults: [(failure as Error).message],
    };
    if (failure instanceof CommandFailed && invocation.json) await printObject(invocation, report, []);
    throw failure;
  }
}

const move: Command = {
  name: 'move',
  summary:
    'Move the installation in a data directory to an empty PostgreSQL database, completely or not at all; the service must be stopped',
  flags: {
    from: { value: 'DIRECTORY', help: 'the data directory to move from (TURNPIKE_DATA, default ./data)' },
    to: {
      value: 'URL',
      help: 'the database, such as postgres://turnpike@127.0.0.1:5432/turnpike (default: TURNPIKE_DATABASE_URL, which hides the password from other users of the machine)',
    },
    'take-back': {
      help: 'makes a moved data directory usable again, without the changes made in PostgreSQL since',
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
    // The address is not repeated: it may contain a password.
    throw new WrongUsage(
      '--to must be the address of a PostgreSQL database, such as postgres://turnpike@127.0.0.1:5432/turnpike',
    );
  const config = await world.readConfig({ ...(from && { data: from }), ...(to && { database: to }) });
  const { databaseUrl } = config;
  if (databaseUrl === null) throw new WrongUsage('--to is missing, and TURNPIKE_DATABASE_URL is not set');
  const maintenance = await world.maintain();
  const say = (line: string) => void world.writeError(`${line}\n`);
  const report = await maintenance.move({ ...config, databaseUrl }, say).catch(failCommand);
  await printObject(invocation, { ...report }, [
    ...columns('from to'),
    ['MOVED AT', 'moved_at'],
    ['ROWS', () => countsOf(report)],
    ['REPLACED', () => (report.replaced.length === 0 ? 'nothing' : report.replaced.length)],
    ['LEDGER OK', () => (report.check.ok ? 'yes' : 'no')],
    ['SECRET', 'secret'],
  ]);
  await printAdvice(invocation, report);
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

/** "accounts 3, keys 4": the tables that have rows. */
function countsOf({ rows }: MoveReport): string | null {
  if (rows === null) return null;
  return Object.entries(rows)
    .filter(([, count]) => count > 0)
    .map(([table, count]) => `${table} ${count}`)
    .join(', ');
}

async function printAdvice({ world }: Invocation, report: MoveReport): Promise<void> {
  const { rows, replaced, check, secret, previous_secret: previous } = report;
  const lines = [
    ...(rows === null ? ['An earlier move, which was interrupted, had already moved the installation.'] : []),
    ...replaced.map((place) => `${place}: a character that PostgreSQL cannot store in text was replaced with U+FFFD`),
    ...check.faults,
    `Every node needs the installation's secret in its environment, as TURNPIKE_SECRET: ${placeInWords(secret)}.`,
    ...(previous === null
      ? []
      : [`The previous secret is still needed as well, as TURNPIKE_PREVIOUS_SECRET: ${placeInWords(previous)}.`]),
    'Start the nodes with TURNPIKE_DATABASE_URL. The data directory can no longer be served; keep it and its secret until you have made and tested a backup of the database.',
  ];
  for (const line of lines) await world.writeError(`${line}\n`);
}

function placeInWords(source: string | null): string {
  if (source === null) return 'any value, the same on every node, since there is none yet';
  return source.startsWith('file:')
    ? `the content of the file ${source.slice('file:'.length)}`
    : 'the value that is set here';
}

async function takeBack(invocation: Invocation): Promise<number> {
  const { flags, world } = invocation;
  if (flags['to'] !== undefined) throw new WrongUsage('--take-back does not use a database: leave out --to');
  const from = textFlag(flags, 'from');
  const config = await world.readConfig(from === undefined ? {} : { data: from });
  const done = await (await world.maintain()).takeBack(config).catch(failCommand);
  await printObject(invocation, done, [['TAKEN BACK', () => (done.taken_back ? 'yes' : 'it was not moved')]]);
  if (done.taken_back)
    await world.writeError(
      'The data directory can be served again, as it was at the time of the move. Make sure that no node serves from the database: changes there do not reach the data directory. To move again, use an empty database.\n',
    );
  return 0;
}

const migrate: Command = {
  name: 'migrate',
  summary:
    'Bring the tables up to date under the role that owns them, then exit; running nodes go on, and need rights on rows only',
  flags: {
    ...storeFlags,
    grant: { value: 'ROLE', help: 'gives this role of PostgreSQL the rights of a node, and no others' },
  },
  async run(invocation) {
    const { flags, world } = invocation;
    const role = textFlag(flags, 'grant') ?? null;
    const say = (line: string) => void world.writeError(`${line}\n`);
    const report = await ask(invocation, (maintenance, config) => {
      if (role !== null && config.databaseUrl === null)
        throw new WrongUsage('--grant is for PostgreSQL: set TURNPIKE_DATABASE_URL or --database');
      return maintenance.migrate(config, role, say);
    });
    await printObject(invocation, { ...report }, [
      ...columns('database'),
      ['VERSION BEFORE', (row) => row['version_before'] ?? 'no tables'],
      ...columns('version'),
      ['GRANTED TO', (row) => row['granted_to'] ?? 'no role'],
    ]);
    return 0;
  },
};

const STATES: Record<string, string> = {
  in_force: 'in force',
  at_next_start: 'in force from the next start of the service',
  wrong: 'not the secret of this installation',
  missing: 'missing',
  not_started: 'in force from the first start',
};

const status: Command = {
  name: 'secret status',
  summary: 'Show which secret is in force, and whether the previous one is still needed',
  flags: storeFlags,
  async run(invocation) {
    const found = await ask(invocation, (maintenance, config) => maintenance.secretStatus(config));
    await printObject(invocation, { ...found }, [
      ...columns('secret'),
      ['STATE', () => STATES[found.state]],
      ...columns('previous_secret credentials_on_previous'),
    ]);
    return found.state === 'in_force' || found.state === 'at_next_start' ? 0 : 1;
  },
};

const rotate: Command = {
  name: 'secret rotate',
  summary: 'Create a new secret, in force from the next start; the current one is accepted until you forget it',
  flags: storeFlags,
  async run(invocation) {
    const made = await ask(invocation, (maintenance, config) => maintenance.rotateSecret(config));
    await printObject(invocation, made, columns('secret previous_secret'));
    await invocation.world.writeError(
      'Restart the service: until then it uses the previous secret. Keep both with the next backup; "turnpike secret status" shows when the previous one can be forgotten.\n',
    );
    return 0;
  },
};

const forget: Command = {
  name: 'secret forget-previous',
  summary: 'Remove the previous secret; refused while the service needs it',
  flags: storeFlags,
  async run(invocation) {
    const done = await ask(invocation, (maintenance, config) => maintenance.forgetPreviousSecret(config));
    await printObject(invocation, done, [['FORGOTTEN', () => (done.forgotten ? 'yes' : 'there was none')]]);
    if (done.forgotten) await invocation.world.writeError('A running service accepts it until it is restarted.\n');
    return 0;
  },
};

export const dataCommands: readonly Command[] = [check, move, migrate, status, rotate, forget];

/** Runs work on the store that the flags name. */
export async function ask<Value>(
  { flags, world }: Invocation,
  work: (maintenance: Maintenance, config: Readonly<Config>) => Promise<Value>,
): Promise<Value> {
  const config = await world.readConfig(storeOf(flags));
  return work(await world.maintain(), config).catch(failCommand);
}
