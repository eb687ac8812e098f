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

const topics: readonly Topic[] = [
  topic('serve', 'starts the service', async () => [(await import('./serve.ts')).serve]),
  topic('apply', 'makes providers, models, groups and settings match a file', async () => [
    (await import('./apply.ts')).apply,
  ]),
  topic(
    'catalogue',
    'takes prices of a newer price list, and prints the list in use',
    async () => (await import('./catalogue.ts')).catalogueCommands,
  ),
  resource('account', 'creates, lists, shows, updates, disables and enables accounts'),
  resource('credit', 'adds credit to an account, or writes off its debt'),
  resource('code-batch', 'creates, lists, shows, disables and enables batches of redemption codes'),
  resource('payments', "lists and shows payments, and compares them with the payment provider's list"),
  resource('auto-recharge', 'shows, enables and disables the automatic recharge of an account'),
  resource('code', 'redeems a code for an account'),
  resource('key', 'creates, lists, shows, updates, disables, enables, rotates and revokes keys'),
  resource('token', 'creates, lists and revokes tokens for the admin API'),
  resource('person', 'invites, lists, disables and enables people, and creates their one-time links'),
  listing('model', 'lists and shows models, and compares their prices with the price list'),
  listing('group', 'lists groups'),
  topic('plan', 'lists plans, and shows, gives, sells, updates and ends those of accounts', async () => [
    ...(await import('./listings.ts')).listingCommands,
    ...(await import('./resources.ts')).resourceCommands,
  ]),
  listing('provider', 'lists, shows and tests providers'),
  topic('usage', 'lists usage records', async () => [(await import('./usage.ts')).usage]),
  resource('refund', 'refunds the cost of a message'),
  resource('ledger', "lists an account's journal entries"),
  listing('audit', 'lists changes and who made them'),
  ofEvents('event', 'lists events'),
  ofEvents('destination', 'creates, lists, shows, updates, rotates and tests destinations of events'),
  ofEvents('delivery', 'lists, shows and repeats deliveries of events'),
  onData('check', 'verifies the ledger from its stored rows'),
  ofBackups('backup', 'writes a consistent copy of the store, also while the service runs'),
  ofBackups('restore', 'restores a backup into an empty data directory'),
  onData('move', 'moves the installation in a data directory to PostgreSQL'),
  onData('migrate', 'brings the tables up to date'),
  onData('secret', "replaces the installation's secret"),
  topic('doctor', 'reports problems with this installation and how to fix them', async () => [
    (await import('./doctor.ts')).doctor,
  ]),
  topic('licenses', 'prints the licenses of the software that this program contains', async () => [
    (await import('./licenses.ts')).licenses,
  ]),
];

function topic(name: string, summary: string, load: Topic['load']): Topic {
  return { name, summary, load };
}

function resource(name: string, summary: string): Topic {
  return topic(name, summary, async () => (await import('./resources.ts')).resourceCommands);
}

function listing(name: string, summary: string): Topic {
  return topic(name, summary, async () => (await import('./listings.ts')).listingCommands);
}

function ofEvents(name: string, summary: string): Topic {
  return topic(name, summary, async () => (await import('./events.ts')).eventCommands);
}

function onData(name: string, summary: string): Topic {
  return topic(name, summary, async () => (await import('./data-directory.ts')).dataCommands);
}

function ofBackups(name: string, summary: string): Topic {
  return topic(name, summary, async () => (await import('./backups.ts')).backupCommands);
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
