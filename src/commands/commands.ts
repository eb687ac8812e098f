// The door of the commands: finds a command by its name, runs it, and turns its outcome into an exit code.

import { ConfigError } from '../config/config.ts';
import { commandHelp, overallHelp, parseArguments, topicHelp } from './arguments.ts';
import { type Command, CommandFailed, type World, WrongUsage } from './command.ts';

export type {
  ApplyFile,
  BackupReport,
  Diagnosis,
  Finding,
  Maintenance,
  MigrationReport,
  MoveReport,
  Notice,
  RestoreFiles,
  RestoreReport,
  RunningServer,
  SecretStatus,
  ServerOptions,
  ServiceFacts,
  World,
} from './command.ts';

/** The first word of commands. Their code is loaded when one of them is called. */
interface Topic {
  name: string;
  summary: string;
  /** May resolve to commands of other topics as well. */
  load(): Promise<readonly Command[]>;
}

const onResources = async () => (await import('./resources.ts')).resourceCommands;
const onCatalog = async () => (await import('./catalog.ts')).catalogCommands;
const onBills = async () => (await import('./provider-bills.ts')).billCommands;
const onData = async () => (await import('./data-directory.ts')).dataCommands;
const onBackups = async () => (await import('./backups.ts')).backupCommands;

const topics: readonly Topic[] = [
  topic('serve', 'Start the service', async () => [(await import('./serve.ts')).serve]),
  topic('apply', 'Make providers, models, groups and settings match a file', async () => [
    (await import('./apply.ts')).apply,
  ]),
  topic(
    'catalogue',
    'Take prices of a newer price list, and print the list in use',
    async () => (await import('./catalogue.ts')).catalogueCommands,
  ),
  topic('account', 'Create, list, show, update, disable and enable accounts', onResources),
  topic('credit', 'Add credit to an account, or write off its debt', onResources),
  topic('directory-group', 'Give the groups of a company directory an account and role', onResources),
  topic('code-batch', 'Create, list, show, disable and enable batches of redemption codes', onResources),
  topic('payments', "List and show payments, and compare them with the payment provider's list", onResources),
  topic('auto-recharge', 'Show, enable and disable the automatic recharge of an account', onResources),
  topic('code', 'Redeem a code for an account', onResources),
  topic('key', 'Create, list, show, update, disable, enable, rotate and revoke keys', onResources),
  topic(
    'agent',
    'Sign in a coding agent on this machine, and print its access token',
    async () => (await import('./agent.ts')).agentCommands,
  ),
  topic('agent-sign-in', 'List and revoke sign-ins of coding agents', onResources),
  topic('token', 'Create, list and revoke tokens for the admin API', onResources),
  topic('person', 'Invite, list, disable and enable people, and create their one-time links', async () => [
    ...(await onResources()),
    (await import('./import-people.ts')).importPeople,
  ]),
  topic('batch', 'List, show and cancel batches', onResources),
  topic('model', 'List and show models, and compare their prices with the price list', onCatalog),
  topic('group', 'List groups', onCatalog),
  topic('plan', 'List plans, and show, give, sell, update and end those of accounts', onResources),
  topic('provider', 'List, show and test providers', onCatalog),
  topic('provider-bill', 'Import bills of providers, and list what they differ by from recorded costs', onBills),
  topic('usage', 'List usage records, or add them up', async () => [(await import('./usage.ts')).usage]),
  topic('refund', 'Refund the cost of a message', onResources),
  topic('ledger', "List an account's journal entries", onResources),
  topic('audit', 'List changes and who made them', onResources),
  topic('event', 'List events', onResources),
  topic('incident', 'List incidents: problems that go on, or have ended', onResources),
  topic('destination', 'Create, list, show, update, rotate and test destinations of events', onResources),
  topic('export', 'Download files of usage and costs, and send them at regular times', async () => [
    (await import('./exports.ts')).exportDownload,
    ...(await onResources()),
  ]),
  topic('delivery', 'List, show and repeat deliveries of events', onResources),
  topic('check', 'Verify the ledger from its stored rows', onData),
  topic('backup', 'Write a consistent copy of the store, also while the service runs', onBackups),
  topic('restore', 'Restore a backup into an empty data directory', onBackups),
  topic('move', 'Move the installation in a data directory to PostgreSQL', onData),
  topic('migrate', 'Bring the tables up to date', onData),
  topic('secret', "Replace the installation's secret", onData),
  topic('doctor', 'Report problems with this installation and how to fix them', async () => [
    (await import('./doctor.ts')).doctor,
  ]),
  topic('licenses', 'Print the licenses of the software that this program contains', async () => [
    (await import('./licenses.ts')).licenses,
  ]),
];

function topic(name: string, summary: string, load: Topic['load']): Topic {
  return { name, summary, load };
}

const EXIT_FAILED = 1;
const EXIT_WRONG_USAGE = 2;

/** Runs the command that the arguments name. Resolves to the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runCommand(given: readonly string[], world: World): Promise<number> {
  let called = 'turnpike';
  try {
    const [first, ...rest] = given[0] === 'help' ? [...given.slice(1), '--help'] : given;
    if (first === '--help' || first === '-h') return await print(world.write(overallHelp(topics)), 0);
    if (first === '--version') return await print(world.write(`${world.readVersion()}\n`), 0);
    if (first === undefined) return await print(world.writeError(overallHelp(topics)), EXIT_WRONG_USAGE);
    const topic = topics.find(({ name }) => name === first);
    if (topic === undefined) throw new WrongUsage(`unknown command "${first}"`);
    called = `turnpike ${topic.name}`;
    const commands = (await topic.load()).filter(({ name }) => name.split(' ')[0] === topic.name);
    const command = commands.find(({ name }) => name === first || name === `${first} ${rest[0]}`);
    if (command === undefined) return await printTopic(commands, rest, world);
    called = `turnpike ${command.name}`;
    const { help, ...parsed } = parseArguments(command, command.name === first ? rest : rest.slice(1));
    if (help) return await print(world.write(commandHelp(command)), 0);
    return await command.run({ ...parsed, world });
  } catch (thrown) {
    const { message, exitCode } = outcomeOf(thrown, called);
    return print(world.writeError(message), exitCode);
  }
}

/** Prints the help of a topic. Without --help it goes to stderr, because no command was named. */
async function printTopic(commands: readonly Command[], rest: readonly string[], world: World): Promise<number> {
  if (rest.includes('--help') || rest.includes('-h')) return print(world.write(topicHelp(commands)), 0);
  if (rest[0] !== undefined && !rest[0].startsWith('-'))
    throw new WrongUsage(`unknown subcommand "${rest[0]}"; the commands are:\n${topicHelp(commands).trimEnd()}`);
  return print(world.writeError(topicHelp(commands)), EXIT_WRONG_USAGE);
}

async function print(written: Promise<void>, exitCode: number): Promise<number> {
  await written;
  return exitCode;
}

function outcomeOf(thrown: unknown, called: string): { message: string; exitCode: number } {
  if (thrown instanceof WrongUsage)
    return { message: `${called}: ${thrown.message}\nSee ${called} --help.\n`, exitCode: EXIT_WRONG_USAGE };
  if (thrown instanceof ConfigError)
    return { message: thrown.faults.map((fault) => `${called}: ${fault}\n`).join(''), exitCode: EXIT_WRONG_USAGE };
  if (thrown instanceof CommandFailed) return { message: `${called}: ${thrown.message}\n`, exitCode: EXIT_FAILED };
  const { stack, message } = thrown as Error;
  return { message: `${called}: ${stack ?? message ?? String(thrown)}\n`, exitCode: EXIT_FAILED };
}
