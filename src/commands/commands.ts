// The door of the commands: picks one by its words, runs it, and turns how it ended into an exit code.

import { ConfigError } from '../config.ts';
import { type Command, CommandFailed, type Invocation, type World, WrongUsage } from './command.ts';
import { commandHelp, overallHelp, topicHelp } from './help.ts';
import { parseArguments } from './parse-arguments.ts';

export type { World } from './command.ts';
export type {
  BackupReport,
  Diagnosis,
  Finding,
  Maintenance,
  MoveReport,
  SecretStatus,
  ServiceFacts,
} from './maintenance.ts';
export type { ApplyFile, RunningServer, ServerOptions } from './serve-options.ts';

/** A first word. What it does is loaded when it is called, so that the others cost nothing. */
interface Topic {
  name: string;
  summary: string;
  load(): Promise<readonly Command[]>;
}

const topics: readonly Topic[] = [
  { name: 'serve', summary: 'starts the service', load: async () => [(await import('./serve.ts')).serve] },
  {
    name: 'apply',
    summary: 'makes providers, models, groups and settings match a file',
    load: async () => [(await import('./apply.ts')).apply],
  },
  {
    name: 'account',
    summary: 'creates, lists, shows, updates, disables and enables accounts',
    load: async () => (await import('./account.ts')).accountCommands,
  },
  {
    name: 'credit',
    summary: 'adds credit to an account, or writes its debt off',
    load: async () => [(await import('./credit.ts')).credit],
  },
  {
    name: 'key',
    summary: 'creates, lists, shows, updates, disables, enables, rotates and revokes keys',
    load: async () => (await import('./key.ts')).keyCommands,
  },
  {
    name: 'token',
    summary: 'creates, lists and revokes tokens for the admin API',
    load: async () => (await import('./token.ts')).tokenCommands,
  },
  {
    name: 'person',
    summary: 'invites, lists, disables and enables people, and makes their one-time links',
    load: async () => (await import('./person.ts')).personCommands,
  },
  {
    name: 'model',
    summary: 'lists what is sold, and compares its prices',
    load: async () => (await import('./model.ts')).modelCommands,
  },
  { name: 'group', summary: 'lists the groups', load: async () => (await import('./group.ts')).groupCommands },
  {
    name: 'provider',
    summary: 'lists, shows and tests from where models come',
    load: async () => (await import('./provider.ts')).providerCommands,
  },
  { name: 'usage', summary: 'lists usage records', load: async () => [(await import('./usage.ts')).usage] },
  {
    name: 'refund',
    summary: 'gives back what a message cost',
    load: async () => [(await import('./refund.ts')).refund],
  },
  {
    name: 'ledger',
    summary: "lists an account's journal entries",
    load: async () => [(await import('./ledger.ts')).ledger],
  },
  { name: 'audit', summary: 'lists who changed what', load: async () => [(await import('./audit.ts')).audit] },
  {
    name: 'check',
    summary: 'verifies the ledger from its stored rows',
    load: async () => [(await import('./check.ts')).check],
  },
  {
    name: 'backup',
    summary: 'writes a consistent copy of the store, while it serves',
    load: async () => [(await import('./backup.ts')).backup],
  },
  {
    name: 'move',
    summary: 'moves the installation in a data directory to PostgreSQL',
    load: async () => [(await import('./move.ts')).move],
  },
  {
    name: 'secret',
    summary: "replaces the installation's secret",
    load: async () => (await import('./secret.ts')).secretCommands,
  },
  {
    name: 'doctor',
    summary: 'says what is wrong with this installation, with the remedy',
    load: async () => [(await import('./doctor.ts')).doctor],
  },
];

const EXIT_FAILED = 1;
const EXIT_WRONG_USAGE = 2;

/** Runs the command that the arguments name, to its end. Returns the exit code: 0 done, 1 failed, 2 wrong usage. */
export async function runCommand(given: readonly string[], world: World): Promise<number> {
  let called = 'turnpike';
  try {
    const [first, ...rest] = given[0] === 'help' ? [...given.slice(1), '--help'] : given;
    if (first === '--help' || first === '-h') return await say(world.write(overallHelp(topics)), 0);
    if (first === '--version') return await say(world.write(`${world.readVersion()}\n`), 0);
    if (first === undefined) return await say(world.writeError(overallHelp(topics)), EXIT_WRONG_USAGE);
    const topic = topics.find(({ name }) => name === first);
    if (topic === undefined) throw new WrongUsage(`there is no command "${first}"`);
    called = `turnpike ${topic.name}`;
    const commands = await topic.load();
    const command = commands.find(({ name }) => name === first || name === `${first} ${rest[0]}`);
    if (command === undefined) return await answerTopic(commands, rest, world);
    called = `turnpike ${command.name}`;
    return await runParsed(command, command.name === first ? rest : rest.slice(1), world);
  } catch (thrown) {
    const { words, exitCode } = ending(thrown, called);
    return say(world.writeError(words), exitCode);
  }
}

async function runParsed(command: Command, rest: readonly string[], world: World): Promise<number> {
  const { help, ...parsed } = parseArguments(command, rest);
  if (help) return say(world.write(commandHelp(command)), 0);
  const invocation: Invocation = { ...parsed, world };
  return command.run(invocation);
}

/** A topic's word without a command of it: its help, which is an answer only to who asked for it. */
async function answerTopic(commands: readonly Command[], rest: readonly string[], world: World): Promise<number> {
  if (rest.includes('--help') || rest.includes('-h')) return say(world.write(topicHelp(commands)), 0);
  if (rest[0] !== undefined && !rest[0].startsWith('-'))
    throw new WrongUsage(`there is no "${rest[0]}" here; there are:\n${topicHelp(commands).trimEnd()}`);
  return say(world.writeError(topicHelp(commands)), EXIT_WRONG_USAGE);
}

async function say(written: Promise<void>, exitCode: number): Promise<number> {
  await written;
  return exitCode;
}

function ending(thrown: unknown, called: string): { words: string; exitCode: number } {
  if (thrown instanceof WrongUsage)
    return { words: `${called}: ${thrown.message}\nSee ${called} --help.\n`, exitCode: EXIT_WRONG_USAGE };
  if (thrown instanceof ConfigError)
    return { words: thrown.faults.map((fault) => `${called}: ${fault}\n`).join(''), exitCode: EXIT_WRONG_USAGE };
  if (thrown instanceof CommandFailed) return { words: `${called}: ${thrown.message}\n`, exitCode: EXIT_FAILED };
  const { stack, message } = thrown as Error;
  return { words: `${called}: ${stack ?? message ?? String(thrown)}\n`, exitCode: EXIT_FAILED };
}
